import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { browser } from '../../../esbuild.mjs';
import { isPacked, manifestFor } from '../../harness/package.mjs';
import { root } from '../../harness/setup.mjs';

interface Packed {
  readonly main?: string;
  readonly browser?: string;
  readonly contributes: Readonly<Record<string, readonly unknown[]>>;
}

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<string, unknown>;

/** Whether the extension of a build takes a worker for a desktop, where somebody has put a `process`. */
async function takesForDesktop(options: object): Promise<unknown> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [path.join(root, 'src/extension/platform/desktop.ts')],
    format: 'iife',
    globalName: 'built',
    sourcemap: false,
    write: false,
  });
  return runInNewContext(`${outputFiles[0]?.text ?? ''}; built.isDesktop()`, { process: { platform: 'linux' } });
}

describe('a package of the extension', () => {
  for (const web of [false, true]) {
    const packed = manifestFor(manifest, { web }) as Packed;

    it(`${web ? 'for browsers' : 'for a desktop'} names only files that are in it`, () => {
      const named = [...JSON.stringify(packed).matchAll(/"(?:\.\/)?(dist\/[^"]+)"/g)].map(([, name = '']) => name);
      assert.ok(named.length > 0);
      assert.deepEqual(
        named.filter((name) => !isPacked(name, { web })),
        [],
      );
    });

    it(`${web ? 'for browsers offers no' : 'for a desktop offers'} tools of agents, which run in Node.js`, () => {
      assert.equal('main' in packed, !web);
      for (const name of ['languageModelTools', 'mcpServerDefinitionProviders', 'chatSkills'])
        assert.equal(name in packed.contributes, !web, name);
    });
  }

  it('knows from its build whether it runs in a browser', async () => {
    assert.equal(await takesForDesktop(browser), false);
    assert.equal(await takesForDesktop({ bundle: true, platform: 'node' }), true);
  });
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { tabFolders } from '../rooms';

const root = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** What a folder of `webview/tabs` lacks to be a tab. @param registry the text of the registry. */
function lacksOf(name: string, declared: string, registry: string): string[] {
  return [
    new RegExp(`^export const ${name}Tab: Tab = \\{`, 'm').test(declared)
      ? ''
      : `webview/tabs/${name}/tab.ts: export const ${name}Tab: Tab`,
    /^\/\*\* [A-Z].+\. \*\/\nexport const \w+Tab: Tab/m.test(declared) ? '' : `webview/tabs/${name}/tab.ts: say above it what it shows`,
    new RegExp(`^  label: \\(\\) => t\\('.+'\\),$`, 'm').test(declared) ? '' : `webview/tabs/${name}/tab.ts: a label that is translated`,
    registry.includes(`  ${name}: ${name}Tab,\n`) ? '' : `webview/tabs/registry.ts: its line`,
  ].filter((lack) => lack !== '');
}

describe('tabs of the page', () => {
  const registry = read('webview/tabs/registry.ts');

  for (const name of tabFolders)
    it(`${name} lacks nothing`, () => {
      assert.deepEqual(lacksOf(name, read(`webview/tabs/${name}/tab.ts`), registry), []);
    });

  it('are missed where something of them is missing', () => {
    assert.deepEqual(lacksOf('toy', "export const toyTab: Tab = {\n  label: () => 'Toy',\n};", registry), [
      'webview/tabs/toy/tab.ts: say above it what it shows',
      'webview/tabs/toy/tab.ts: a label that is translated',
      'webview/tabs/registry.ts: its line',
    ]);
  });

  it('have a folder each, which declares a tab', () => {
    const folders = readdirSync(path.join(root, 'webview/tabs'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    assert.deepEqual(folders.map(({ name }) => name).sort(), [...tabFolders].sort());
    assert.deepEqual([...registry.matchAll(/^ {2}(\w+): \w+Tab,$/gm)].map(([, name]) => name).sort(), [...tabFolders].sort());
  });

  it('exist where code opens them by name', () => {
    const files = ['src/extension', 'src/features', 'webview'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${folder}/${file}`),
    );
    const named = files.flatMap((file) =>
      [...read(file).matchAll(/\btab: '([\w-]+)'|\bopen\('([\w-]+)'\)/g)].map(([, look, open]) => look ?? open),
    );
    assert.ok(named.length > 10, `${named.length} names: are tabs still opened this way?`);
    assert.deepEqual(
      named.filter((name) => !tabFolders.includes(name ?? '')),
      [],
    );
  });
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');
const runtime = join(root, 'node_modules/onnxruntime-node');

/** Settings of the project's .npmrc as npm hands them to install scripts. */
function npmSettings(): Record<string, string> {
  const lines = readFileSync(join(root, '.npmrc'), 'utf8').split('\n');
  const pairs = lines.filter((line) => /^[\w-]+=/.test(line)).map((line) => line.split('=') as [string, string]);
  return Object.fromEntries(pairs.map(([name, value]) => [`npm_config_${name.replaceAll('-', '_')}`, value]));
}

/** Nothing listens on the discard port of this machine: a download fails at once. */
const noNetwork = { GLOBAL_AGENT_HTTP_PROXY: 'http://127.0.0.1:9', GLOBAL_AGENT_HTTPS_PROXY: 'http://127.0.0.1:9' };

describe('install of onnxruntime-node', () => {
  let tools: string;

  before(async () => {
    tools = await mkdtemp(join(tmpdir(), 'terapipe-nvcc-'));
  });
  after(() => rm(tools, { recursive: true, force: true }));

  const install = async (settings: Record<string, string>, cuda: number): Promise<void> => {
    const nvcc = join(tools, 'nvcc');
    await writeFile(nvcc, `#!/bin/sh\necho "Cuda compilation tools, release ${cuda}.0, V${cuda}.0.88"\n`);
    await chmod(nvcc, 0o755);
    const path = `${tools}${delimiter}${process.env['PATH'] ?? ''}`;
    await run(process.execPath, ['./script/install'], { cwd: runtime, env: { PATH: path, ...noNetwork, ...settings } });
  };

  for (const cuda of [12, 13])
    it(`needs neither a GPU nor a network beside CUDA ${cuda}, and adds nothing`, async () => {
      const before = readdirSync(join(runtime, 'bin'), { recursive: true });
      await install(npmSettings(), cuda);
      assert.deepEqual(readdirSync(join(runtime, 'bin'), { recursive: true }), before);
    });

  it('would fail without our settings, so that they are what counts', async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') this.skip();
    const present = readdirSync(join(runtime, 'bin/napi-v6/linux/x64')).some((name) => name.includes('providers_cuda'));
    if (present) this.skip();
    await assert.rejects(install({}, 12));
  });

  it('is switched off in both ways that npm has', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { allowScripts?: Record<string, boolean> };
    assert.equal(manifest.allowScripts?.['onnxruntime-node'], false);
    assert.equal(npmSettings()['npm_config_onnxruntime_node_install'], 'skip');
  });
});

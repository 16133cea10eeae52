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

/** Nothing listens on the discard port of this machine: a download fails at once. */
const noNetwork = { GLOBAL_AGENT_HTTP_PROXY: 'http://127.0.0.1:9', GLOBAL_AGENT_HTTPS_PROXY: 'http://127.0.0.1:9' };

describe('install of onnxruntime-node', () => {
  let tools: string;

  before(async () => {
    tools = await mkdtemp(join(tmpdir(), 'terapipe-nvcc-'));
  });
  after(() => rm(tools, { recursive: true, force: true }));

  /** What the package's script and npm see: a CUDA, and no network. */
  const environmentWithCuda = async (cuda: number): Promise<NodeJS.ProcessEnv> => {
    const nvcc = join(tools, 'nvcc');
    await writeFile(nvcc, `#!/bin/sh\necho "Cuda compilation tools, release ${cuda}.0, V${cuda}.0.88"\n`);
    await chmod(nvcc, 0o755);
    return { PATH: `${tools}${delimiter}${process.env['PATH'] ?? ''}`, HOME: tools, ...noNetwork };
  };
  const script = async (env: NodeJS.ProcessEnv): Promise<void> => {
    await run(process.execPath, ['./script/install'], { cwd: runtime, env });
  };
  const files = (): unknown => readdirSync(join(runtime, 'bin'), { recursive: true });

  for (const cuda of [12, 13]) {
    it(`needs neither a GPU nor a network with CUDA ${cuda}, and adds nothing: npm runs no script here`, async () => {
      const before = files();
      await run('npm', ['rebuild', 'onnxruntime-node'], {
        cwd: root,
        env: await environmentWithCuda(cuda),
        shell: process.platform === 'win32',
      });
      assert.deepEqual(files(), before);
    });

    it(`adds nothing with CUDA ${cuda} when scripts run with the variable that .npmrc advises`, async () => {
      const advice = /(ONNXRUNTIME_NODE_INSTALL)=(\w+)/.exec(readFileSync(join(root, '.npmrc'), 'utf8'));
      const before = files();
      await script({ ...(await environmentWithCuda(cuda)), [advice?.[1] ?? '']: advice?.[2] });
      assert.deepEqual(files(), before);
    });
  }

  it('would fail if its script ran, so that our settings are what counts', async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') this.skip();
    const present = readdirSync(join(runtime, 'bin/napi-v6/linux/x64')).some((name) => name.includes('providers_cuda'));
    if (present) this.skip();
    await assert.rejects(script(await environmentWithCuda(12)));
  });

  it('is switched off in both ways that npm has', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { allowScripts?: Record<string, boolean> };
    assert.equal(manifest.allowScripts?.['onnxruntime-node'], false);
    assert.match(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
  });
});

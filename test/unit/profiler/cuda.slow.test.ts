import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { openProfiler } from '../../../src/profiler/client';
import { bundleChild, profilerEntry, type BundledChild } from './bundle';
import { smallJob } from './jobs';
import { say } from '../../../src/core/sentence';

const installed = resolve(import.meta.dirname, '../../../node_modules/onnxruntime-node');
const platformFolder = join('bin', 'napi-v6', 'linux', 'x64');

describe('CUDA that does not load', () => {
  let child: BundledChild;
  let clone: string;

  before(async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') this.skip();
    child = await bundleChild(profilerEntry);
    clone = await mkdtemp(join(tmpdir(), 'terapipe-cuda-'));
    await cloneRuntime(clone, child.file);
  });
  after(async () => {
    await child.remove();
    await rm(clone, { recursive: true, force: true });
  });

  const refusal = async (): Promise<string> => {
    const childFile = join(clone, 'dist', 'profiler.js');
    const { refused, close } = await openProfiler(smallJob, { childFile, providers: ['cuda', 'cpu'] });
    await close();
    return refused.map(({ reason, remedy }) => `${say(reason)}; ${say(remedy)}`).join();
  };

  it('names the files that npm does not ship, and the folder they belong to', async () => {
    const message = await refusal();
    assert.match(message, /^libonnxruntime_providers_shared\.so and libonnxruntime_providers_cuda\.so are missing/);
    assert.ok(message.endsWith(`into ${join(clone, 'node_modules', 'onnxruntime-node', platformFolder)}`), message);
  });

  for (const major of [12, 13])
    it(`lists the libraries of CUDA ${major} that the system does not have`, async () => {
      const folder = join(clone, 'node_modules', 'onnxruntime-node', platformFolder);
      await wantLibrary(join(folder, 'libonnxruntime_providers_shared.so'), `libcudart.so.${major}`);
      await wantLibrary(join(folder, 'libonnxruntime_providers_cuda.so'), `libcublas.so.${major}`);
      assert.match(
        await refusal(),
        new RegExp(`^Libraries of CUDA are missing: libcu\\w+\\.so\\.${major} and libcu\\w+\\.so\\.${major}; install CUDA ${major} `),
      );
    });
});

/** A clone whose onnxruntime-node can be given provider libraries. */
async function cloneRuntime(clone: string, childFile: string): Promise<void> {
  const copy = join(clone, 'node_modules', 'onnxruntime-node');
  await mkdir(join(copy, platformFolder), { recursive: true });
  await mkdir(join(clone, 'dist'));
  await copyFile(childFile, join(clone, 'dist', 'profiler.js'));
  await copyFile(join(installed, 'package.json'), join(copy, 'package.json'));
  await copyFile(join(installed, platformFolder, 'onnxruntime_binding.node'), join(copy, platformFolder, 'onnxruntime_binding.node'));
  await symlink(join(installed, platformFolder, 'libonnxruntime.so.1'), join(copy, platformFolder, 'libonnxruntime.so.1'));
  await symlink(join(dirname(installed), 'onnxruntime-common'), join(clone, 'node_modules', 'onnxruntime-common'));
  await mkdir(join(copy, 'dist'));
  for (const file of ['index.js', 'backend.js', 'binding.js', 'version.js'])
    await copyFile(join(installed, 'dist', file), join(copy, 'dist', file));
}

/** Writes a shared library that needs `name`: a real one in which the name of a library it needs is replaced. */
async function wantLibrary(file: string, name: string): Promise<void> {
  const library = await readFile(join(installed, platformFolder, 'onnxruntime_binding.node'));
  const needed = 'libonnxruntime.so.1';
  assert.ok(name.length <= needed.length);
  const at = library.indexOf(`${needed}\0`);
  assert.ok(at > 0);
  library.write(name.padEnd(needed.length, '\0'), at, 'latin1');
  await writeFile(file, library);
}

import assert from 'node:assert/strict';
import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openProfiler, type OpenProfiler } from '../../../src/profiler/client';
import { bundleChild, profilerEntry, type BundledChild } from './bundle';
import { smallJob } from './jobs';

/** The path that every GPU provider takes, on WebGPU drawn by the CPU: its times mean nothing. */
describe('profiler on WebGPU', () => {
  let vulkan: SoftwareVulkan | null;
  let child: BundledChild;
  let profiler: OpenProfiler;

  before(async function () {
    vulkan = process.platform === 'linux' && process.arch === 'x64' ? await softwareVulkan() : null;
    if (vulkan === null) {
      console.log('    skipped: there is no SwiftShader; install Chromium, or name one in CHROMIUM');
      this.skip();
    }
    child = await bundleChild(profilerEntry);
    const { env, libraryPath } = vulkan;
    const job = { ...smallJob, limits: { batch: 1, tokens: 16, sequence: 32 } };
    profiler = await openProfiler(job, { childFile: child.file, providers: ['cuda', 'webgpu', 'cpu'], env, libraryPath });
  });
  after(async () => {
    if (vulkan === null) return;
    await profiler.close();
    await child.remove();
    await vulkan.remove();
  });

  it('knows that the adapter is software, and reports it', () => {
    assert.equal(profiler.provider, 'webgpu');
    assert.equal(profiler.device.kind, 'software');
    assert.equal(profiler.device.name, 'SwiftShader');
    assert.match(profiler.warnings.join(), /SwiftShader draws on the CPU/);
  });

  it('measures a slice with context forward and backward', async () => {
    const answer = await profiler.measure('layer', { batch: 1, tokens: 16, context: 16 });
    assert.ok(answer.type === 'measured', JSON.stringify(answer));
    for (const ms of [answer.forwardMs, answer.forwardInputsMs, answer.backwardMs, answer.backwardInputsMs]) assert.ok(ms > 0);
  });

  it('runs all heavy nodes of the layer there, and only shape arithmetic on the CPU', async () => {
    const { operators, warnings } = await profiler.placement();
    const layer = operators.filter(({ part }) => part === 'layer');
    const providersOf = (heavy: boolean) =>
      [...new Set(layer.filter((placed) => placed.heavy === heavy).map(({ provider }) => provider))].sort();
    assert.deepEqual(providersOf(true), ['WebGpuExecutionProvider']);
    assert.deepEqual(providersOf(false), ['CPUExecutionProvider', 'WebGpuExecutionProvider']);
    const strays = operators.filter((placed) => placed.heavy && placed.provider === 'CPUExecutionProvider');
    assert.equal(warnings.length, strays.length === 0 ? 0 : 1);
    for (const { operator } of strays) assert.match(warnings.join(), new RegExp(operator));
  });
});

/** A Vulkan driver that draws on the CPU, set up for child processes. */
interface SoftwareVulkan {
  readonly env: Readonly<Record<string, string>>;
  /** Where the Vulkan loader lies. */
  readonly libraryPath: readonly string[];
  readonly remove: () => Promise<void>;
}

/** Folders in which Chromium brings SwiftShader and a Vulkan loader along. */
const folders = ['/usr/lib/chromium', '/opt/google/chrome', '/usr/lib/chromium-browser', '/usr/lib64/chromium-browser'];

/** Uses the SwiftShader of an installed Chromium (CHROMIUM names another than the usual ones); null when there is none. */
async function softwareVulkan(): Promise<SoftwareVulkan | null> {
  const named = process.env['CHROMIUM'];
  const all = named !== undefined && existsSync(named) ? [dirname(realpathSync(named)), ...folders] : folders;
  const home = all.find((folder) => ['libvk_swiftshader.so', 'libvulkan.so.1'].every((file) => existsSync(join(folder, file))));
  if (home === undefined) return null;
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-vulkan-'));
  const driver = join(folder, 'swiftshader.json');
  const description = { file_format_version: '1.0.0', ICD: { library_path: join(home, 'libvk_swiftshader.so'), api_version: '1.0.5' } };
  await writeFile(driver, JSON.stringify(description));
  return {
    env: { VK_ICD_FILENAMES: driver, VK_DRIVER_FILES: driver },
    libraryPath: [home],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

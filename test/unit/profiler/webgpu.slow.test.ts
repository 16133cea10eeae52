import assert from 'node:assert/strict';
import { openProfiler, type OpenProfiler } from '../../../src/profiler/client';
import { softwareVulkan, type SoftwareVulkan } from '../../harness/swiftshader';
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

import assert from 'node:assert/strict';
import { hostGBps } from '../../../../src/core/cluster/links';
import { gpuPresetNames, matchGpuPreset, gpuPresets, gpuTitle } from '../../../../src/core/cluster/presets';

describe('GPU presets', () => {
  it('have every figure, a power limit and a source', () => {
    for (const name of gpuPresetNames) {
      const { gpu, links, gpusPerNode } = gpuPresets[name];
      assert.ok((gpu.powerWatts ?? 0) >= 70 && (gpu.powerWatts ?? 0) <= 1400, `${name}: ${gpu.powerWatts} W`);
      assert.ok(gpu.source.length > 20 && links.source.length > 20, name);
      assert.ok(gpusPerNode === 4 || gpusPerNode === 8, name);
      assert.equal(gpu.gemmEfficiencyKnown, !gpu.source.includes('not measured'), name);
    }
  });

  it('have the memory that their titles show, less what the driver keeps', () => {
    for (const name of gpuPresetNames) {
      const sold = /(\d+) GB\b/u.exec(gpuTitle(name))?.[1];
      if (sold === undefined) continue;
      const share = gpuPresets[name].gpu.memoryBytes / (Number(sold) * 2 ** 30);
      assert.ok(share > 0.93 && share <= 1, `${name}: ${share} of ${sold} GB`);
    }
  });

  it('have dense rates: a format of half the bits at twice the rate, and no sparsity', () => {
    for (const name of gpuPresetNames) {
      const { bf16, fp16, fp8 } = gpuPresets[name].gpu.peakTflops;
      if (fp8 !== undefined) assert.ok(Math.abs(fp8 / fp16 / 2 - 1) < 0.02, name);
      if (!name.startsWith('V100')) assert.equal(bf16, fp16, name);
    }
  });

  it('know the export versions by their links and rates', () => {
    const [h100, h800, h20] = [gpuPresets['H100-80GB'], gpuPresets['H800-80GB'], gpuPresets.H20];
    assert.deepEqual(h800.gpu.peakTflops, h100.gpu.peakTflops);
    assert.ok(h800.links.intraNodeBusGBps[8] < 0.5 * h100.links.intraNodeBusGBps[8]);
    assert.deepEqual([h20.gpu.peakTflops.bf16, h20.links], [148, h100.links]);
  });

  it('copy to the host over what joins it: PCIe of the generation, or NVLink-C2C', () => {
    const rates = (['A10G', 'RTX4090', 'RTX5090', 'B300', 'GH200', 'GB200'] as const).map((name) => hostGBps(gpuPresets[name]));
    assert.deepEqual(rates, [25.2, 25.2, 50.4, 50.4, 297, 180]);
  });

  it('are found by their own names where those are names of drivers', () => {
    for (const name of gpuPresetNames) assert.equal(matchGpuPreset(name, null), name);
  });
});

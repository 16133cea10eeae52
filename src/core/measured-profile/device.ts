import type { GpuSpec } from '../domain/cluster';
import type { Profile, Sample, LayerShape } from '../domain/profile';

const gib = 2 ** 30;

/**
 * Memory bandwidth of a device that nobody described, TB/s: a server CPU's. Only the optimizer step and the analytic comparison rest on it.
 */
const assumedMemoryTBps = 0.05;
/** Memory of a device that reports none. */
const assumedMemoryBytes = 16 * gib;

/**
 * A device without a preset as a planning target: its own name and memory, and as peak the best rate that the profile's layer reached,
 * since no data sheet is at hand.
 * So MFU is relative to the best measured slice, and what is not measured (optimizer, analytic comparison) is rough.
 */
export function gpuOfProfile({ device, samples, shape }: Profile): GpuSpec {
  const best = samples.layer.reduce((rate, sample) => Math.max(rate, forwardFlops(shape, sample) / (sample.forwardMs / 1e3)), 1);
  const tflops = best / 1e12;
  return {
    name: device.name,
    memoryBytes: device.memoryBytes ?? assumedMemoryBytes,
    peakTflops: { fp32: tflops, fp16: tflops, bf16: tflops },
    memoryTBps: assumedMemoryTBps,
    gemmEfficiency: 1,
    gemmEfficiencyKnown: false,
    source: 'Peak is the best rate a profiled slice reached; memory bandwidth is assumed',
  };
}

/** FLOPs of one layer's forward on a slice: two for each weight and row, and the attention's two products over what each token sees. */
function forwardFlops(shape: LayerShape, { batch, tokens, context }: Sample): number {
  const { hidden, heads, kvHeads, headDim, ffn, gatedMlp, experts } = shape;
  const attention = hidden * (2 * heads + 2 * kvHeads) * headDim;
  const mlp = (gatedMlp ? 3 : 2) * hidden * ffn * (experts?.active ?? 1);
  return 2 * batch * tokens * (attention + mlp) + 4 * batch * heads * headDim * tokens * (context + tokens / 2);
}

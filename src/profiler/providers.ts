import { plural } from '../core/format';
import type { ProfileDevice, ProviderName } from '../core/domain/profile';
import type { PlacedOperator } from '../protocol/profiler';

/**
 * Platforms for which ONNX Runtime 1.30 for Node.js has the provider, as `process.platform/process.arch`; for CUDA, with Microsoft's
 * library added.
 */
const platforms: Readonly<Record<ProviderName, readonly string[]>> = {
  cuda: ['linux/x64'],
  dml: ['win32/x64', 'win32/arm64'],
  coreml: ['darwin/arm64'],
  webgpu: ['linux/x64', 'win32/x64', 'win32/arm64', 'darwin/arm64'],
  cpu: ['linux/x64', 'linux/arm64', 'win32/x64', 'win32/arm64', 'darwin/arm64'],
};

/** Their names for people. */
export const providerTitles: Readonly<Record<ProviderName, string>> = {
  cuda: 'CUDA',
  dml: 'DirectML',
  coreml: 'CoreML',
  webgpu: 'WebGPU',
  cpu: 'CPU',
};

/** Whether ONNX Runtime has `provider` on that platform at all. */
export function runsOn(provider: ProviderName, platform: string, arch: string): boolean {
  return platforms[provider].includes(`${platform}/${arch}`);
}

/** The name under which ONNX Runtime's own reports list it. */
export const reportedNames: Readonly<Record<ProviderName, string>> = {
  cuda: 'CUDAExecutionProvider',
  dml: 'DmlExecutionProvider',
  coreml: 'CoreMLExecutionProvider',
  webgpu: 'WebGpuExecutionProvider',
  cpu: 'CPUExecutionProvider',
};

/** A sentence when the adapter is software, and when fp32 was TF32. */
export function deviceWarnings({ kind, name }: ProfileDevice, tf32: boolean | null): string[] {
  return [
    ...(kind === 'software' ? [`${name} draws on the CPU: these times say nothing about a GPU`] : []),
    ...(tf32 === true ? ['Products of fp32 ran in TF32 (NVIDIA_TF32_OVERRIDE is not 0), which PyTorch leaves off by default'] : []),
  ];
}

/** A sentence when a GPU provider left heavy nodes to the CPU, with their names and numbers; none for the CPU itself. */
export function placementWarnings(provider: ProviderName, operators: readonly PlacedOperator[]): string[] {
  if (provider === 'cpu') return [];
  const strays = operators.filter((placed) => placed.heavy && placed.provider !== reportedNames[provider]);
  if (strays.length === 0) return [];
  const nodes = new Map<string, number>();
  for (const stray of strays) nodes.set(stray.operator, (nodes.get(stray.operator) ?? 0) + stray.nodes);
  const total = [...nodes.values()].reduce((sum, count) => sum + count, 0);
  const names = [...nodes].sort(([, a], [, b]) => b - a).map(([name, count]) => (count === 1 ? name : `${name} x ${count}`));
  return [
    `${providerTitles[provider]} left ${plural(total, 'heavy node')} to the CPU (${names.join(', ')}): times include it and the copies to and fro, a training framework would be faster`,
  ];
}

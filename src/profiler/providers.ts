import type { ProviderName } from '../core/domain/profile';

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

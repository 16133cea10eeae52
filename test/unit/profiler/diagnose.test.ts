import assert from 'node:assert/strict';
import { cleaned, diagnoseRefusal, type RefusalFacts } from '../../../src/profiler/diagnose';
import { say } from '../../../src/core/sentence';

const folder = '/clone/node_modules/onnxruntime-node/bin/napi-v6/linux/x64';
const both = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];
const bare: RefusalFacts = {
  provider: 'cuda',
  platform: 'linux',
  arch: 'x64',
  message: 'OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library',
  stderr: '',
  version: '1.30.0',
  folder,
  present: [],
  missing: [],
  nvidiaDriver: null,
};

/** As ONNX Runtime 1.30.0 writes it to standard error. */
const notLoaded = (file: string, why: string): string =>
  `2026-11-21 06:34:51 [E:onnxruntime:onnxruntime-node, provider_bridge_ort.cc:2146 Create] /onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:1988 ` +
  `onnxruntime::Provider& onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library ${folder}/${file} with error: ${why}\n`;
const cannotOpen = (file: string): string => `${file}: cannot open shared object file: No such file or directory`;
const cudaFailure = (code: number, text: string): string =>
  `/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:122 std::conditional_t<THRW, void, onnxruntime::common::Status> onnxruntime::CudaCall(ERRTYPE, const char*, ` +
  `const char*, SUCCTYPE, const char*, const char*, int) [with ERRTYPE = cudaError; bool THRW = true] CUDA failure ${code}: ${text} ; GPU=-1 ; hostname=c4 ; ` +
  `file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_execution_provider.cc ; line=336 ; expr=cudaSetDevice(info_.device_id);`;
const webgpuFailure =
  '/onnxruntime_src/onnxruntime/core/providers/webgpu/webgpu_context.cc:136 onnxruntime::webgpu::WebGpuContext::Initialize(const onnxruntime::webgpu::WebGpuContextConfig&)::<lambda()> ' +
  'adapter_result.status == wgpu::RequestAdapterStatus::Success was false. Failed to get a WebGPU adapter: No supported adapters\n';

const cases: readonly { readonly name: string; readonly facts: Partial<RefusalFacts>; readonly reason: RegExp; readonly remedy: RegExp }[] =
  [
    {
      name: 'CUDA as npm ships it',
      facts: { stderr: notLoaded('libonnxruntime_providers_shared.so', cannotOpen(`${folder}/libonnxruntime_providers_shared.so`)) },
      reason: /^libonnxruntime_providers_shared\.so and libonnxruntime_providers_cuda\.so are missing/,
      remedy: /Microsoft\.ML\.OnnxRuntime\.Gpu\.Linux 1\.30\.0, runtimes\/linux-x64\/native; put them into \/clone\/.*\/linux\/x64$/,
    },
    {
      name: 'CUDA with one of the two files',
      facts: { present: both.slice(0, 1), stderr: notLoaded(both[1]!, cannotOpen(`${folder}/${both[1]!}`)) },
      reason: /^libonnxruntime_providers_cuda\.so is missing/,
      remedy: /put it into/,
    },
    {
      name: 'no CUDA 12 where it is needed',
      facts: {
        present: both,
        stderr: notLoaded(both[1]!, cannotOpen('libcublasLt.so.12')),
        missing: ['libcublasLt.so.12', 'libcublas.so.12', 'libcudnn.so.9', 'libcurand.so.10', 'libcufft.so.11', 'libcudart.so.12'],
      },
      reason: /^Libraries of CUDA are missing: libcublasLt\.so\.12, libcublas\.so\.12, libcudnn\.so\.9, .* and libcudart\.so\.12$/,
      remedy: /^install CUDA 12 and cuDNN 9 .*nvidia-cublas-cu12.*CUDA 13 does not do; .*LD_LIBRARY_PATH/,
    },
    {
      name: 'no CUDA 13 where it is needed, known from only one library',
      facts: { present: both, stderr: notLoaded(both[1]!, cannotOpen('libcublasLt.so.13')) },
      reason: /missing: libcublasLt\.so\.13$/,
      remedy: /^install CUDA 13 .*nvidia-cudnn-cu13.*CUDA 12 does not do/,
    },
    {
      name: 'cuFFT, which counts differently',
      facts: { present: both, missing: ['libcufft.so.12'] },
      reason: /libcufft\.so\.12/,
      remedy: /^install CUDA 13/,
    },
    {
      name: 'a CUDA library of another version',
      facts: { present: both, stderr: notLoaded(both[1]!, 'undefined symbol: Provider_GetHost, version VERS_1.29') },
      reason: /does not load: undefined symbol: Provider_GetHost/,
      remedy: /version 1\.30\.0 exactly/,
    },
    {
      name: 'a layer that does not fit',
      facts: { provider: 'cpu', message: 'Not enough free memory: the weights of this layer need about 9 GB, 3 GB are free' },
      reason: /need about 9 GB, 3 GB are free$/,
      remedy: /tensor-parallel/,
    },
    {
      name: 'a full disk',
      facts: { provider: 'cpu', message: "ENOSPC: no space left on device, mkdtemp '/tmp/terapipe-placement-XXXXXX'" },
      reason: /temporary files is full/,
      remedy: /TMPDIR/,
    },
    {
      name: 'only cuDNN',
      facts: { present: both, stderr: notLoaded(both[1]!, cannotOpen('libcudnn.so.9')) },
      reason: /libcudnn\.so\.9/,
      remedy: /^install CUDA 12 or 13, .* and cuDNN 9/,
    },
    {
      name: 'no driver library',
      facts: { present: both, missing: ['libcuda.so.1'], stderr: notLoaded(both[1]!, cannotOpen('libcuda.so.1')) },
      reason: /^There is no NVIDIA driver/,
      remedy: /--gpus all/,
    },
    {
      name: 'CUDA there and no driver',
      facts: { present: both, message: cudaFailure(35, 'CUDA driver version is insufficient for CUDA runtime version') },
      reason: /^There is no NVIDIA driver/,
      remedy: /install the NVIDIA driver/,
    },
    {
      name: 'an old driver',
      facts: {
        present: both,
        nvidiaDriver: '470.82.01',
        message: cudaFailure(35, 'CUDA driver version is insufficient for CUDA runtime version'),
      },
      reason: /^The NVIDIA driver 470\.82\.01 is too old/,
      remedy: /CUDA 13 needs 580/,
    },
    {
      name: 'no GPU',
      facts: { present: both, nvidiaDriver: '550.54.15', message: cudaFailure(100, 'no CUDA-capable device is detected') },
      reason: /shows no GPU/,
      remedy: /CUDA_VISIBLE_DEVICES/,
    },
    {
      name: 'another CUDA error',
      facts: { present: both, nvidiaDriver: '550.54.15', message: cudaFailure(46, 'all CUDA-capable devices are busy or unavailable') },
      reason: /^CUDA error 46: all CUDA-capable devices are busy or unavailable$/,
      remedy: /measure again/,
    },
    {
      name: 'a build without the provider',
      facts: { provider: 'dml', message: 'no available backend found. ERR: [dml] backend not found.' },
      reason: /^ONNX Runtime for linux\/x64 is built without DirectML$/,
      remedy: /another provider/,
    },
    {
      name: 'an Intel Mac',
      facts: {
        platform: 'darwin',
        provider: 'cpu',
        message: "Cannot find module '../bin/napi-v6/darwin/x64/onnxruntime_binding.node'\nRequire stack:\n- /x",
      },
      reason: /^ONNX Runtime has no build for darwin\/x64$/,
      remedy: /copy the profile file/,
    },
    {
      name: 'no onnxruntime-node',
      facts: {
        provider: 'cpu',
        version: null,
        folder: null,
        message: "Cannot find module 'onnxruntime-node'\nRequire stack:\n- /ext/dist/profiler.js",
      },
      reason: /not installed/,
      remedy: /install the extension/,
    },
    {
      name: 'an old Linux',
      facts: { provider: 'cpu', message: "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.26' not found (required by /x/libonnxruntime.so.1)" },
      reason: /needs GLIBCXX_3\.4\.26/,
      remedy: /newer Linux/,
    },
    {
      name: 'no Vulkan loader',
      facts: {
        provider: 'webgpu',
        message: webgpuFailure,
        stderr:
          "Warning: Couldn't load Vulkan: libvulkan.so.1: cannot open shared object file: No such file or directory\n    at operator() (BackendVk.cpp:368)\n",
      },
      reason: /^There is no Vulkan loader/,
      remedy: /libvulkan1/,
    },
    {
      name: 'no Vulkan driver',
      facts: {
        provider: 'webgpu',
        message: webgpuFailure,
        stderr: 'Warning: vkCreateInstance: Found no drivers!\nWarning: vkCreateInstance failed with VK_ERROR_INCOMPATIBLE_DRIVER\n',
      },
      reason: /^There is no Vulkan driver/,
      remedy: /driver of the GPU/,
    },
    {
      name: 'a Vulkan driver that lacks something',
      facts: { provider: 'webgpu', message: webgpuFailure, stderr: 'Warning: Vulkan shaderUniformBufferArrayDynamicIndexing required.\n' },
      reason: /lacks shaderUniformBufferArrayDynamicIndexing/,
      remedy: /update the GPU driver/,
    },
    { name: 'no adapter', facts: { provider: 'webgpu', message: webgpuFailure }, reason: /no GPU that WebGPU can use/, remedy: /another/ },
    {
      name: 'a Windows machine without DirectX 12',
      facts: {
        provider: 'dml',
        platform: 'win32',
        message:
          'D:\\a\\_work\\1\\s\\onnxruntime\\core\\providers\\dml\\dml_provider_factory.cc(520)\\onnxruntime.dll!00007FFBDAE7F9B9: (caller: 00007FFBDAE7FB21) Exception(1) tid(93ac) 887A0004 ',
      },
      reason: /DirectX 12/,
      remedy: /update Windows/,
    },
    {
      name: 'an operator that the provider lacks in this precision',
      facts: {
        provider: 'webgpu',
        message: "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Gelu(20) node with name 'Gelu.7'",
      },
      reason: /^There is no Gelu for this precision$/,
      remedy: /fp32/,
    },
    {
      name: 'anything else, in its own words without places in the source',
      facts: {
        provider: 'coreml',
        message: '[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during initialization: The model package is broken.\n',
      },
      reason: /^Exception during initialization: The model package is broken$/,
      remedy: /another provider/,
    },
  ];

describe('reason why a provider does not load', () => {
  for (const { name, facts, reason, remedy } of cases)
    it(name, () => {
      const refusal = diagnoseRefusal({ ...bare, ...facts });
      assert.match(say(refusal.reason), reason);
      assert.match(say(refusal.remedy), remedy);
      assert.doesNotMatch(say(refusal.reason), /onnxruntime_src|\.$/);
    });

  it('is one short line however long the message', () => {
    assert.ok(cleaned('x\n'.repeat(1000)).length <= 300);
    assert.equal(cleaned(''), 'ONNX Runtime gave no reason');
  });
});

import type { ProviderName } from '../core/domain/profile';
import { providerTitles } from './providers';
import { either, sentence, type Sentence } from '../core/sentence';

/** Why a provider is not used, and what to do about it. */
export interface Refusal {
  readonly provider: ProviderName;
  /** One sentence without a full stop. */
  readonly reason: Sentence;
  /** What to do, beginning with a small letter. */
  readonly remedy: Sentence;
}

/** What is known after a provider did not load. */
export interface RefusalFacts {
  readonly provider: ProviderName;
  /** As `process.platform` and `process.arch`. */
  readonly platform: string;
  readonly arch: string;
  /** ONNX Runtime's own error, and what its libraries wrote to standard error: the name of a missing library is only there. */
  readonly message: string;
  readonly stderr: string;
  /** Version of onnxruntime-node and the folder of its native libraries; null when it is not installed. */
  readonly version: string | null;
  readonly folder: string | null;
  /** Provider libraries that lie in the folder. */
  readonly present: readonly string[];
  /** Libraries that `ldd` does not find for them. */
  readonly missing: readonly string[];
  /** Version of the NVIDIA kernel driver; null when there is none or it cannot be known. */
  readonly nvidiaDriver: string | null;
}

const cudaProviderFiles = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];
const elsewhere = sentence`run \`terapipe profile\` where the GPU is and copy the profile file here`;
const anotherProvider = sentence`use another provider, or measure on another machine`;

/** The real reason why a provider does not load, of ONNX Runtime 1.30. Pure: everything it knows is in `facts`. */
export function diagnoseRefusal(facts: RefusalFacts): Refusal {
  const output = `${facts.message}\n${facts.stderr}`;
  const found =
    binaryTrouble(facts) ??
    (facts.provider === 'cuda' ? cudaTrouble(facts, output) : graphicsTrouble(facts, output)) ??
    graphTrouble(facts);
  return { provider: facts.provider, ...(found ?? { reason: sentence`${cleaned(facts.message)}`, remedy: anotherProvider }) };
}

type Trouble = Omit<Refusal, 'provider'> | null;

/** ONNX Runtime itself cannot be loaded, or was built without the provider. */
function binaryTrouble({ message, provider, platform, arch }: RefusalFacts): Trouble {
  if (/Cannot find (module|package)[^\n]*onnxruntime_binding\.node/.test(message))
    return { reason: sentence`ONNX Runtime has no build for ${platform}/${arch}`, remedy: elsewhere };
  if (/Cannot find (module|package) '(onnxruntime-node|onnxruntime-common)'/.test(message))
    return {
      reason: sentence`ONNX Runtime is not installed with the profiler`,
      remedy: either([
        sentence`install the extension built for this platform`,
        sentence`npm install -g terapipe onnxruntime-node@1.30 --ignore-scripts`,
      ]),
    };
  const old = /version [`'"]?((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)['"]? not found/.exec(message)?.[1];
  if (old !== undefined)
    return {
      reason: sentence`ONNX Runtime needs ${old}, and this system has an older one`,
      remedy: sentence`run it on a newer Linux, or in a container`,
    };
  if (message.includes('backend not found'))
    return { reason: sentence`ONNX Runtime for ${platform}/${arch} is built without ${providerTitles[provider]}`, remedy: anotherProvider };
  return null;
}

function cudaTrouble(facts: RefusalFacts, output: string): Trouble {
  const missing = missingLibraries(facts, output);
  const notShipped = cudaProviderFiles.filter((file) => !facts.present.includes(file));
  if (/Failed to load (shared )?library/.test(output) || facts.missing.length > 0) {
    if (notShipped.length > 0) return providerFilesMissing(facts, notShipped);
    if (missing.includes('libcuda.so.1')) return noDriver;
    if (missing.length > 0) return cudaLibrariesMissing(missing);
  }
  const loader = /Failed to load library \S+ with error: ([^\n]*)/.exec(output)?.[1];
  if (loader !== undefined)
    return {
      reason: sentence`The CUDA library of ONNX Runtime does not load: ${loader.slice(0, 200)}`,
      remedy: sentence`use the files of version ${facts.version ?? ''} exactly`,
    };
  const failure = /CUDA (?:failure|error) (\d+): ([^;\n]*)/.exec(output);
  return failure === null ? null : cudaFailure(Number(failure[1]), (failure[2] ?? '').trim(), facts.nvidiaDriver);
}

/** Named by `ldd`, or by the loader, which stops at the first. */
function missingLibraries({ missing }: RefusalFacts, output: string): readonly string[] {
  const named = [...output.matchAll(/([\w.+-]+\.so[\w.]*): cannot open shared object file/g)].map(([, file]) => file ?? '');
  return [...new Set([...missing, ...named])].filter((file) => !file.startsWith('libonnxruntime'));
}

/**
 * Microsoft does not put CUDA into the npm package. libonnxruntime_providers_tensorrt.so, the third file of the NuGet package, is not
 * needed.
 */
function providerFilesMissing({ folder, version }: RefusalFacts, files: readonly string[]): Trouble {
  const exactly = version ?? 'that of onnxruntime-node,';
  return {
    reason: sentence`${list(files)} ${files.length === 1 ? sentence`is` : sentence`are`} missing: onnxruntime-node ships without CUDA`,
    remedy: sentence`get ${files.length === 1 ? sentence`it` : sentence`them`} from NuGet Microsoft.ML.OnnxRuntime.Gpu.Linux ${exactly}, runtimes/linux-x64/native; put ${files.length === 1 ? sentence`it` : sentence`them`} into ${folder ?? sentence`bin/napi-v6/linux/x64 of onnxruntime-node`}`,
  };
}

const noDriver: Trouble = {
  reason: sentence`There is no NVIDIA driver (libcuda.so.1)`,
  remedy: sentence`install the NVIDIA driver; in a container use docker run --gpus all, or Apptainer's --nv`,
};

function cudaLibrariesMissing(missing: readonly string[]): Trouble {
  const major = cudaMajor(missing);
  const either = 'install CUDA 12 or 13, whichever the provider library was built for (`ldd` names it), and cuDNN 9';
  const install = major ? cudaInstall[major] : either;
  return {
    reason: sentence`Libraries of CUDA are missing: ${list(missing)}`,
    remedy: sentence`${install}; then name their folder in LD_LIBRARY_PATH or as library path of the profiler`,
  };
}

const cudaInstall = {
  12:
    'install CUDA 12 and cuDNN 9 for it (apt: cuda-libraries-12-9 libcudnn9-cuda-12; pip: nvidia-cuda-runtime-cu12 nvidia-cublas-cu12 nvidia-cufft-cu12 ' +
    'nvidia-curand-cu12 nvidia-cudnn-cu12); an installed CUDA 13 does not do',
  13:
    'install CUDA 13 and cuDNN 9 for it (apt: cuda-libraries-13-0 libcudnn9-cuda-13; pip: nvidia-cuda-runtime nvidia-cublas nvidia-cufft nvidia-curand ' +
    'nvidia-cudnn-cu13); an installed CUDA 12 does not do',
};

/** cuFFT and the others carry numbers of their own. */
function cudaMajor(libraries: readonly string[]): 12 | 13 | null {
  for (const file of libraries) {
    const [, name, number] = /^lib(cudart|cublas|cublasLt|nvrtc|nvJitLink|cufft)\.so\.(\d+)/.exec(file) ?? [];
    const major = Number(number) + (name === 'cufft' ? 1 : 0);
    if (major === 12 || major === 13) return major;
  }
  return null;
}

/** Codes of cudaError_t. */
function cudaFailure(code: number, text: string, driver: string | null): Trouble {
  // The CUDA runtime reports the same when there is no driver at all.
  if (code === 35 && driver === null) return noDriver;
  if (code === 35)
    return {
      reason: sentence`The NVIDIA driver ${driver ?? ''} is too old for the CUDA that ONNX Runtime was built for`,
      remedy: sentence`update the driver (CUDA 12 needs 525 or newer, CUDA 13 needs 580 or newer)`,
    };
  if (code === 100)
    return {
      reason: sentence`The NVIDIA driver shows no GPU`,
      remedy: sentence`check \`nvidia-smi\` and CUDA_VISIBLE_DEVICES; on a cluster, ask for a GPU (srun --gres=gpu:1)`,
    };
  if (code === 209) return { reason: sentence`ONNX Runtime has no code for this generation of GPU`, remedy: anotherProvider };
  if (code === 2)
    return {
      reason: sentence`The GPU has no memory left`,
      remedy: sentence`end what else runs on it (\`nvidia-smi\` lists it), or measure a smaller share`,
    };
  if (code === 803 || code === 804)
    return {
      reason: sentence`The driver and the CUDA libraries do not match (${text})`,
      remedy: sentence`restart after updating the driver, or update it`,
    };
  return { reason: sentence`CUDA error ${code}: ${text}`, remedy: sentence`check that other CUDA programs run, then measure again` };
}

/** WebGPU (Vulkan on Linux), DirectML and CoreML. */
function graphicsTrouble({ provider, message }: RefusalFacts, output: string): Trouble {
  if (provider === 'webgpu') {
    const ending = 'and the driver of the GPU (Debian: nvidia-driver-libs, or mesa-vulkan-drivers for AMD and Intel)';
    if (output.includes("Couldn't load Vulkan"))
      return { reason: sentence`There is no Vulkan loader (libvulkan.so.1)`, remedy: sentence`install it (Debian: libvulkan1) ${ending}` };
    const lacking = /Vulkan (\w+) required/.exec(output)?.[1];
    if (lacking !== undefined)
      return {
        reason: sentence`The Vulkan driver lacks ${lacking}, which WebGPU needs`,
        remedy: sentence`update the GPU driver; llvmpipe runs on the CPU and cannot be used`,
      };
    if (/Found no drivers|VK_ERROR_INCOMPATIBLE_DRIVER/.test(output))
      return { reason: sentence`There is no Vulkan driver`, remedy: sentence`install the Vulkan loader ${ending}` };
    if (/No supported adapters|Failed to get a WebGPU adapter/.test(output))
      return { reason: sentence`There is no GPU that WebGPU can use`, remedy: anotherProvider };
  }
  if (/887A0004/i.test(message))
    return {
      reason: sentence`DirectML needs a GPU with DirectX 12, but there is none`,
      remedy: sentence`update Windows and the driver of the GPU`,
    };
  if (/887A000[567]/i.test(message))
    return { reason: sentence`The GPU stopped answering`, remedy: sentence`update its driver, then measure again` };
  return null;
}

/** The provider exists and cannot run the layer. */
function graphTrouble({ message }: RefusalFacts): Trouble {
  if (message.startsWith('Not enough free memory'))
    return { reason: sentence`${message}`, remedy: sentence`end other programs, or profile a smaller tensor-parallel share` };
  if (/ENOSPC|No space left on device/.test(message))
    return {
      reason: sentence`The folder for temporary files is full`,
      remedy: sentence`free space there, or name another folder in TMPDIR`,
    };
  const operator = /Could not find an implementation for (\w+)/.exec(message)?.[1] ?? /Kernel not found[^\n]*?\b(\w+)\(/.exec(message)?.[1];
  if (operator === undefined) return null;
  return {
    reason: sentence`There is no ${operator} for this precision`,
    remedy: sentence`choose another precision (fp32 runs everywhere)`,
  };
}

/** ONNX Runtime's message without the place in its source, one line. */
export function cleaned(message: string): string {
  const line = message
    .replace(/^.*\[ONNXRuntimeError\] : \d+ : \w+ : /s, '')
    .replace(/^\S*onnxruntime\S*\.(?:cc|h):\d+ .*? was false\. /s, '')
    .replace(/^Non-zero status code returned while running (\S+) node\. Name:'[^']*' Status Message: /s, '$1: ')
    .replace(/\/onnxruntime_src\/\S+ /g, '')
    .replace(/\s+/g, ' ')
    .replace(/[\s.]+$/, '')
    .trim();
  return line === '' ? 'ONNX Runtime gave no reason' : line.slice(0, 300);
}

function list(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;
}

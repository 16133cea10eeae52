import { memoized } from '../records';
import { frozenBytes, readsFrozen } from '../domain/adapter';
import { elementBytes, narrowBytes, scalesByTensor } from '../domain/number-formats';
import type { ModelSpec } from '../domain/model';
import type { Layout, TrainingSpec } from '../domain/request';
import type { GpuSpec, NodeGroup } from '../domain/cluster';
import { fusesGradAccumulation, runsTransformers, runtimeProfile, type FusedAttentionKernel } from '../domain/runtime';
import type { CostConstants } from '../domain/slice-cost';

/**
 * What the analytic model needs to time one layer on one rank. On a cluster of several kinds of nodes, of a stage: `cluster` is its kind's,
 * `layout.pipeline` the stages on that kind.
 */
export interface CostInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
  readonly cluster: NodeGroup;
  readonly constants: CostConstants;
}

/** Seconds of device time of the kinds of operation a layer has. */
export interface DeviceRates {
  /** No listed operation takes less. */
  readonly floor: number;
  /** The same of the experts, which graphs of layers leave out. */
  readonly expertFloor: number;
  readonly gemm: (m: number, n: number, k: number, batch?: number) => number;
  /** Products of attention that is not fused, one a head; `headDim` is the size of a head among their sizes. */
  readonly scores: (m: number, n: number, k: number, batch: number, headDim: number) => number;
  /** The same for products with the layers' weights, which may be computed in a narrower format. */
  readonly linear: (m: number, n: number, k: number, batch?: number) => number;
  /** The same products for the gradients of weights, which may add to the main gradients themselves. */
  readonly weightGradient: (m: number, n: number, k: number, batch?: number) => number;
  /** Casting elements to that format, read once and written along rows and along columns; 0 without one. */
  readonly cast: (elements: number) => number;
  /** Weights are frozen: products have no gradient of theirs. */
  readonly frozen: boolean;
  /**
   * Dequantising this many elements of a frozen weight to the training precision, before each product; null: none is quantised.
   */
  readonly unpack: ((elements: number) => number) | null;
  /** Norms and activations leave the cast of what they make to the product that follows. */
  readonly castsApart: boolean;
  /**
   * Element-wise operations that every layer has: norms, heads, residuals and the activation; formulas count bytes for two-byte elements,
   * other precisions scale.
   */
  readonly layerTraffic: (bytesAtTwo: number) => number;
  /** Others, the loss included. */
  readonly traffic: (bytesAtTwo: number) => number;
  /** The same of one kernel that nothing would be fused with. */
  readonly moved: (bytesAtTwo: number) => number;
  /** Fused attention, forward, of this many FLOPs. */
  readonly fused: (flops: number) => number;
  /** Chunk products of a state's kernel. */
  readonly chunked: (flops: number) => number;
}

/** Peak of the layers' weight products, FLOP per second: of their narrow format where the GPU has one, else of the training precision. */
export function linearPeak({ gpu }: Pick<NodeGroup, 'gpu'>, { precision, gemmPrecision }: TrainingSpec): number {
  const narrow = gemmPrecision === undefined ? undefined : gpu.peakTflops[gemmPrecision];
  return (narrow ?? gpu.peakTflops[precision]) * 1e12;
}

/** What the layers' weight products reach of their format's peak over what those in the training precision reach of theirs. */
function narrowFactor({ gpu: { gemmFactors = {} } }: Pick<NodeGroup, 'gpu'>, { gemmPrecision, fp8Recipe, runtime }: TrainingSpec): number {
  if (gemmPrecision === undefined) return 1;
  const { fp8Torchao, fp8Tensorwise } = gemmFactors;
  const ofRecipe = runtime === 'torchtitan' ? fp8Torchao : scalesByTensor(fp8Recipe) ? fp8Tensorwise : undefined;
  return (gemmPrecision === 'fp8' ? ofRecipe : undefined) ?? gemmFactors[gemmPrecision] ?? 1;
}

/** What a lower power limit leaves of the rates of tensor cores: docs/model/time.md, GEMMs. */
function underPowerLimit({ powerWatts, powerLimitWatts }: GpuSpec): number {
  if (powerWatts === undefined || powerLimitWatts === undefined) return 1;
  return Math.min(1, powerLimitWatts / powerWatts) ** powerExponent;
}

/** H100 at 500 of its 700 W reaches 0.60 of its peak for 0.75 (TorchTitan's runs against Llama 3 405B). */
const powerExponent = 2 / 3;

/**
 * The kernel of fused attention: as asked for, else the first that the runtime takes and the GPU has. Null: none was measured on this GPU.
 */
export function fusedAttentionKernel(
  { gpu }: Pick<NodeGroup, 'gpu'>,
  training: Pick<TrainingSpec, 'attentionKernel' | 'runtime'>,
): FusedAttentionKernel | null {
  if (training.attentionKernel !== undefined) return training.attentionKernel;
  const has = gpu.attentionEfficiency ?? {};
  return runtimeProfile(training).attentionKernels.find((kernel) => has[kernel] !== undefined) ?? null;
}

/**
 * The kernel of fused attention that a run uses and that is not among those measured on its GPU, whose GEMMs were measured. Null: there is
 * none, or no kernel was measured on the GPU and the run names none (V100).
 */
export function assumedAttention(cluster: Pick<NodeGroup, 'gpu'>, training: TrainingSpec): FusedAttentionKernel | null {
  if (training.attention !== 'flash' || !cluster.gpu.gemmEfficiencyKnown) return null;
  const kernel = fusedAttentionKernel(cluster, training);
  return kernel === null || cluster.gpu.attentionEfficiency?.[kernel] !== undefined ? null : kernel;
}

/** Fraction of the GEMM rate that fused attention is given where no kernel was measured on the GPU. */
const unmeasuredAttention = 0.7;

/** Fused attention, FLOP per second, causal half counted. A power limit leaves it: it is far from the peak that draws the power. */
function attentionRate(cluster: Pick<NodeGroup, 'gpu'>, training: TrainingSpec): number {
  const { gpu } = cluster;
  const kernel = fusedAttentionKernel(cluster, training);
  const measured = kernel === null ? undefined : (gpu.attentionEfficiency?.[kernel] ?? gpu.attentionByBenchmark?.[kernel]);
  return gpu.peakTflops[training.precision] * 1e12 * (measured ?? unmeasuredAttention * gpu.gemmEfficiency);
}

/** How often element-wise operations read and write their tensors, once where they are fused. */
function elementwisePasses({ model, training, layout }: CostInputs): { readonly layers: number; readonly ends: number } {
  const { compiles, eagerTraffic } = runtimeProfile(training);
  const isOfTransformers = runsTransformers(training) && model.modelType !== 'custom' && layout.tensor === 1 && layout.pipeline === 1;
  // a runtime that compiles by default does so to its own modules
  if (training.compile ?? (compiles && !isOfTransformers)) return { layers: 1, ends: 1 };
  return { layers: isOfTransformers && model.norm === 'rmsnorm' ? transformersTraffic : eagerTraffic, ends: eagerTraffic };
}

/**
 * The same of layers of Transformers whose RMSNorm, rotation and gate are operations of PyTorch, one by one (models/llama/modeling_llama.py
 * at 00227283): 450 n h bytes in a layer for 108 of fused kernels. Counted in docs/model/time.md, Eager modules.
 */
const transformersTraffic = 4.2;

/**
 * Bytes that casting an element to a narrow format moves: it is read in `element` bytes and written along rows and along columns. A scale a
 * tensor needs its largest value first, one a row is not fused with what comes before (docs/model/time.md, GEMMs). Scales of FP8's blocks
 * are left out, as they were when its fractions were found.
 */
function castBytes({ gemmPrecision, fp8Recipe, runtime }: TrainingSpec, element: number): number {
  if (gemmPrecision === undefined) return 0;
  const once = element + 2 * narrowBytes(gemmPrecision);
  return runtime === 'torchtitan' && fp8Recipe === 'rowwise' ? once + rowwiseCastBytes : once;
}

const rowwiseCastBytes = 22;

/**
 * Fraction of the fp32 peak that batched products of heads reach whose size is not a multiple of 8: tensor cores take rows of 16 bytes
 * (docs/model/time.md, Attention). Fitted on the BLOOM trial of 13,824 hidden units with 128 heads for 96.
 */
const misalignedEfficiency = 0.53;

/** A listed operation, one to three kernels, takes at least this where a CUDA graph issues it: some microseconds a kernel, assumed. */
const graphFloorSeconds = 10e-6;

const knownRates = new WeakMap<CostInputs, DeviceRates>();

/** Rates of the GPU in SI units: `gemm(m, n, k, batch)` and `traffic(bytes)` give seconds of device time. Made once for the same inputs. */
export function deviceRates(inputs: CostInputs): DeviceRates {
  return memoized(knownRates, inputs, () => makeRates(inputs));
}

function makeRates(inputs: CostInputs): DeviceRates {
  const { cluster, training, constants } = inputs;
  const { gpu } = cluster;
  const powered = underPowerLimit(gpu);
  const bandwidth = gpu.memoryTBps * 1e12 * constants.memoryEfficiency;
  const factors = gpu.gemmFactors ?? {};
  const efficiency = gpu.gemmEfficiency * powered * (factors[runtimeProfile(training).id] ?? 1);
  const best = gpu.peakTflops[training.precision] * 1e12 * efficiency;
  const element = elementBytes(training);
  const gradient = training.gradAccumulationFp32 ? 4 : element;
  const { gemmPrecision } = training;
  const narrow = gemmPrecision === undefined ? element : narrowBytes(gemmPrecision);
  const bestLinear = linearPeak(cluster, training) * efficiency * narrowFactor(cluster, training);
  const castPerElement = castBytes(training, element);
  const { adapter } = training;
  const unpacked = adapter?.baseBits === undefined || readsFrozen(training) ? null : frozenBytes(adapter, element) + element;
  const passes = elementwisePasses(inputs);
  const issueFloor = constants.issueFloorUs * 1e-6;
  const attention = attentionRate(cluster, training);
  /**
   * [m x k][k x n] repeated `batch` times: the slower of arithmetic, with efficiency g/(g+q) at g = cube root of mnk, and moving the three
   * matrices.
   */
  const product =
    (rate: number, input: number, output = element) =>
    (m: number, n: number, k: number, batch = 1) => {
      const size = Math.cbrt(m * n * k);
      const arithmetic = (2 * m * n * k * batch * (size + constants.gemmHalfSize)) / (rate * size);
      return Math.max(arithmetic, (batch * (input * (m * k + k * n) + output * m * n)) / bandwidth);
    };
  const gemm = product(best, element);
  const withoutTensorCores = (m: number, n: number, k: number, batch: number): number =>
    (2 * m * n * k * batch) / (gpu.peakTflops.fp32 * 1e12 * misalignedEfficiency);
  return {
    floor: training.cudaGraphs === undefined ? issueFloor : Math.min(issueFloor, graphFloorSeconds),
    expertFloor: training.cudaGraphs === 'iteration' ? Math.min(issueFloor, graphFloorSeconds) : issueFloor,
    gemm,
    scores: (m, n, k, batch, headDim) => (headDim % 8 === 0 ? gemm : withoutTensorCores)(m, n, k, batch),
    linear: product(bestLinear, narrow),
    weightGradient: product(bestLinear, narrow, fusesGradAccumulation(training) ? 2 * gradient : element),
    cast: (elements: number): number => (castPerElement * elements) / bandwidth,
    frozen: training.adapter !== undefined,
    unpack: unpacked === null ? null : (elements: number): number => (unpacked * elements) / bandwidth,
    castsApart: !runtimeProfile(training).keepsNarrow,
    layerTraffic: (bytesAtTwo: number): number => (bytesAtTwo * element * passes.layers) / 2 / bandwidth,
    traffic: (bytesAtTwo: number): number => (bytesAtTwo * element * passes.ends) / 2 / bandwidth,
    moved: (bytesAtTwo: number): number => (bytesAtTwo * element) / 2 / bandwidth,
    fused: (flops: number): number => flops / attention,
    chunked: (flops: number): number => flops / (unmeasuredAttention * best),
  };
}

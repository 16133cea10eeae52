import { elementBytes, narrowBytes } from '../spec/number-formats';
import type { ModelSpec } from '../spec/model';
import type { Layout, TrainingSpec } from '../spec/request';
import type { NodeGroup } from '../spec/cluster';
import type { CostConstants } from '../spec/cost-constants';

/** What the analytic model needs to time one layer on one rank. On a cluster of several kinds of nodes, of a stage: `cluster` is its kind's, `layout.pipeline` the stages on that kind. */
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
  readonly gemm: (m: number, n: number, k: number, batch?: number) => number;
  /** The same for products with the layers' weights, which may be computed in a narrower format. */
  readonly linear: (m: number, n: number, k: number, batch?: number) => number;
  /** Casting elements to that format, read once and written along rows and along columns; 0 without one. */
  readonly cast: (elements: number) => number;
  readonly traffic: (bytesAtTwo: number) => number;
  readonly fused: (flops: number) => number;
}

/** Peak of the layers' weight products, FLOP per second: of their narrow format where the GPU has one, else of the training precision. */
export function linearPeak({ gpu }: Pick<NodeGroup, 'gpu'>, { precision, gemmPrecision }: TrainingSpec): number {
  const narrow = gemmPrecision === undefined ? undefined : gpu.peakTflops[gemmPrecision];
  return (narrow ?? gpu.peakTflops[precision]) * 1e12;
}

/** Rates of the GPU in SI units: `gemm(m, n, k, batch)` and `traffic(bytes)` give seconds of device time. */
export function deviceRates({ cluster, training, constants }: CostInputs): DeviceRates {
  const peak = cluster.gpu.peakTflops[training.precision] * 1e12;
  const bandwidth = cluster.gpu.memoryTBps * 1e12 * constants.memoryEfficiency;
  const { gemmEfficiency } = cluster.gpu;
  const best = peak * gemmEfficiency;
  const element = elementBytes(training);
  const { gemmPrecision } = training;
  const narrow = gemmPrecision === undefined ? element : narrowBytes[gemmPrecision];
  const bestLinear = linearPeak(cluster, training) * gemmEfficiency;
  const floor = constants.issueFloorUs * 1e-6;
  /** [m x k][k x n] repeated `batch` times: the slower of arithmetic, with efficiency g/(g+q) at g = cube root of mnk, and moving the three matrices. */
  const product =
    (rate: number, input: number) =>
    (m: number, n: number, k: number, batch = 1) => {
      const size = Math.cbrt(m * n * k);
      const arithmetic = (2 * m * n * k * batch * (size + constants.gemmHalfSize)) / (rate * size);
      return Math.max(arithmetic, (batch * (input * (m * k + k * n) + element * m * n)) / bandwidth);
    };
  return {
    floor,
    gemm: product(best, element),
    linear: product(bestLinear, narrow),
    cast: (elements: number): number => (gemmPrecision === undefined ? 0 : ((element + 2 * narrow) * elements) / bandwidth),
    /** Formulas count bytes for two-byte elements; other precisions scale. */
    traffic: (bytesAtTwo: number): number => (bytesAtTwo * element) / 2 / bandwidth,
    /** Fused attention, forward: FLOPs at 0.7 of the best GEMM rate. */
    fused: (flops: number): number => flops / (best * 0.7),
  };
}

import type { ModelSpec } from '../model/spec';
import type { Layout, TrainingSpec } from '../planner/request';
import type { ClusterSpec } from '../cluster/spec';
import type { CostConstants } from './constants';

/** What the analytic model needs to time one layer on one rank. */
export interface CostInputs {
  readonly model: ModelSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
  readonly cluster: ClusterSpec;
  readonly constants: CostConstants;
}

/** Bytes of one element in the training precision. */
export function elementBytes(training: TrainingSpec): number {
  return training.precision === 'fp32' ? 4 : 2;
}

/** Seconds of device time of the kinds of operation a layer has. */
export interface DeviceRates {
  /** No listed operation takes less. */
  readonly floor: number;
  readonly gemm: (m: number, n: number, k: number, batch?: number) => number;
  readonly traffic: (bytesAtTwo: number) => number;
  readonly fused: (flops: number) => number;
}

/** Rates of the GPU in SI units: `gemm(m, n, k, batch)` and `traffic(bytes)` give seconds of device time. */
export function deviceRates({ cluster, training, constants }: CostInputs): DeviceRates {
  const peak = cluster.gpu.peakTflops[training.precision] * 1e12;
  const bandwidth = cluster.gpu.memoryTBps * 1e12 * constants.memoryEfficiency;
  const best = peak * cluster.gpu.gemmEfficiency;
  const element = elementBytes(training);
  const floor = constants.issueFloorUs * 1e-6;
  return {
    floor,
    /** [m x k][k x n] repeated `batch` times: the slower of arithmetic, with efficiency g/(g+q) at g = cube root of mnk, and moving the three matrices. */
    gemm: (m: number, n: number, k: number, batch = 1): number => {
      const size = Math.cbrt(m * n * k);
      const arithmetic = (2 * m * n * k * batch * (size + constants.gemmHalfSize)) / (best * size);
      return Math.max(arithmetic, (element * batch * (m * k + k * n + m * n)) / bandwidth);
    },
    /** Formulas count bytes for two-byte elements; other precisions scale. */
    traffic: (bytesAtTwo: number): number => (bytesAtTwo * element) / 2 / bandwidth,
    /** Fused attention, forward: FLOPs at 0.7 of the best GEMM rate. */
    fused: (flops: number): number => flops / (best * 0.7),
  };
}

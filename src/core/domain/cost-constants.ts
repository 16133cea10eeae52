/**
 * The free numbers of the analytic model (docs/model/time.md, Constants). All are shown in the panel and can be set in `terapipe.json`
 * under `cost`.
 */
export interface CostConstants {
  /** q: cube root of m n k at which a GEMM reaches half its best efficiency. */
  readonly gemmHalfSize: number;
  /** l: no listed operation takes less, microseconds. */
  readonly issueFloorUs: number;
  /** ebw: fraction of the memory bandwidth that element-wise kernels reach. */
  readonly memoryEfficiency: number;
}

/** Fitted on 45 multi-node A100 runs of vTrain (MICRO 2024 artefact); `memoryEfficiency` was held fixed. */
export const defaultConstants: CostConstants = { gemmHalfSize: 1970, issueFloorUs: 88.5, memoryEfficiency: 0.85 };

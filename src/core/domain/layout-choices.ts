/** The sizes of parallel groups and what goes with them. `data` follows from the other sizes and the number of GPUs. */
export const sizeKeys = [
  'tensor',
  'pipeline',
  'data',
  'context',
  'expert',
  'expertTensor',
  'virtualStages',
  'order',
  'microBatch',
] as const;

/** What of a layout may be chosen. */
export const searchKeys = [
  ...sizeKeys,
  'recompute',
  'zeroStage',
  'offloadOptimizer',
  'contextParallelComm',
  'sequenceParallel',
  'schedule',
] as const;

export type SearchKey = (typeof searchKeys)[number];

/** What of a layout may be chosen. `data` follows from the other sizes and the number of GPUs. */
export const searchKeys = [
  'tensor',
  'pipeline',
  'data',
  'context',
  'expert',
  'expertTensor',
  'virtualStages',
  'order',
  'microBatch',
  'recompute',
  'zeroStage',
  'offloadOptimizer',
  'contextParallelComm',
  'sequenceParallel',
  'schedule',
] as const;

export type SearchKey = (typeof searchKeys)[number];

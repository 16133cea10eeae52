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

/** The parts of a layout that may be chosen. */
export const searchKeys = [
  ...sizeKeys,
  'recompute',
  'zeroStage',
  'dataReplicate',
  'offloadOptimizer',
  'contextParallelComm',
  'sequenceParallel',
  'schedule',
] as const;

export type SearchKey = (typeof searchKeys)[number];

/** Choices that trade time for memory, which `layout` leaves as the files have them. */
export const memoryKeys: readonly SearchKey[] = ['recompute', 'zeroStage', 'dataReplicate'];
/** How a layout is run, which `layout` leaves as well. */
const runKeys: readonly SearchKey[] = ['sequenceParallel', 'contextParallelComm'];
/** What is searched only where a file has it or it is named: it wants a runtime and a host that are made for it. */
const askedKeys: readonly SearchKey[] = ['offloadOptimizer'];

/**
 * Names that stand for several choices: none; sizes of groups, micro-batch, stages and schedule; and those with recompute, ZeRO and how a
 * layout is run.
 */
export const freeNames: Readonly<Record<'none' | 'layout' | 'all', readonly SearchKey[]>> = {
  none: [],
  layout: searchKeys.filter((key) => ![...memoryKeys, ...runKeys, ...askedKeys].includes(key)),
  all: searchKeys.filter((key) => !askedKeys.includes(key)),
};

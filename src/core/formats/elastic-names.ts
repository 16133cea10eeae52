/** How many layers freeze after each epoch: a fraction of those left, that and the smallest gradient, by changes, or as listed. */
export const freezingNames = ['alpha', 'gradients', 'changes', 'given'] as const;
/** How a pipeline passes its samples: all forwards first, or each backward as soon as it can be. */
export const elasticScheduleNames = ['GPipe', '1F1B'] as const;
/** How pipelines get shorter: halved while the largest stage is not larger than at first, or to the length that is fastest and fits. */
export const shrinkNames = ['halve', 'fastest'] as const;
/** How units are cut into stages: as PipeTransformer does, or with the least maximum of parameters or of time. */
export const balanceNames = ['greedy', 'parameters', 'time'] as const;

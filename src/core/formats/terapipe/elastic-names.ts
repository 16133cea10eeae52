/** How many layers freeze after each epoch: a fraction of those left, that and the smallest gradient, by changes, or as listed. */
export const freezingNames = ['alpha', 'gradients', 'changes', 'given'] as const;
/** How units are cut into stages: as PipeTransformer does, or with the least maximum of parameters or of time. */
export const balanceNames = ['greedy', 'parameters', 'time'] as const;

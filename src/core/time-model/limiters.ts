/**
 * Where a stage's time goes: kernel-launch overhead, memory traffic, compute, collectives inside a layer (of tensor-, context- and
 * expert-parallel ranks), sending to its neighbours, waiting for activations to leave for the host or to come back.
 */
export const limiters = ['issue', 'memory', 'math', 'exchange', 'send', 'offload'] as const;
export type Limiter = (typeof limiters)[number];

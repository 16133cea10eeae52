import type { CostInputs } from './rates';
import { stageCost } from './stage-cost';
import type { StageEnds } from './end-time';
import type { StageLayers } from './gradient-exchange';

/** Milliseconds of one micro-batch, forward and backward, on one stage by what they go to, and the largest. */
export interface StageLimits {
  readonly ms: Readonly<Record<Limiter, number>>;
  readonly limiter: Limiter;
}

/**
 * What limits one stage: its analytic time as it is, without exchanges, without the issue floor too, and also with a memory of no delay;
 * what each step takes off is that limiter's share. Sends are those of both boundaries of each chunk on the stage.
 *
 * @param stage with what it waits for copies to and from the host (`offloadMs`).
 * @param slices of one micro-batch, or the one that it is.
 * @param sendMs time that the sends over all boundaries of the stage take for this many sequences and tokens.
 */
export function stageLimits(
  inputs: CostInputs,
  stage: StageLayers & StageEnds & { readonly offloadMs?: number },
  slices: readonly { readonly batch: number; readonly tokens: number; readonly context: number }[],
  sendMs: (batch: number, tokens: number) => number,
): StageLimits {
  const time = (changed: Partial<CostInputs>): number => {
    const cost = stageCost({ ...inputs, ...changed }, stage.layers, stage);
    return slices.reduce((sum, { batch, tokens, context }) => {
      const { forwardMs, backwardMs } = cost(batch, tokens, context);
      return sum + forwardMs + backwardMs;
    }, 0);
  };
  const { cluster, constants } = inputs;
  const joined = { ...cluster, links: instantLinks(cluster.links), gpusPerNode: Number.MAX_SAFE_INTEGER };
  const noFloor = { ...constants, issueFloorUs: 0 };
  const whole = time({});
  const onOneNode = time({ cluster: joined });
  const unissued = time({ cluster: joined, constants: noFloor });
  const math = time({ cluster: { ...joined, gpu: { ...cluster.gpu, memoryTBps: Number.MAX_VALUE / 1e20 } }, constants: noFloor });
  const ms = {
    issue: onOneNode - unissued,
    memory: unissued - math,
    math,
    exchange: whole - onOneNode,
    send: slices.reduce((sum, { batch, tokens }) => sum + sendMs(batch, tokens), 0),
    offload: stage.offloadMs ?? 0,
  };
  return { ms, limiter: limiters.reduce((most, name) => (ms[name] > ms[most] ? name : most)) };
}

function instantLinks(links: CostInputs['cluster']['links']): CostInputs['cluster']['links'] {
  const instant = Number.MAX_VALUE / 1e20;
  return {
    ...links,
    intraNodeBusGBps: { 2: instant, 4: instant, 8: instant },
    allReduceLatencyUs: { base: 0, perDoubling: 0 },
    nicGBps: instant,
  };
}

/**
 * Where a stage's time goes: kernel-launch overhead, memory traffic, compute, collectives inside a layer (of tensor-, context- and
 * expert-parallel ranks), sending to its neighbours, waiting for activations to leave for the host or to come back.
 */
const limiters = ['issue', 'memory', 'math', 'exchange', 'send', 'offload'] as const;
export type Limiter = (typeof limiters)[number];

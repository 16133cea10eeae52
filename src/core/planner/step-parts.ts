import { stageLimits } from '../time-model/limits';
import type { CostInputs } from '../time-model/rates';
import { boundaryMs } from '../time-model/stage-time';
import { scheduleKind } from '../schedules/registry';
import type { RankOrder } from '../spec/rank-order';
import type { Scheme } from '../spec/scheme';
import { runtimeOf } from '../spec/runtime';
import { offloadWaits } from '../partition/offload';
import type { Stage } from './pipeline';
import type { Prediction } from './predict';
import type { StepPart } from './step-part-names';

/**
 * What the step of a candidate goes to on its busiest stage, ms; the parts add up to its step.
 *
 * @param stages of the pipeline that runs it.
 * @param measured whether times are measured; the analytic model's proportions then divide the stage's busy time, as they do where
 * stages share out what they compute. `false`: the times are that model's.
 */
export function stepPartsOf(
  stages: readonly Pick<Stage, 'inputs' | 'contents'>[],
  candidate: Prediction,
  measured: false | 'with sends' | 'without sends' = false,
): Record<StepPart, number> {
  const { busyMs, pipelineMs, gradientExchangeMs, optimizerMs, scheme, schedule } = candidate;
  const busiest = busyMs.indexOf(Math.max(...busyMs));
  const stage = stages[busiest];
  if (stage === undefined) throw new Error(`there is no stage ${busiest}`);
  const { inputs, contents } = stage;
  const busy = busyMs[busiest] ?? 0;
  const kept = { ...inputs, training: { ...inputs.training, recompute: 'none' as const } };
  const waits = offloadWaits(inputs, contents);
  const total = { math: 0, memory: 0, issue: 0, exchange: 0, recompute: 0, offload: 0 };
  for (const { chunk, times } of chunksOf(scheme)) {
    let context = 0;
    const slices = chunk.tokens.map((tokens) => {
      const slice = { batch: chunk.batch, tokens, context };
      context += tokens;
      return slice;
    });
    const { ms } = stageLimits(kept, contents, slices, () => 0);
    for (const slice of slices) {
      const { forwardMs, backwardMs } = waits(slice.batch, slice.tokens, slice.context);
      total.offload += times * (forwardMs + backwardMs);
    }
    const again = inputs.training.recompute === 'none' ? ms : stageLimits(inputs, contents, slices, () => 0).ms;
    for (const part of ['math', 'memory', 'issue', 'exchange'] as const) {
      total[part] += times * ms[part];
      total.recompute += times * (again[part] - ms[part]);
    }
  }
  const explained = Object.values(total).reduce((sum, ms) => sum + ms, 0);
  const rest = { bubble: pipelineMs - busy, gradientExchange: gradientExchangeMs, optimizer: optimizerMs };
  if (measured === false && scheduleKind(schedule).exchangesAttention !== true) return { ...total, send: busy - explained, ...rest };
  const { sends, rankOrder } = runtimeOf(inputs.training);
  const send = measured === 'without sends' && sends === 'blocking' ? heldBySends(inputs, scheme, rankOrder) : 0;
  const scaled = Object.entries(total).map(([part, ms]) => [part, (ms * (busy - send)) / explained] as const);
  return { ...(Object.fromEntries(scaled) as typeof total), send, ...rest };
}

/** What sends of both directions hold every stage. */
function heldBySends(inputs: CostInputs, scheme: Scheme, rankOrder: RankOrder): number {
  const ofChunk = ({ batch, tokens }: Scheme[number]): number =>
    tokens.reduce((sum, length) => sum + 2 * boundaryMs[rankOrder](inputs, batch, length), 0);
  return chunksOf(scheme).reduce((sum, { chunk, times }) => sum + times * ofChunk(chunk), 0);
}

/** Chunks of a scheme that differ, with how often each comes. */
function chunksOf(scheme: Scheme): { readonly chunk: Scheme[number]; readonly times: number }[] {
  const known = new Map<string, { chunk: Scheme[number]; times: number }>();
  for (const chunk of scheme) {
    const key = JSON.stringify(chunk);
    const same = known.get(key);
    if (same === undefined) known.set(key, { chunk, times: 1 });
    else same.times++;
  }
  return [...known.values()];
}

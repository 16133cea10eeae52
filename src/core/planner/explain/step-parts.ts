import { memoized } from '../../records';
import { sum } from '../../numbers';
import { contentsKey, type StageContents } from '../../memory-model/layer-tensors';
import { stageLimits } from '../../time-model/limits';
import type { CostInputs } from '../../time-model/rates';
import type { Scheme } from '../../domain/scheme';
import { blockingSends } from '../predict/transfers';
import { offloadWaits } from '../../partition/offload';
import type { Pipeline } from '../predict/pipeline';
import type { Prediction } from '../predict/predict';
import type { StepTimes } from './step-part-names';

/** `false`: by the analytic model. Measured times of a stage are divided in the proportions of that model. */
type Measured = false | 'with sends' | 'without sends';

/** What the step of a candidate goes to on each stage, ms. Every surface that shows where the time goes takes these, or their mean. */
export function partsByStage(pipeline: Pipeline, candidate: Prediction, measured: Measured = false): readonly StepTimes[] {
  const { busyMs, pipelineMs, gradientExchangeMs, optimizerMs, scheme, schedule } = candidate;
  const known = new Map<CostInputs, Map<string, WorkTimes>>();
  const kind = pipeline.schedules[schedule];
  const { chunkContents, stageOfChunk } = pipeline.chunksOn(kind);
  return pipeline.stages.map(({ inputs }, stage) => {
    const busy = busyMs[stage] ?? 0;
    const ofInputs = memoized(known, inputs, () => new Map<string, WorkTimes>());
    // chunk by chunk, as each recomputes a number of its own layers
    const work = summed(
      chunkContents
        .filter((_, chunk) => stageOfChunk[chunk] === stage)
        .map((contents) => memoized(ofInputs, contentsKey(contents), () => workTimes(inputs, contents, scheme))),
    );
    const explained = sum(Object.values(work));
    const rest = { bubble: apart(pipelineMs, busy), gradientExchange: gradientExchangeMs, optimizer: optimizerMs };
    if (measured === false && kind.exchangesAttention !== true) return { ...work, send: apart(busy, explained), ...rest };
    const send = measured === 'without sends' ? heldBySends(blockingSends(pipeline, stage), scheme) : 0;
    const scaled = Object.entries(work).map(([part, ms]) => [part, explained > 0 ? (ms * (busy - send)) / explained : 0] as const);
    return { ...(Object.fromEntries(scaled) as WorkTimes), send, ...rest };
  });
}

/** The difference of two sums of the same times; 0 if only rounding makes them differ. */
function apart(whole: number, part: number): number {
  return Math.abs(whole - part) <= 1e-9 * whole ? 0 : whole - part;
}

type WorkTimes = Readonly<Record<'math' | 'memory' | 'issue' | 'exchange' | 'recompute' | 'offload', number>>;

const noWork: WorkTimes = { math: 0, memory: 0, issue: 0, exchange: 0, recompute: 0, offload: 0 };

function summed(works: readonly WorkTimes[]): WorkTimes {
  const parts = Object.keys(noWork) as (keyof WorkTimes)[];
  return Object.fromEntries(parts.map((part) => [part, sum(works.map((work) => work[part]))])) as WorkTimes;
}

/** What the passes of a chunk of layers go to in one step, sends left out, ms. */
function workTimes(inputs: CostInputs, contents: StageContents, scheme: Scheme): WorkTimes {
  const kept = { ...inputs, training: { ...inputs.training, recompute: 'none' as const } };
  const waits = offloadWaits(inputs, contents);
  const total = { ...noWork };
  for (const { chunk, times } of distinctChunks(scheme)) {
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
  return total;
}

/** What sends of both directions hold every stage. */
function heldBySends(sends: ReturnType<typeof blockingSends>, scheme: Scheme): number {
  const ofChunk = ({ batch, tokens }: Scheme[number]): number => sum(tokens.map((length) => sends(batch, length)));
  return sum(distinctChunks(scheme).map(({ chunk, times }) => times * ofChunk(chunk)));
}

/** Chunks of a scheme that differ, with how often each comes. */
function distinctChunks(scheme: Scheme): { readonly chunk: Scheme[number]; readonly times: number }[] {
  const known = new Map<string, { chunk: Scheme[number]; times: number }>();
  for (const chunk of scheme) {
    const key = JSON.stringify(chunk);
    const same = known.get(key);
    if (same === undefined) known.set(key, { chunk, times: 1 });
    else same.times++;
  }
  return [...known.values()];
}

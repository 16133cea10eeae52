import { cachedBySlice } from '../time-model/layer-time';
import { boundaryMs } from '../time-model/stage-time';
import { headTokens } from '../model/stacks';
import type { RankOrder } from '../spec/rank-order';
import { scheduleKind } from '../schedules/registry';
import type { Schedule, WorkUnit } from '../schedules/schedule';
import type { Transfers } from '../schedules/simulate/transfers';
import type { Pipeline, PipelineChunks } from './pipeline';

/** What sends depend on. */
type Sending = Pick<Pipeline, 'stages' | 'nodeKinds' | 'measured'>;

type Sizes = Pick<WorkUnit, 'batch' | 'tokens'>;

/** Time from one stage to another of a unit, ms. */
function sendMs(sending: Sending, rankOrder: RankOrder, from: number, to: number, { batch, tokens: own }: Sizes): number {
  const { stages, measured } = sending;
  const tokens = crossingTokens(sending, Math.min(from, to), own);
  const [sender, receiver] = [stages[from]?.inputs, stages[to]?.inputs];
  if (measured || sender === undefined) return 0;
  return boundaryMs[rankOrder](sender, batch, tokens, receiver);
}

/**
 * Tokens whose hidden states cross the boundary after a stage: inside the decoder of an encoder-decoder model those of the target with the encoder's output, up to its beginning those of the source (Megatron-LM core 0.9,
 * `get_tensor_shapes`).
 */
function crossingTokens({ stages, nodeKinds: [first] }: Sending, stage: number, tokens: number): number {
  if (first?.model.stacks === undefined) return tokens;
  const isInDecoder = stages[stage]?.contents.groups?.at(-1)?.kind.stack === 'decoder';
  return isInDecoder ? tokens + headTokens(first.model, first.training, tokens) : tokens;
}

/** Transfers of a schedule: alike at all boundaries where all nodes are of one kind and all layers of one stack, else what each chunk hands on. */
export function transfersOf(
  pipeline: Sending,
  { name, units, stageOfChunk }: Pick<Schedule, 'name' | 'units' | 'stageOfChunk'>,
): Transfers {
  const { sends: mode, rankOrder } = scheduleKind(name);
  const [first] = pipeline.nodeKinds;
  if (pipeline.nodeKinds.length < 2 && first?.model.stacks === undefined) {
    const ms = Float64Array.from(units, (unit) => sendMs(pipeline, rankOrder, 0, 0, unit));
    return { forwardMs: ms, backwardMs: ms, mode };
  }
  const column = (step: 1 | -1): Float64Array => {
    const ms = new Float64Array(stageOfChunk.length * units.length);
    stageOfChunk.forEach((stage, chunk) => {
      // The ends have one boundary, which stands for the other: docs/model/schedules.md, Transfers.
      const other = stageOfChunk[chunk + step] ?? stageOfChunk[chunk - step] ?? stage;
      const send = cachedBySlice((batch, tokens) => sendMs(pipeline, rankOrder, stage, other, { batch, tokens }));
      units.forEach(({ batch, tokens }, index) => (ms[chunk * units.length + index] = send(batch, tokens)));
    });
    return ms;
  };
  return { forwardMs: column(1), backwardMs: column(-1), perChunk: true, mode };
}

/** What planners of schedules take every send of a unit to be, ms: the slowest of them. */
export function slowestSendMs(
  pipeline: Sending,
  { kind: { rankOrder }, stageOfChunk }: Pick<PipelineChunks, 'kind' | 'stageOfChunk'>,
  unit: Sizes,
): number {
  let most = sendMs(pipeline, rankOrder, 0, 0, unit);
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++)
    most = Math.max(most, sendMs(pipeline, rankOrder, stageOfChunk[chunk - 1] ?? 0, stageOfChunk[chunk] ?? 0, unit));
  return most;
}

/**
 * What a stage that waits for its sends is busy with them for every slice, forward and backward, ms: TeraPipe's runtime, with one chunk a stage. An end has one boundary, which counts twice, as on
 * the other stages.
 */
export function blockingSendsMs(pipeline: Sending, stage: number, unit: Sizes): number {
  const stages = pipeline.stages.length;
  if (pipeline.measured || stages < 2) return 0;
  const [before, after] = [stage > 0 ? stage - 1 : stage + 1, stage + 1 < stages ? stage + 1 : stage - 1];
  return sendMs(pipeline, 'pipeline', stage, after, unit) + sendMs(pipeline, 'pipeline', stage, before, unit);
}

/** Time of all sends that a stage's boundaries with other stages take one way, ms. */
export function boundarySendsMs(pipeline: Sending, schedule: string, stage: number, stageOfChunk: Uint32Array, unit: Sizes): number {
  const { rankOrder } = scheduleKind(schedule);
  let ms = 0;
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++) {
    const [before = 0, after = 0] = [stageOfChunk[chunk - 1], stageOfChunk[chunk]];
    if (before !== after && (before === stage || after === stage)) ms += sendMs(pipeline, rankOrder, before, after, unit);
  }
  return ms;
}

import { cachedBySlice, cachedByTokens } from '../../time-model/layer-time';
import { someStagesJoined, stagesJoined } from '../../cluster/boundaries';
import { boundaryBetween, boundaryMs } from '../../time-model/boundary';
import { headTokens } from '../../model/stacks';
import { paysForChunks, resolveRankOrder, runtimeProfile, type RuntimeProfile } from '../../domain/runtime';
import type { Schedule, WorkUnit } from '../../schedules/schedule';
import type { Transfers } from '../../schedules/simulate/transfers';
import type { SliceTime } from '../../domain/slice-cost';
import type { Pipeline } from './pipeline';

/** What sends depend on. */
type Sending = Pick<Pipeline, 'stages' | 'nodeKinds' | 'measured'>;

type Sizes = Pick<WorkUnit, 'batch' | 'tokens'>;

/**
 * What a send holds a stage that waits for it, of one direction, ms. The host does not wait: it keeps issuing operations, for which the
 * device would have waited.
 */
function holdMs(sendMs: number, { issueWaitMs = 0 }: Pick<SliceTime, 'issueWaitMs'>): number {
  return Math.max(0, sendMs - issueWaitMs / 2);
}

/** The runtime that is planned for: all schedules of a comparison send as it does. */
function runtimeFor({ nodeKinds: [first] }: Pick<Sending, 'nodeKinds'>): RuntimeProfile {
  return runtimeProfile(first?.training ?? {});
}

/** Time from one stage to another of a unit, ms. */
function sendMs(sending: Sending, from: number, to: number, { batch, tokens: own }: Sizes): number {
  const { stages, measured, nodeKinds } = sending;
  const tokens = crossingTokens(sending, Math.min(from, to), own);
  const [sender, receiver] = [stages[from]?.inputs, stages[to]?.inputs];
  if (measured || sender === undefined) return 0;
  if (nodeKinds.length < 2) return boundaryMs(sender, batch, tokens, boundaryBetween(sender, from, to));
  return boundaryMs(sender, batch, tokens, receiver === undefined ? {} : { to: receiver });
}

/** Whether sends take as long at all boundaries: on nodes of one kind, if all stages lie together or none does, of one stack of layers. */
function sendsAlike({ nodeKinds }: Sending): boolean {
  const [first, ...others] = nodeKinds;
  if (first === undefined || others.length > 0 || first.model.stacks !== undefined) return false;
  const { layout, cluster } = first;
  const order = resolveRankOrder(first);
  return !someStagesJoined(layout, cluster, order) || stagesJoined(layout, cluster, order, 0, layout.pipeline - 1);
}

/**
 * Tokens whose hidden states cross the boundary after a stage: inside the decoder of an encoder-decoder model those of the target with the
 * encoder's output, up to its beginning those of the source (Megatron-LM core 0.9, `get_tensor_shapes`).
 */
function crossingTokens({ stages, nodeKinds: [first] }: Sending, stage: number, tokens: number): number {
  if (first?.model.stacks === undefined) return tokens;
  const isInDecoder = stages[stage]?.contents.groups?.at(-1)?.kind.stack === 'decoder';
  return isInDecoder ? tokens + headTokens(first.model, first.training, tokens) : tokens;
}

/**
 * The stage that stands for the one beyond an end, so that stages are alike (docs/model/schedules.md, Transfers): on nodes of one kind that
 * which the GPUs after the end would hold, else the other neighbour.
 */
function beyondEnd({ stages, nodeKinds }: Sending, stage: number, step: 1 | -1): number {
  if (nodeKinds.length < 2 && nodeKinds[0]?.model.stacks === undefined) return stage + step;
  return stages[stage - step] === undefined ? stage : stage - step;
}

/**
 * Transfers of a schedule: alike at all boundaries where all nodes are of one kind and all layers of one stack, else what each chunk hands
 * on.
 */
export function transfersOf(pipeline: Sending, { units, stageOfChunk }: Pick<Schedule, 'units' | 'stageOfChunk'>): Transfers {
  const chunks = stageOfChunk.length / pipeline.stages.length;
  const mode = runtimeFor(pipeline).sends === 'blocking' ? 'blocking' : 'fill-and-drain';
  const blocks = mode === 'blocking';
  const [cost, ...otherCosts] = new Set(pipeline.stages.map((stage) => stage.cost));
  if (sendsAlike(pipeline) && !(blocks && otherCosts.length > 0)) {
    const ms = Float64Array.from(units, (unit) => {
      const send = sendMs(pipeline, 0, Math.min(1, pipeline.stages.length - 1), unit);
      return blocks && cost !== undefined ? holdMs(send, cost(unit.batch, unit.tokens, unit.context)) : send;
    });
    return { forwardMs: ms, backwardMs: ms, ...heldByExchanges(pipeline, chunks, ms, ms), mode };
  }
  const column = (step: 1 | -1): Float64Array => {
    const ms = new Float64Array(stageOfChunk.length * units.length);
    stageOfChunk.forEach((stage, chunk) => {
      const other = stageOfChunk[chunk + step] ?? beyondEnd(pipeline, stage, step);
      const send = cachedBySlice((batch, tokens) => sendMs(pipeline, stage, other, { batch, tokens }));
      const held = blocks ? pipeline.stages[stage]?.cost : undefined;
      units.forEach(({ batch, tokens, context }, index) => {
        const sent = send(batch, tokens);
        ms[chunk * units.length + index] = held === undefined ? sent : holdMs(sent, held(batch, tokens, context));
      });
    });
    return ms;
  };
  const [forwardMs, backwardMs] = [column(1), column(-1)];
  return { forwardMs, backwardMs, ...heldByExchanges(pipeline, chunks, forwardMs, backwardMs), perChunk: true, mode };
}

/**
 * What passes are held by where stages exchange and wait: those of the further chunks of a stage. A forward and a backward share an
 * exchange (Megatron-LM, `send_forward_backward_recv_forward_backward`), so each has half of it; that of one chunk a stage is hidden, or in
 * the rates, which were fitted to such runs.
 *
 * @param chunks on each stage.
 */
function heldByExchanges(pipeline: Sending, chunks: number, forwardMs: Float64Array, backwardMs: Float64Array): Pick<Transfers, 'held'> {
  if (chunks <= 1 || pipeline.measured || pipeline.stages.length < 2) return {};
  if (!pipeline.nodeKinds.every(({ training, cluster }) => paysForChunks(training, cluster.gpu))) return {};
  const held = (column: Float64Array): Float64Array => column.map((ms) => ((1 - 1 / chunks) * ms) / 2);
  return { held: { forwardMs: held(forwardMs), backwardMs: held(backwardMs) } };
}

/**
 * What planners of schedules take every send of a unit to be, ms: the slowest of them; 0 where it holds the stage and is counted in the
 * passes.
 */
export function slowestSendMs(pipeline: Sending, stageOfChunk: Uint32Array, unit: Sizes): number {
  if (runtimeFor(pipeline).sends === 'blocking') return 0;
  let most = 0;
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++)
    most = Math.max(most, sendMs(pipeline, stageOfChunk[chunk - 1] ?? 0, stageOfChunk[chunk] ?? 0, unit));
  return most;
}

/**
 * What a stage that waits for its sends is busy with them for every slice of (batch, tokens), forward and backward, ms, with one chunk a
 * stage; 0 where the runtime's stages do not wait. An end has one boundary, which counts twice, as on the other stages.
 */
export function blockingSends(
  pipeline: Sending,
  stage: number,
): (batch: number, tokens: number, time?: Pick<SliceTime, 'issueWaitMs'>) => number {
  const stages = pipeline.stages.length;
  if (pipeline.measured || stages < 2 || runtimeFor(pipeline).sends !== 'blocking') return () => 0;
  const end = sendsAlike(pipeline) ? (step: 1 | -1) => stage - step : (step: 1 | -1) => beyondEnd(pipeline, stage, step);
  const before = stage > 0 ? stage - 1 : end(-1);
  const after = stage + 1 < stages ? stage + 1 : end(1);
  const [first] = pipeline.nodeKinds;
  const cached = first?.model.stacks === undefined ? cachedByTokens : null;
  const to = (other: number) =>
    cached === null
      ? cachedBySlice((batch, tokens) => sendMs(pipeline, stage, other, { batch, tokens }))
      : cached((tokens) => sendMs(pipeline, stage, other, { batch: 1, tokens }));
  const [ahead, back] = [to(after), to(before)];
  return (batch, tokens, time = {}) => holdMs(ahead(batch, tokens), time) + holdMs(back(batch, tokens), time);
}

/** Time of all sends that a stage's boundaries with other stages take one way, ms. */
export function boundarySendsMs(pipeline: Sending, stage: number, stageOfChunk: Uint32Array, unit: Sizes): number {
  let ms = 0;
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++) {
    const [before = 0, after = 0] = [stageOfChunk[chunk - 1], stageOfChunk[chunk]];
    if (before !== after && (before === stage || after === stage)) ms += sendMs(pipeline, before, after, unit);
  }
  return ms;
}

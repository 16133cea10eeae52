import type { Schedule, WorkUnit } from '../../schedules/schedule';
import type { Transfers } from '../../schedules/simulate/transfers';
import type { SliceCost, SliceTime } from '../../domain/slice-cost';
import type { SendMs } from '../../partition/sends';
import { memoized } from '../../records';
import type { Pipeline } from './pipeline';

type Sending = Pick<Pipeline, 'stages' | 'sends'>;

type Sizes = Pick<WorkUnit, 'batch' | 'tokens'>;

/**
 * What a send holds a stage that waits for it, of one direction, ms. The host does not wait: it keeps issuing operations, for which the
 * device would have waited.
 */
function holdMs(sendMs: number, { issueWaitMs = 0 }: Pick<SliceTime, 'issueWaitMs'>): number {
  return Math.max(0, sendMs - issueWaitMs / 2);
}

/**
 * Transfers of a schedule: alike at all boundaries where all nodes are of one kind and all layers of one stack, else what each chunk hands
 * on.
 */
export function scheduleTransfers(
  { stages, sends }: Sending,
  { units, stageOfChunk }: Pick<Schedule, 'units' | 'stageOfChunk'>,
): Transfers {
  const chunks = stageOfChunk.length / stages.length;
  const [cost, ...otherCosts] = new Set(stages.map((stage) => stage.cost));
  if (sends.areAlike && !(sends.isBlocking && otherCosts.length > 0)) {
    const sendMs = sends.between(0, Math.min(1, stages.length - 1));
    const ms = Float64Array.from(units, ({ batch, tokens, context }) => {
      const sent = sendMs(batch, tokens);
      return sends.isBlocking && cost !== undefined ? holdMs(sent, cost(batch, tokens, context)) : sent;
    });
    return { ...byMode(sends, ms, ms), ...heldByExchanges(sends, chunks, ms, ms) };
  }
  const waitsByCost = new Map<SliceCost, Float64Array>();
  const issueWaits = (cost: SliceCost): Float64Array =>
    memoized(waitsByCost, cost, () =>
      Float64Array.from(units, ({ batch, tokens, context }) => cost(batch, tokens, context).issueWaitMs ?? 0),
    );
  const column = (step: 1 | -1): Float64Array => {
    const ms = new Float64Array(stageOfChunk.length * units.length);
    const alike = new Map<SendMs, Map<SliceCost | undefined, Float64Array>>();
    stageOfChunk.forEach((stage, chunk) => {
      const sendMs = sends.between(stage, stageOfChunk[chunk + step] ?? sends.beyondEnd(stage, step));
      const held = sends.isBlocking ? stages[stage]?.cost : undefined;
      const ofSend = memoized(alike, sendMs, () => new Map<SliceCost | undefined, Float64Array>());
      const row = memoized(ofSend, held, () => {
        const waits = held === undefined ? null : issueWaits(held);
        return Float64Array.from(units, ({ batch, tokens }, index) => {
          const sent = sendMs(batch, tokens);
          return waits === null ? sent : holdMs(sent, { issueWaitMs: waits[index] ?? 0 });
        });
      });
      ms.set(row, chunk * units.length);
    });
    return ms;
  };
  const [forwardMs, backwardMs] = [column(1), column(-1)];
  return { ...byMode(sends, forwardMs, backwardMs), ...heldByExchanges(sends, chunks, forwardMs, backwardMs), perChunk: true };
}

/** The same sends as the runtime waits for them; timed ones take their link for as long as they last. */
function byMode({ isBlocking, areTimed }: Sending['sends'], forwardMs: Float64Array, backwardMs: Float64Array): Transfers {
  if (!areTimed) return { forwardMs, backwardMs, mode: isBlocking ? 'blocking' : 'fill-and-drain' };
  const none = new Float64Array(forwardMs.length);
  return { forwardMs: none, backwardMs: none, link: { forwardMs, backwardMs }, mode: 'edge' };
}

/**
 * What passes are held by where stages exchange and wait: those of the further chunks of a stage. A forward and a backward share an
 * exchange (Megatron-LM, `send_forward_backward_recv_forward_backward`), so each has half of it; that of one chunk a stage is hidden, or in
 * the rates, which were fitted to such runs.
 *
 * @param chunks on each stage.
 */
function heldByExchanges(
  { holdChunks }: Sending['sends'],
  chunks: number,
  forwardMs: Float64Array,
  backwardMs: Float64Array,
): Pick<Transfers, 'held'> {
  if (chunks <= 1 || !holdChunks) return {};
  const held = (column: Float64Array): Float64Array => column.map((ms) => ((1 - 1 / chunks) * ms) / 2);
  return { held: { forwardMs: held(forwardMs), backwardMs: held(backwardMs) } };
}

/**
 * What planners of schedules take every send of a unit to be, ms: the slowest of them; 0 where it holds the stage and is counted in the
 * passes.
 */
export function slowestSendMs({ sends }: Sending, stageOfChunk: Uint32Array, { batch, tokens }: Sizes): number {
  if (sends.isBlocking) return 0;
  let most = 0;
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++)
    most = Math.max(most, sends.between(stageOfChunk[chunk - 1] ?? 0, stageOfChunk[chunk] ?? 0)(batch, tokens));
  return most;
}

/**
 * What a stage that waits for its sends is busy with them for every slice of (batch, tokens), forward and backward, ms, with one chunk a
 * stage; 0 where the runtime's stages do not wait. An end has one boundary, which counts twice, as on the other stages.
 */
export function blockingSends(
  { stages, sends }: Sending,
  stage: number,
): (batch: number, tokens: number, time?: Pick<SliceTime, 'issueWaitMs'>) => number {
  if (stages.length < 2 || !sends.isBlocking) return () => 0;
  const end = (step: 1 | -1): number => (sends.areAlike ? stage - step : sends.beyondEnd(stage, step));
  const ahead = sends.between(stage, stage + 1 < stages.length ? stage + 1 : end(1));
  const back = sends.between(stage, stage > 0 ? stage - 1 : end(-1));
  return (batch, tokens, time = {}) => holdMs(ahead(batch, tokens), time) + holdMs(back(batch, tokens), time);
}

/** Time of all sends that a stage's boundaries with other stages take one way, ms. */
export function boundarySendsMs({ sends }: Sending, stage: number, stageOfChunk: Uint32Array, { batch, tokens }: Sizes): number {
  let ms = 0;
  for (let chunk = 1; chunk < stageOfChunk.length; chunk++) {
    const [before = 0, after = 0] = [stageOfChunk[chunk - 1], stageOfChunk[chunk]];
    if (before !== after && (before === stage || after === stage)) ms += sends.between(before, after)(batch, tokens);
  }
  return ms;
}

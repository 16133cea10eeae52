import { ExpectedError } from '../errors';
import { operationKind, type Schedule, type Timeline } from './schedule';

/** Busy time of each unit on each stage, ms: entry `stage * units + unit`, stages x units entries each. */
export interface Durations {
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
}

/**
 * Time to hand a unit's activations to the next stage and its gradients to the previous one, ms per unit, and what that time costs:
 * - `blocking`: it is busy time of the operation, on every stage alike, the ends included (TeraPipe's runtime and cost grid; facts in eq. 5).
 * - `edge`: the receiver may start only that much later; the sender is free.
 * - `fill-and-drain`: as `edge`, but only for the first forward and the last backward of stage 0, the others being hidden behind other work (Megatron's 1F1B).
 */
export interface Transfers {
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
  readonly mode: 'blocking' | 'edge' | 'fill-and-drain';
}

/** No transfer times: stages hand over at once. */
export function noTransfers(units: number): Transfers {
  return { forwardMs: new Float64Array(units), backwardMs: new Float64Array(units), mode: 'edge' };
}

/**
 * Event times of a schedule whose every operation starts as soon as its stage is free and what it needs is there. A forward needs the same unit's forward on the
 * stage before and, on its own stage, the earlier slices; a backward needs its own forward, the next stage's backward and the later slices' backwards.
 * Linear in the number of operations.
 * @throws ExpectedError `schedule-stuck` when the orders of the stages wait for each other, naming the operation each stage is stuck at.
 */
export function simulate(schedule: Schedule, durations: Durations, transfers: Transfers): Timeline {
  const { stages, units, rowStart, kind, unit } = schedule;
  const count = units.length;
  const startMs = new Float64Array(kind.length);
  const endMs = new Float64Array(kind.length);
  const edges = edgesOf(schedule, transfers);
  const blocking = transfers.mode === 'blocking';
  const followed = Uint8Array.from(units, ({ microBatch }, index) => (units[index + 1]?.microBatch === microBatch ? 1 : 0));
  // Ends of the forward and backward of each unit on each stage; NaN while not done.
  const forwardEndMs = new Float64Array(stages * count).fill(NaN);
  const backwardEndMs = new Float64Array(stages * count).fill(NaN);
  const next = Uint32Array.from(rowStart.subarray(0, stages));
  const freeMs = new Float64Array(stages);

  // When the operation could start at the earliest, NaN while something it needs is not done.
  const readyMs = (stage: number, row: number): number => {
    const index = unit[row] ?? 0;
    const cell = stage * count + index;
    if (kind[row] === operationKind.forward) {
      const own = (units[index]?.slice ?? 0) > 0 ? (forwardEndMs[cell - 1] ?? NaN) : 0;
      const previous = stage > 0 ? (forwardEndMs[cell - count] ?? NaN) + (edges.forwardMs[index] ?? 0) : 0;
      return Math.max(own, previous);
    }
    const own = Math.max(forwardEndMs[cell] ?? NaN, followed[index] === 1 ? (backwardEndMs[cell + 1] ?? NaN) : 0);
    const following = stage + 1 < stages ? (backwardEndMs[cell + count] ?? NaN) + (edges.backwardMs[index] ?? 0) : 0;
    return Math.max(own, following);
  };

  // Every operation wakes the one neighbour that needs it if that neighbour waits for just this unit, so no stage is looked at in vain more than once per operation.
  const awake = Array.from({ length: stages }, (_, stage) => stages - 1 - stage);
  let makespanMs = 0;
  let done = 0;
  for (let stage = awake.pop(); stage !== undefined; stage = awake.pop()) {
    const stop = rowStart[stage + 1] ?? 0;
    for (let row = next[stage] ?? stop; row < stop; row++) {
      const ready = readyMs(stage, row);
      if (Number.isNaN(ready)) break;
      const index = unit[row] ?? 0;
      const cell = stage * count + index;
      const forward = kind[row] === operationKind.forward;
      const busyMs = (forward ? durations.forwardMs : durations.backwardMs)[cell] ?? 0;
      const transferMs = blocking ? ((forward ? transfers.forwardMs : transfers.backwardMs)[index] ?? 0) : 0;
      const start = Math.max(ready, freeMs[stage] ?? 0);
      const end = start + busyMs + transferMs;
      startMs[row] = start;
      endMs[row] = end;
      (forward ? forwardEndMs : backwardEndMs)[cell] = end;
      freeMs[stage] = end;
      next[stage] = row + 1;
      done++;
      if (end > makespanMs) makespanMs = end;
      const neighbour = forward ? stage + 1 : stage - 1;
      if (neighbour < 0 || neighbour >= stages) continue;
      const waiting = next[neighbour] ?? 0;
      if (waiting < (rowStart[neighbour + 1] ?? 0) && unit[waiting] === index && kind[waiting] === kind[row]) awake.push(neighbour);
    }
  }
  if (done < kind.length) throw stuck(schedule, next);
  return { ...schedule, startMs, endMs, makespanMs };
}

/** Latency on the dependencies between stages, ms per unit. */
function edgesOf({ units, rowStart, kind, unit }: Schedule, transfers: Transfers): Pick<Transfers, 'forwardMs' | 'backwardMs'> {
  switch (transfers.mode) {
    case 'edge':
      return transfers;
    case 'blocking':
      return noTransfers(units.length);
    case 'fill-and-drain': {
      const exposed = noTransfers(units.length);
      const stop = rowStart[1] ?? 0;
      const first = kind.indexOf(operationKind.forward);
      const last = kind.lastIndexOf(operationKind.backward, stop - 1);
      if (first >= 0 && first < stop) copyEntry(transfers.forwardMs, exposed.forwardMs, unit[first] ?? 0);
      if (last >= 0) copyEntry(transfers.backwardMs, exposed.backwardMs, unit[last] ?? 0);
      return exposed;
    }
  }
}

function copyEntry(from: Float64Array, to: Float64Array, index: number): void {
  to[index] = from[index] ?? 0;
}

/** Stages named in the message when a schedule cannot run. */
const namedStages = 8;

function stuck({ units, rowStart, kind, unit }: Schedule, next: Uint32Array): ExpectedError {
  const waiting = Array.from(next).flatMap((row, stage) => {
    if (row >= (rowStart[stage + 1] ?? 0)) return [];
    const { microBatch = 0, slice = 0 } = units[unit[row] ?? 0] ?? {};
    return [
      `stage ${stage} at the ${kind[row] === operationKind.forward ? 'forward' : 'backward'} of micro-batch ${microBatch}, slice ${slice}`,
    ];
  });
  const more = waiting.length - namedStages;
  const named = waiting.slice(0, namedStages).join('; ');
  return new ExpectedError(
    'schedule-stuck',
    `The schedule cannot run, its stages wait for each other: ${named}${more > 0 ? `; and ${more} more` : ''}`,
    'run each forward before its backward, slices forward in ascending and backward in descending order, in one order on all stages',
  );
}

import { ExpectedError } from '../../errors';
import { operationKind, type OperationKind, type Schedule } from '../schedule';
import { kindText, operationText, unitText } from './deadlock';
import { sentence, type Sentence } from '../../sentence';
import { append } from '../../records';

/** What is wrong with the operations of a schedule, whatever their order. */
type Fault =
  /**
   * A row whose kind, chunk or unit does not exist, whose chunk is on another stage, or that is a forward to be overlapped without a
   * backward after it on its stage.
   */
  | { readonly fault: 'unknown' | 'wrong-stage' | 'no-overlap'; readonly row: number }
  /** A row that does again what an earlier row of its stage did. */
  | { readonly fault: 'double'; readonly row: number }
  | { readonly fault: 'missing'; readonly kind: OperationKind; readonly chunk: number; readonly unit: number };

/** Parts of a unit's work on a chunk, as bits: a full backward is both parts of backward. */
const partsOfKind = [1, 6, 2, 4] as const;
const allParts = 7;
const forwardPart = 1;
/** Faults found at most: more add nothing. */
const mostFaults = 1000;

/**
 * Every unit must run on every chunk forward once and, unless nothing runs backward, backward once: whole, or input and weight apart.
 * Linear; the faults by row, then those of what is missing, at most 1000.
 */
function scheduleFaults(schedule: Schedule): Fault[] {
  const { stages, stageOfChunk, units, rowStart, kind, chunk, unit, overlapsNext, forwardOnly = false } = schedule;
  const whole = forwardOnly ? forwardPart : allParts;
  const { forward } = operationKind;
  const faults: Fault[] = [];
  const done = new Uint8Array(stageOfChunk.length * units.length);
  for (let stage = 0; stage < stages; stage++) {
    const end = rowStart[stage + 1] ?? 0;
    for (let row = rowStart[stage] ?? 0; row < end; row++) {
      const c = chunk[row] ?? 0;
      const u = unit[row] ?? 0;
      const parts = partsOfKind[kind[row] ?? 0] ?? 0;
      const cell = c * units.length + u;
      if (parts === 0 || c >= stageOfChunk.length || u >= units.length) add(faults, { fault: 'unknown', row });
      else if (stageOfChunk[c] !== stage) add(faults, { fault: 'wrong-stage', row });
      else {
        const before = done[cell] ?? 0;
        if ((before & parts) !== 0) add(faults, { fault: 'double', row });
        done[cell] = before | parts;
      }
      if (overlapsNext?.[row] === 1 && !(kind[row] === forward && row + 1 < end && kind[row + 1] !== forward))
        add(faults, { fault: 'no-overlap', row });
    }
  }
  for (let cell = 0; cell < done.length; cell++)
    if (((done[cell] ?? 0) & whole) !== whole)
      add(faults, ...missingPasses(done[cell] ?? 0, Math.floor(cell / units.length), cell % units.length));
  return faults;
}

function add(faults: Fault[], ...more: readonly Fault[]): void {
  if (faults.length < mostFaults) append(faults, more);
}

function missingPasses(done: number, chunk: number, unit: number): Fault[] {
  const missing = (kind: OperationKind): Fault => ({ fault: 'missing', kind, chunk, unit });
  const { forward, backward, backwardInput, backwardWeight } = operationKind;
  const forwards = (done & 1) === 0 ? [missing(forward)] : [];
  if ((done & 6) === 0) return [...forwards, missing(backward)];
  if ((done & 2) === 0) return [...forwards, missing(backwardInput)];
  return (done & 4) === 0 ? [...forwards, missing(backwardWeight)] : forwards;
}

/** Faults named in the message. */
const namedFaults = 4;

/** @throws ExpectedError `schedule-incomplete` naming the first faults. */
export function requireComplete(schedule: Schedule): void {
  const faults = scheduleFaults(schedule);
  if (faults.length === 0) return;
  const named = faults.slice(0, namedFaults).map((fault) => faultText(schedule, fault));
  const more = faults.length - namedFaults;
  throw new ExpectedError(
    'schedule-incomplete',
    sentence`The schedule does not run every operation once: ${named.reduce((a, b) => sentence`${a}; ${b}`)}${more > 0 ? sentence`; and ${more} more` : ''}`,
    sentence`run each unit once forward and once backward (whole, or input and weight) on every chunk`,
  );
}

/** A fault in words. */
function faultText(schedule: Schedule, fault: Fault): Sentence {
  const { stageOfChunk, units, chunk } = schedule;
  switch (fault.fault) {
    case 'missing':
      return sentence`no ${kindText(fault.kind)} of ${unitText(units, fault.unit)} on chunk ${fault.chunk}`;
    case 'double':
      return sentence`the ${operationText(schedule, fault.row)} a second time`;
    case 'wrong-stage':
      return sentence`the ${operationText(schedule, fault.row)} on another stage than ${stageOfChunk[chunk[fault.row] ?? 0] ?? 0}`;
    case 'no-overlap':
      return sentence`the ${operationText(schedule, fault.row)} overlapped with no backward after it`;
    case 'unknown':
      return sentence`an operation on chunk ${chunk[fault.row] ?? 0}, which does not exist`;
  }
}

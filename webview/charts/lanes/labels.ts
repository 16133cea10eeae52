import { formatDuration, formatMoment, formatNumber, formatTokens } from '../../../src/core/format';
import type { Gap } from '../../../src/core/schedules/simulate/gaps';
import { operationKind, type WorkUnit } from '../../../src/core/schedules/schedule';
import { t } from '../../base/strings';
import { copiesOnStage, waitedForCopy } from './copies';
import { operationWait } from './dependencies';
import { stageGaps } from './stage-gaps';
import { operationAt, type Operation, type Operations } from '../../base/operations';

/** A length of time: `1.5 ms`, or of a schedule file `3 steps`. */
export function timeText({ ofFile }: Pick<Operations, 'ofFile'>, ms: number): string {
  return ofFile ? `${formatNumber(ms)} ${ms === 1 ? t('step') : t('steps')}` : formatDuration(ms);
}

/** When something of a length starts or ends, with as many digits as the length needs. */
export function momentText({ ofFile }: Pick<Operations, 'ofFile'>, ms: number, lengthMs: number): string {
  return ofFile ? timeText({ ofFile }, ms) : formatMoment(ms, lengthMs);
}

/** `Forward`, `Backward`, `Input gradient` or `Weight gradient`. */
export function kindName({ kind }: Pick<Operation, 'kind'>): string {
  switch (kind) {
    case operationKind.forward:
      return t('Forward');
    case operationKind.backward:
      return t('Backward');
    case operationKind.backwardInput:
      return t('Input gradient');
    case operationKind.backwardWeight:
      return t('Weight gradient');
  }
}

/** `Stage 3 of 8`; of a schedule file `Rank 3 of 8`. */
export function stageText({ stages, ofFile }: Operations, stage: number): string {
  return ofFile ? t('Rank {0} of {1}', stage, stages) : t('Stage {0} of {1}', stage, stages);
}

/** As `stageText`, with the chunk where a stage has several. */
export function placeText(operations: Operations, { stage, chunk }: Operation): string {
  const { stages, timeline, ofFile } = operations;
  const chunks = timeline.stageOfChunk.length;
  if (ofFile) return t('Rank {0} of {1}, stage {2} of {3}', stage, stages, chunk, chunks);
  return chunks > stages ? t('Stage {0} of {1}, chunk {2} of {3}', stage, stages, chunk, chunks) : stageText(operations, stage);
}

/**
 * `micro-batch 0 · slice 3 · chunk 2`, short `0·3·c2`, or `3` where slices of one micro-batch are all there is: the slice where any
 * sequence is cut, the chunk where a stage has several (of a schedule file a stage).
 */
export function unitName(
  { sliced, chunked, ofFile, severalMicroBatches }: Operations,
  { microBatch, slice }: WorkUnit,
  chunk: number,
  long: boolean,
): string {
  if (!long)
    return [
      ...(sliced && !severalMicroBatches ? [] : [microBatch]),
      ...(sliced ? [slice] : []),
      ...(chunked ? [ofFile ? `s${chunk}` : `c${chunk}`] : []),
    ].join('·');
  const place = ofFile ? t('stage {0}', chunk) : t('chunk {0}', chunk);
  return [t('micro-batch {0}', microBatch), ...(sliced ? [t('slice {0}', slice)] : []), ...(chunked ? [place] : [])].join(' · ');
}

/** `Forward of micro-batch 0, slice 3 on stage 47`: the slice where any sequence is cut, the chunk where a stage has several. */
export function operationName({ ofFile, sliced, chunked }: Operations, operation: Operation): string {
  const { unit, stage, chunk } = operation;
  if (ofFile)
    return t(
      '{0} of micro-batch {1}, stage {2} on rank {3}',
      kindName(operation),
      operation.unit.microBatch,
      operation.chunk,
      operation.stage,
    );
  const name = kindName(operation);
  if (sliced && chunked)
    return t('{0} of micro-batch {1}, slice {2} on stage {3}, chunk {4}', name, unit.microBatch, unit.slice, stage, chunk);
  if (sliced) return t('{0} of micro-batch {1}, slice {2} on stage {3}', name, unit.microBatch, unit.slice, stage);
  if (chunked) return t('{0} of micro-batch {1} on stage {2}, chunk {3}', name, unit.microBatch, stage, chunk);
  return t('{0} of micro-batch {1} on stage {2}', name, unit.microBatch, stage);
}

/** `120 tokens after 360`, with the number of sequences when it is not one; null where the file does not have it. */
export function unitText({ ofFile }: Operations, { unit }: Operation): string | null {
  if (ofFile) return null;
  const tokens = unit.context > 0 ? t('{0} after {1}', formatTokens(unit.tokens), formatTokens(unit.context)) : formatTokens(unit.tokens);
  return unit.batch === 1 ? tokens : t('{0} of {1} sequences', tokens, unit.batch);
}

/** The text on an operation that waited for nothing; of a schedule file a step is a unit of time. */
export function startText({ ofFile }: Operations): string {
  return ofFile ? t('Starts the schedule') : t('Starts the step');
}

/** One sentence on the copy that an operation waited for; null where it waited for none. */
export function copyWaitText(operations: Operations, operation: Operation): string | null {
  const copy = waitedForCopy(operations, operation);
  if (copy === null) return null;
  const length = timeText(operations, operationWait(operations, operation).idleMs);
  return copy.isBack
    ? t('Waited {0} for offloaded activations to be copied back', length)
    : t('Waited {0} for activations to be offloaded', length);
}

/** One sentence: what an operation waited for before it could start. */
export function waitText(operations: Operations, operation: Operation): string {
  const { idleMs, on, sameStage } = operationWait(operations, operation);
  const copy = copyWaitText(operations, operation);
  if (copy !== null) return copy;
  if (on === null) return startText(operations);
  if (idleMs <= 0 || sameStage) return t('Starts right after the operation before it');
  return t('Waited {0} for the {1}', timeText(operations, idleMs), inSentence(operationName(operations, on)));
}

/** What is copied of an operation's activations, a text on each: after a forward they leave, before a backward they come back. */
export function copyTexts(operations: Operations, { stage, chunk, unitIndex }: Operation): string[] {
  return copiesOnStage(operations, stage)
    .filter((copy) => copy.chunk === chunk && copy.unit === unitIndex)
    .map(({ isBack, other, startMs, endMs }) => {
      const [length, start] = [timeText(operations, endMs - startMs), momentText(operations, startMs, endMs - startMs)];
      if (other === null)
        return isBack
          ? t('Activations copied back from the host: {0}, from {1}', length, start)
          : t('Activations copied to the host: {0}, from {1}', length, start);
      return isBack
        ? t('Activations copied back from stage {0}: {1}, from {2}', other, length, start)
        : t('Activations copied to stage {0}: {1}, from {2}', other, length, start);
    });
}

/** What a screen reader hears of an operation. */
export function spoken(operations: Operations, operation: Operation): string {
  return [
    operationName(operations, operation),
    unitText(operations, operation),
    t('{0} from {1}', timeText(operations, operation.endMs - operation.startMs), timeText(operations, operation.startMs)),
    waitText(operations, operation),
    ...copyTexts(operations, operation),
  ]
    .filter((text) => text !== null)
    .join('. ');
}

/** A stretch in which a stage does nothing, and why. */
interface IdleText {
  readonly startMs: number;
  readonly endMs: number;
  readonly cause: string;
}

/** The gap around a time on a stage that idles then, or null when it does not. */
export function idleAt(operations: Operations, stage: number, ms: number): IdleText | null {
  const gap = stageGaps(operations, stage).find(({ startMs, endMs }) => startMs <= ms && ms <= endMs);
  return gap === undefined ? null : { startMs: gap.startMs, endMs: gap.endMs, cause: causeText(operations, gap) };
}

function causeText(operations: Operations, { cause, row }: Gap): string {
  const copy = row === null ? null : waitedForCopy(operations, operationAt(operations, row));
  if (copy !== null)
    return copy.isBack ? t('Waits for offloaded activations to be copied back') : t('Waits for activations to be offloaded');
  const on = row === null ? null : operationWait(operations, operationAt(operations, row)).on;
  const what = on === null ? '' : inSentence(operationName(operations, on));
  switch (cause) {
    case 'warm-up':
      return t('Warm-up: waits for the {0}', what);
    case 'turn':
      return t('Forwards done: waits for the {0}', what);
    case 'drain':
      return t('Drain: done, other stages are not');
    case 'activation':
    case 'gradient':
      return t('Waits for the {0}', what);
  }
}

function inSentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

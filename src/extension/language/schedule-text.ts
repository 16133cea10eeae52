import { formatPercent, plural } from '../../core/format';
import { linkKind, waitedFor } from '../../core/schedules/simulate/critical-path';
import { indexParts, findRow } from '../../core/schedules/parts';
import { actionType, isPass } from '../../core/schedules/pytorch-csv/actions';
import { actionsAround, type LocatedAction } from '../../core/schedules/pytorch-csv/cells';
import type { OperationKind, Timeline } from '../../core/schedules/schedule';
import type { HoverText } from './explanation';
import type { SessionState } from '../../host/sessions/session-state';
import type { Translate } from '../../core/sentence';

/** The text of the lens over a schedule file; null while nothing is known of it. */
export function scheduleLensText({ schedule, staleEdits, error, findings }: SessionState, t: Translate): string | null {
  if (error !== null) {
    const errors = findings.filter(({ severity }) => severity === 'error').length;
    return t('Schedule does not run: {0}', plural(Math.max(1, errors), t('problem'), t('problems')));
  }
  if (schedule === null) return null;
  const { timeline, bubbleRate } = schedule;
  const ranks = plural(timeline.stages, t('rank'), t('ranks'));
  const steps = plural(timeline.makespanMs, t('step'), t('steps'));
  if (staleEdits > 0) return t('Before the last edits: {0}, {1} · bubble {2}', ranks, steps, formatPercent(bubbleRate));
  const batches = plural(timeline.units.length, t('micro-batch'), t('micro-batches'));
  return t('{0}, {1}, {2} · bubble {3}', ranks, batches, steps, formatPercent(bubbleRate));
}

/** What a cell of a schedule file does, when, and what it waited for; null between cells and while the schedule cannot run. */
export function scheduleHover({ schedule, staleEdits }: SessionState, text: string, offset: number, t: Translate): HoverText | null {
  const cell = actionsAround(text, offset);
  if (cell === null || schedule === null || staleEdits > 0) return null;
  const { timeline } = schedule;
  const [first, ...others] = cell.actions.map((action) => actionTexts(timeline, action, t));
  if (first === undefined) return null;
  return { range: cell.range, title: first[0] ?? '', lines: [...first.slice(1), ...others.flat()] };
}

/** Sentences about one action. */
function actionTexts(timeline: Timeline, action: LocatedAction, t: Translate): string[] {
  const { type, chunk, microBatch } = action;
  const rank = timeline.stageOfChunk[chunk] ?? 0;
  if (!isPass(type)) return [transferText(timeline, action, rank, t)];
  const row = findRow(timeline, indexParts(timeline), type as OperationKind, chunk, microBatch);
  const what = t('Rank {0} runs the {1} of stage {2}, micro-batch {3}', rank, passName(type, t), chunk, microBatch);
  return row < 0 ? [what] : [what, t('{0}, {1}', whenText(timeline, row, t), waitText(timeline, row, t))];
}

function passName(type: number, t: Translate): string {
  if (type === actionType.forward) return t('forward');
  if (type === actionType.backward) return t('backward');
  return type === actionType.backwardInput ? t('backward for inputs') : t('backward for weights');
}

function whenText({ startMs, endMs }: Timeline, row: number, t: Translate): string {
  const start = startMs[row] ?? 0;
  return t('Starts at step {0}, takes {1}', start, plural((endMs[row] ?? 0) - start, t('step'), t('steps')));
}

function waitText(timeline: Timeline, row: number, t: Translate): string {
  const { row: source, link } = waitedFor(timeline, indexParts(timeline), row);
  const rank = timeline.stageOfChunk[timeline.chunk[source] ?? 0] ?? 0;
  if (link === linkKind.activation) return t('waited for the activation from rank {0}', rank);
  if (link === linkKind.gradient) return t('waited for the gradient from rank {0}', rank);
  return link === linkKind.start ? t('waited for nothing') : t('right after the cell before it');
}

/** What a rank sends, receives or does to the weights of a stage. */
function transferText({ stageOfChunk }: Timeline, { type, chunk, microBatch }: LocatedAction, rank: number, t: Translate): string {
  const before = stageOfChunk[chunk - 1] ?? 0;
  const after = stageOfChunk[chunk + 1] ?? 0;
  switch (type) {
    case actionType.sendForward:
      return t('Rank {0} sends the activation of stage {1}, micro-batch {2} to rank {3}', rank, chunk, microBatch, after);
    case actionType.receiveForward:
      return t('Rank {0} receives the activation for stage {1}, micro-batch {2} from rank {3}', rank, chunk, microBatch, before);
    case actionType.sendBackward:
      return t('Rank {0} sends the gradient of stage {1}, micro-batch {2} to rank {3}', rank, chunk, microBatch, before);
    case actionType.receiveBackward:
      return t('Rank {0} receives the gradient for stage {1}, micro-batch {2} from rank {3}', rank, chunk, microBatch, after);
    case actionType.unshard:
      return t('Rank {0} gathers the weights of stage {1}', rank, chunk);
    case actionType.reshard:
      return t('Rank {0} gives back the gathered weights of stage {1}', rank, chunk);
    default:
      return t('Rank {0} reduces the gradients of stage {1} over the replicas', rank, chunk);
  }
}

import { changeJson, type JsonChange } from '../terapipe/change-json';
import type { ConfigFormat } from '../run/config-format';
import type { Run } from '../run/run';
import { ExpectedError } from '../errors';
import type { TextEdit } from '../findings';
import type { FoundPlan, SearchResult } from '../layout-search/result';
import { toPlanRequest } from '../layout-search/request-of';
import { evenStageContents } from '../partition/stages';
import { settingAt } from '../rules/settings';
import {
  decidedBySearch,
  editLauncher,
  requireEdited,
  requireWritable,
  writtenInto,
  type EditableFile,
  type EditedLauncher,
} from './launchers/edit-launcher';
import { launchSettingsOfFound, stepOfFound, type PlannedStep } from './launchers/launch-settings';
import { remarkLine, type Remark } from '../launchers/writing/remarks';
import { say, sentence } from '../sentence';
import { printable } from '../text';

/** A config changed to a layout that a search found. */
export interface AppliedLayout {
  readonly file: string;
  /** The text that `edits` are of, and the whole text with them made. */
  readonly before: string;
  readonly text: string;
  /** In ascending order, none touching another; empty: the file already has it. */
  readonly edits: readonly TextEdit[];
  /** What this kind of file has no place for, for the layout that it had before as for this one. */
  readonly remarks: readonly Remark[];
}

/** What is changed: a run, and the launcher's file that it was read from; null: it was read from none, or from one that is not edited. */
interface AppliedTo {
  readonly run: Run;
  readonly editable: EditableFile | null;
}

/**
 * A copy of a launcher's file with a plan written into it: everything else is as in the file, and a comment at the top lists what it has no
 * place for. @throws ExpectedError as `editLauncher`.
 */
export function editedCopy(step: PlannedStep, editable: EditableFile): EditedLauncher {
  const edited = editLauncher(step, editable);
  return { ...edited, text: headedFile(editable.launcher.format, edited.text, edited.gaps) };
}

/**
 * Writes a layout into the config that it was searched for: the values that differ, comments kept, nothing else changed.
 * @param launched the layout that the file has now, which shows what the file never sets; null: unknown.
 * @param startedElsewhere whether the number of GPUs may be left to whoever starts the file, and is a remark then.
 * @throws ExpectedError `apply-not-this-file` for files that are not edited, `apply-no-place` where the file cannot express the layout,
 * `apply-shared` where a value comes from a variable that others use, `export-unsound` where the file would not run as planned.
 */
export function applyLayout(
  { run, editable }: AppliedTo,
  result: SearchResult,
  found: FoundPlan,
  launched: FoundPlan | null,
  { startedElsewhere = false }: { readonly startedElsewhere?: boolean } = {},
): AppliedLayout {
  const { format } = run;
  if (format === 'terapipe') return intoJson(run, found, toPlanRequest(result.request, found).layout.stageLayers);
  if (editable === null) throw notThisFile(run);
  requireWritable(editable);
  const { launcher } = editable;
  const step = stepOfFound(result, found);
  const asked = decidedBySearch(step.plan, editable);
  const edited = writtenInto(step.plan, editable, asked);
  const never = launched === null ? [] : writtenInto(launchSettingsOfFound(result, launched), editable, asked).gaps;
  refuseGaps(edited, never, startedElsewhere);
  if (edited.alongside.length > 0)
    throw new ExpectedError(
      'apply-shared',
      sentence`The layout would change other settings too, since they take the same variable: ${edited.alongside.join('; ')}`,
      sentence`give them variables of their own first, or export the layout as a new file`,
    );
  requireEdited(step, edited, editable, asked);
  const { edits, text, gaps } = edited;
  return { file: launcher.file, before: launcher.text, text, edits, remarks: gaps };
}

/** What the layout needs and the file cannot express. What the file never sets, and what did not change, does not count. */
function refuseGaps({ gaps }: EditedLauncher, never: readonly Remark[], startedElsewhere: boolean): void {
  const [first] = gaps.filter(
    ({ what, isOfStart, isInput }) =>
      !(startedElsewhere && isOfStart === true) && isInput !== true && !never.some((gap) => say(gap.what) === say(what)),
  );
  if (first !== undefined)
    throw new ExpectedError(
      'apply-no-place',
      sentence`This file cannot set ${first.what}: ${first.reason}`,
      sentence`pick another layout, or export this one as a new file`,
    );
}

function notThisFile({ format }: Run): ExpectedError {
  if (format === 'huggingface' || format === 'onnx')
    return new ExpectedError(
      'apply-not-this-file',
      sentence`A model does not define a layout`,
      sentence`create a terapipe.json for it first`,
    );
  return new ExpectedError(
    'apply-not-this-file',
    sentence`Files of this launcher are not edited`,
    sentence`export the layout as a new file`,
  );
}

/** Sizes that are 1 by default are written where they are more, or where the file already sets them. */
function intoJson(run: Run, { point }: FoundPlan, stageLayers: readonly number[] | undefined): AppliedLayout {
  const before = run.texts?.get(run.file) ?? '';
  const { layout, training, schedule } = point;
  const full = training.recompute === 'full' ? training.recomputeLayers : undefined;
  const modules = training.recompute === 'selective' ? training.recomputeModules : undefined;
  const wanted: readonly (readonly [key: string, value: JsonChange['value'], silent?: JsonChange['value']])[] = [
    ...(['tensor', 'pipeline', 'data'] as const).map((name) => [`layout.${name}`, layout[name]] as const),
    ...(['context', 'expert', 'virtualStages'] as const).map((name) => [`layout.${name}`, layout[name], 1] as const),
    ['layout.expertTensor', layout.expertTensor ?? layout.tensor, layout.tensor],
    ['layout.order', layout.order, undefined],
    ['layout.stageLayers', isEven(run, stageLayers) ? undefined : stageLayers, undefined],
    ['training.microBatch', training.microBatch],
    ['training.recompute', training.recompute],
    ['training.recomputeLayers', full, undefined],
    ['training.recomputeGroup', training.recompute === 'full' ? training.recomputeGroup : undefined, undefined],
    ['training.recomputeModules', modules, undefined],
    ['training.zeroStage', training.zeroStage],
    ['training.dataReplicate', training.dataReplicate ?? 1, 1],
    ['training.offloadOptimizer', training.offloadOptimizer === true, false],
    ['training.sequenceParallel', training.sequenceParallel],
    ['training.contextParallelComm', layout.context > 1 ? training.contextParallelComm : undefined, undefined],
    ['schedule', schedule],
  ];
  const changes = wanted
    .filter(([key, value, ...silent]) => silent.length === 0 || value !== silent[0] || settingAt(run, key) !== undefined)
    .filter(([key, value]) => JSON.stringify(settingAt(run, key)?.value) !== JSON.stringify(value))
    .map(([key, value]): JsonChange => ({ path: key.split('.'), value }));
  const change = changeJson(before, changes);
  if (change === null) return { file: run.file, before, text: before, edits: [], remarks: [] };
  const { start, end, newText } = change;
  return {
    file: run.file,
    before,
    remarks: [],
    text: before.slice(0, start) + newText + before.slice(end),
    edits: [{ place: { file: run.file, range: { start, end } }, newText }],
  };
}

/** Whether layers are cut as they are by default. */
function isEven({ model }: Run, stageLayers: readonly number[] | undefined): boolean {
  if (stageLayers === undefined) return true;
  if (model.encoderLayers.value !== null) return false;
  return evenStageContents(model.layers.value, stageLayers.length).every(({ layers }, stage) => layers === stageLayers[stage]);
}

/** Formats whose files have no comments that all their readers take. */
const withoutComments: readonly ConfigFormat[] = ['deepspeed', 'terapipe', 'huggingface', 'onnx'];

/**
 * A file with a comment at its top for each thing that a layout needs and the file does not have, in place of comments that were
 * written there before; a byte order mark and a first line `#!` stay first.
 */
export function headedFile(format: ConfigFormat, text: string, gaps: readonly Remark[]): string {
  if (withoutComments.includes(format)) return text;
  const [first = ''] = /^\uFEFF?(?:#!.*\r?\n)?/.exec(text) ?? [];
  const rest = text.slice(first.length).replace(/^(?:# TeraPipe, (?:input|note|not written): .*\r?\n)+/, '');
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = gaps.map((gap) => `# TeraPipe, ${headerMark(gap)}${printable(say(remarkLine(gap)))}${lineBreak}`).join('');
  return first + lines + rest;
}

/** What a comment begins with, so that it is known again; a remark that is not a whole sentence begins with "not written" itself. */
function headerMark({ isInput, isWhole }: Remark): string {
  return isInput === true ? 'input: ' : isWhole === true ? 'note: ' : '';
}

import { countOf } from '../../launchers/counts';
import { memoized } from '../../records';
import { isEditable, launcherTraits, launchers } from '../../launchers/registry';
import type { Editor, Syntax } from '../../launchers/writing/editor';
import type { Fact, FactName, Facts, LauncherFile, LauncherReader } from '../../run/facts';
import { ExpectedError } from '../../errors';
import type { TextEdit } from '../../findings';
import { quoted } from '../../text';
import { editsBetween } from '../line-diff';
import type { PlannedStep } from './launch-settings';
import type { LaunchSettings } from '../../launchers/writing/launch-settings';
import type { Remark } from '../../launchers/writing/remarks';
import { otherModelWhat, requireAsPlanned, carriedPlanSettings } from './planned-again';
import {
  isStartFact,
  never,
  type SettingEdit,
  type PlanSetting,
  type Alternative,
  type DesiredSetting,
} from '../../launchers/writing/desired-setting';
import { listOf, sentence, type Sentence } from '../../sentence';

/** A launcher's file changed to match a plan. */
export interface EditedLauncher {
  /** In ascending order, none touching another. */
  readonly edits: readonly TextEdit[];
  /** The whole text with the edits made. */
  readonly text: string;
  /** What the file newly sets. */
  readonly set: readonly Sentence[];
  /** What it already had. */
  readonly kept: readonly Sentence[];
  /** What it cannot express, or not by edits, and why. */
  readonly gaps: readonly Remark[];
  /** Other settings whose value changed with those, because they take the same variable or key. */
  readonly alongside: readonly string[];
}

/** A launcher's file that plans can be written into. */
export interface EditableFile {
  readonly launcher: LauncherFile;
  /** The reader that gave `launcher`. */
  readonly read: LauncherReader;
  readonly editor: Editor;
}

/** A launcher's file with its editor; null: files of its launcher are not edited. */
export async function editableFile(launcher: LauncherFile, read: LauncherReader): Promise<EditableFile | null> {
  const editor = isEditable(launcher.format) ? await launchers[launcher.format].editor?.() : undefined;
  return editor === undefined ? null : { launcher, read, editor };
}

/** @throws ExpectedError `apply-not-this-file` for a file that no layout is written into. */
export function requireWritable({ launcher, editor }: EditableFile): void {
  const why = editor.refuses?.(launcher) ?? null;
  if (why !== null) throw new ExpectedError('apply-not-this-file', why, sentence`export the layout as a new file`, launcher.place);
}

/** The same syntax, which looks for open settings once in each text. */
function searchedOnce({ open, ...others }: Syntax): Syntax {
  const known = new WeakMap<LauncherFile, ReadonlyMap<FactName, string>>();
  return { ...others, open: (launcher) => memoized(known, launcher, () => open(launcher)) };
}

/** Which settings of a plan are written. */
type SettingFilter = (setting: DesiredSetting) => boolean;

/** Settings that set one of these. */
export function thatSet(names: ReadonlySet<PlanSetting>): SettingFilter {
  return (setting) => carriedPlanSettings(setting).some((name) => names.has(name));
}

/**
 * What a search decides of a file: neither lengths and batches that only a run knows, nor whether states are sharded over the one replica
 * that there is.
 */
export function decidedBySearch({ model, data, context }: LaunchSettings, { launcher, editor }: EditableFile): SettingFilter {
  const { facts } = launcher;
  const open = editor.syntax.open(launcher);
  const left: FactName[] = (['sequenceLength', 'maxPositions', 'globalBatch'] as const).filter(
    (name) => open.has(name) && facts[name]?.source.kind !== 'file',
  );
  const stage = countOf(facts, 'zeroStage') ?? (facts.zeroStage === undefined ? 0 : null);
  if (data * context === 1 && model.experts === null && stage !== null && stage <= 1) left.push('zeroStage', 'overlapParamGather');
  return (setting) => !setting.facts.some((fact) => left.includes(fact));
}

/** The settings of a plan that are written. */
function settingsAbout(
  plan: LaunchSettings,
  { launcher: { format, program }, editor }: EditableFile,
  asked: SettingFilter,
): readonly DesiredSetting[] {
  return editor.settings(plan, { traits: launcherTraits(format), ...(program && { program }) }).filter(asked);
}

/**
 * Writes a plan into the text of a launcher's file: the fewest settings, each where it is (in the variable that a flag takes), comments and
 * layout kept. Every change is read back before the next, and one that does not give what it should, or undoes another, is not made but
 * reported.
 * @throws ExpectedError as `requireWritable`, and `export-unsound` where the changed file has an error that it did not have, or would not
 * run as planned.
 */
export function editLauncher(step: PlannedStep, editable: EditableFile): EditedLauncher {
  requireWritable(editable);
  const edited = writtenInto(step.plan, editable);
  requireEdited(step, edited, editable);
  return edited;
}

/** Throws unless the edited file runs as planned. @throws ExpectedError `export-unsound`. */
export function requireEdited(
  step: PlannedStep,
  { edits, text, gaps }: EditedLauncher,
  editable: EditableFile,
  asked: SettingFilter = () => true,
): void {
  const { launcher: before, read } = editable;
  const launcher = edits.length === 0 ? before : read(before.file, text);
  const settings = settingsAbout(step.plan, editable, asked);
  requireAsPlanned(step, { launcher, settings, gaps, before, isWholeModel: false });
}

/**
 * As `editLauncher`, without checking the result.
 * @param asked the settings of the plan that are written; left out: all.
 */
export function writtenInto(plan: LaunchSettings, editable: EditableFile, asked: SettingFilter = () => true): EditedLauncher {
  const { launcher, read, editor } = editable;
  const syntax = searchedOnce(editor.syntax);
  const settings = settingsAbout(plan, editable, asked);
  const [set, kept, gaps]: [Sentence[], Sentence[], Remark[]] = [[], [], otherModel(plan, launcher.facts)];
  const met: DesiredSetting[] = [];
  let current = launcher;
  for (const setting of settings) {
    if (isMet(syntax, current, setting)) {
      kept.push(setting.what);
      met.push(setting);
      continue;
    }
    const next = fulfilled({ syntax, read, met }, current, setting);
    if (next === null)
      gaps.push({ what: setting.what, reason: reasonFor(syntax, current, setting), ...(isOfStart(setting) ? { isOfStart: true } : {}) });
    else {
      set.push(setting.what);
      met.push(setting);
      current = next;
    }
  }
  const { file, text } = launcher;
  return {
    edits: editsBetween(file, text, current.text),
    text: current.text,
    set,
    kept,
    gaps: [...gaps, ...(syntax.inputs?.(launcher, current) ?? [])],
    alongside: alongside(launcher.facts, current.facts, settings),
  };
}

/** Whether a setting is the number of nodes or GPUs, which whoever starts a run may set. */
function isOfStart({ facts }: DesiredSetting): boolean {
  return facts.some(isStartFact);
}

function isMet(syntax: Syntax, launcher: LauncherFile, setting: DesiredSetting): boolean {
  if (!setting.isMet(launcher.facts, launcher.text)) return false;
  const open = setting.facts.length === 0 ? null : syntax.open(launcher);
  return open === null || !setting.facts.some((fact) => open.has(fact) && launcher.facts[fact]?.source.kind !== 'file');
}

/** A plan of another model than the file's: what is written is for the plan's. */
function otherModel({ model }: LaunchSettings, facts: Facts): Remark[] {
  const sizes = (['layers', 'hidden', 'heads'] as const).flatMap((name) => {
    const given = facts[name];
    const planned = name === 'layers' && facts.encoderLayers !== undefined ? (model.stacks?.encoderLayers ?? model.layers) : model[name];
    return given === undefined || given.value === planned ? [] : [sentence`${name} ${given.value} in the file and ${planned} in the plan`];
  });
  const isAlike = (facts.encoderLayers === undefined) === (model.stacks === undefined);
  if (isAlike && sizes.length === 0) return [];
  const reason = isAlike
    ? sentence`${listOf(sizes)}; sizes of the model are left as they are`
    : facts.encoderLayers === undefined
      ? sentence`the file is of a decoder, the plan of an encoder-decoder`
      : sentence`the file is of an encoder-decoder, the plan of a decoder`;
  return [{ what: otherModelWhat, reason }];
}

interface Work {
  readonly syntax: Syntax;
  readonly read: LauncherReader;
  /** Settings that must stay met. */
  readonly met: readonly DesiredSetting[];
}

function fulfilled(work: Work, launcher: LauncherFile, setting: DesiredSetting): LauncherFile | null {
  for (const alternative of setting.alternatives(launcher.facts)) {
    const next = written(work, launcher, alternative, setting);
    if (next !== null) return next;
  }
  return null;
}

/** Makes all edits of an alternative in turn. Where an edit can be made in several ways, takes the first with which the rest works. */
function written(work: Work, launcher: LauncherFile, alternative: Alternative, setting: DesiredSetting): LauncherFile | null {
  const [edit, ...rest] = alternative;
  const { syntax, met } = work;
  if (edit === undefined) return isMet(syntax, launcher, setting) && met.every((other) => isMet(syntax, launcher, other)) ? launcher : null;
  for (const text of textsFor(work, launcher, edit)) {
    const next = text === launcher.text ? launcher : readBack(work.read, launcher, text);
    const done = next === null ? null : written(work, next, rest, setting);
    if (done !== null) return done;
  }
  return null;
}

function textsFor({ syntax }: Work, launcher: LauncherFile, edit: SettingEdit): readonly string[] {
  const fact: Fact<unknown> | undefined = launcher.facts[edit.fact];
  const isThere = fact?.source.kind === 'file';
  if (isThere && JSON.stringify(fact.value) === JSON.stringify(edit.value)) return [launcher.text];
  return syntax.edit(launcher, edit);
}

/** Null where the file would no longer be read. */
function readBack(read: LauncherReader, before: LauncherFile, text: string): LauncherFile | null {
  try {
    const launcher = read(before.file, text);
    const errors = ({ remarks }: LauncherFile): number => remarks.filter(({ severity }) => severity === 'error').length;
    return errors(launcher) > errors(before) ? null : launcher;
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function reasonFor(syntax: Syntax, launcher: LauncherFile, setting: DesiredSetting): Sentence {
  const open = setting.facts.length === 0 ? new Map<FactName, string>() : syntax.open(launcher);
  const written = setting.facts.map((fact) => open.get(fact)).find((found) => found !== undefined);
  if (setting.reason === never && setting.facts.some((fact) => launcher.facts[fact]?.isConditional === true))
    return sentence`it is set under a condition that is known only when the file runs; edit it yourself`;
  return written === undefined ? setting.reason : sentence`the file leaves it open as ${quoted(written)}; fill it in so`;
}

function alongside(before: Facts, after: Facts, settings: readonly DesiredSetting[]): readonly string[] {
  const asked = new Set(settings.flatMap(({ facts }) => facts));
  const askedNames = new Set([...asked].map((fact) => before[fact]?.name));
  return (Object.keys(before) as FactName[]).flatMap((name) => {
    const [old, now]: (Fact<unknown> | undefined)[] = [before[name], after[name]];
    if (
      asked.has(name) ||
      askedNames.has(old?.name) ||
      old?.source.kind !== 'file' ||
      now === undefined ||
      JSON.stringify(old.value) === JSON.stringify(now.value)
    )
      return [];
    return [`${old.name ?? name}: ${JSON.stringify(old.value)} becomes ${JSON.stringify(now.value)}`];
  });
}

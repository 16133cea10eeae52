import type { FactName, LauncherReader } from '../../run/facts';
import { ExpectedError } from '../../errors';
import { runtimeProfile, type Runtime } from '../../domain/runtime';
import { launchers } from '../../launchers/registry';
import type { LauncherFormat } from '../../run/config-format';
import { newFile, type SettingEdit, type Alternative, type DesiredSetting } from '../../launchers/writing/desired-setting';
import type { Carried, NewFile } from '../../launchers/writing/editor';
import type { LaunchSettings } from '../../launchers/writing/launch-settings';
import type { ModelGap, Remark } from '../../launchers/writing/remarks';
import { sentence } from '../../sentence';
import type { PlannedStep } from './launch-settings';
import { requireAsPlanned } from './planned-again';

/** A launcher's file made of a plan. */
export interface NewLauncher {
  readonly text: string;
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  readonly gaps: readonly Remark[];
  /** Those of them about the model. */
  readonly modelGaps: readonly ModelGap[];
}

/** How new files of one launcher are written. */
export interface NewFileWriter extends NewFile {
  readonly settings: (plan: LaunchSettings) => readonly DesiredSetting[];
  /** What runs the file. */
  readonly runtime: Runtime;
}

/** How new files of a launcher are written. @throws Error for a launcher without new files. */
export async function newFileWriter(format: LauncherFormat): Promise<NewFileWriter> {
  const { traits, editor } = launchers[format];
  const { settings, newFile: file } = (await editor?.()) ?? {};
  if (settings === undefined || file === undefined) throw new Error(`no new files of ${format} are written`);
  return { ...file, settings: (plan) => settings(plan, { traits }), runtime: traits.runtime };
}

/**
 * Sizes are written for the reader even if they are the launcher's defaults; these are not, since older versions do not know them.
 */
const leftOut: readonly FactName[] = ['sequenceParallel', 'maxPositions'];

/**
 * A new launcher file that runs the plan; read back it gives the same layout.
 * @throws ExpectedError `export-encoder-decoder`, `export-adapters`.
 */
export function newLauncher(plan: LaunchSettings, writer: NewFileWriter): NewLauncher {
  if (plan.model.stacks !== undefined)
    throw new ExpectedError(
      'export-encoder-decoder',
      sentence`New launcher files are written for decoders, and this model has an encoder too`,
      sentence`edit the file that launches it (--into FILE), or export the plan as a page (--to html)`,
    );
  if (plan.trainsAdapters === true)
    throw new ExpectedError(
      'export-adapters',
      sentence`New launcher files train all weights, and this run trains adapters`,
      sentence`edit the file that launches it (--into FILE), or export the plan as a page (--to html)`,
    );
  const settings = writer.settings(plan);
  const { fileName, sets = [], lacks, write, runtime } = writer;
  const edits = settings
    .filter(({ facts, isMet }) => !isMet(newFile, '') || !facts.some((fact) => leftOut.includes(fact)))
    .flatMap((setting) => firstSpelledAlternative(setting, writer) ?? [])
    .filter(({ value }) => value !== undefined);
  const isWritten = (setting: DesiredSetting): boolean =>
    firstSpelledAlternative(setting, writer) !== null || setting.isMet(newFile, '') || setting.facts.some((fact) => sets.includes(fact));
  const gaps = settings.filter((setting) => !isWritten(setting)).map(({ what, reason }) => ({ what, reason }));
  const otherModel = lacks(plan);
  const missing = otherModel.map(({ what, reason, severity }): Remark => ({
    what,
    reason,
    isWhole: true,
    ...(severity === 'error' ? { isOtherModel: true } : {}),
  }));
  const carried = carriedBy(plan, writer);
  const replaced = plan.replaced === undefined ? [] : [plan.replaced];
  const all = [...replaced, ...missing, ...predictedFor(plan, runtime), ...gaps, ...notCarried(plan, carried)];
  return { text: write(plan, edits, all, carried), fileName, gaps: all, modelGaps: otherModel };
}

/** That step and memory were predicted for another runtime than the one that runs the file. */
function predictedFor(plan: LaunchSettings, runtime: Runtime): readonly Remark[] {
  const planned = runtimeProfile(plan);
  if (planned.id === runtime) return [];
  const [from, into] = [planned.shortName, runtimeProfile({ runtime }).shortName];
  const reason = sentence`predicted for ${from}, but ${into} runs this file: plan it to see its own step and memory`;
  return [{ what: sentence`the prediction for ${from}`, reason, isWhole: true }];
}

/** What a new file takes over from the file of the planned run. */
function carriedBy(plan: LaunchSettings, { carries }: NewFile): Carried {
  const { source } = plan;
  if (source === undefined || source.settings === null) return { values: new Map(), left: [] };
  const { settings } = source;
  const left = settings.filter(({ isPlanned }) => !isPlanned).map(({ name, words }) => [name, ...(words ?? [])].join(' '));
  return carries?.({ ...source, settings }, plan) ?? { values: new Map(), left };
}

/** Settings of the planned run's file that a new one does not have. */
function notCarried({ source }: LaunchSettings, { left }: Carried): readonly Remark[] {
  if (source === undefined) return [];
  const what = sentence`other settings of ${source.file.slice(source.file.lastIndexOf('/') + 1)}`;
  if (source.settings === null)
    return [{ what, reason: sentence`learning rate, data and checkpoints of this kind of file are not taken over; write them yourself` }];
  return left.length === 0 ? [] : [{ what, reason: sentence`${left.join(', ')}: this launcher has no counterpart that is written` }];
}

/**
 * As `newLauncher`, of a planned step, read back and planned again before it is offered.
 * @param read the reader of the format.
 * @throws ExpectedError `export-unsound` where the file would not run as planned, and as `newLauncher`.
 */
export function checkedNewLauncher(step: PlannedStep, writer: NewFileWriter, read: LauncherReader): NewLauncher {
  const made = newLauncher(step.plan, writer);
  const settings = writer.settings(step.plan);
  // no step depends on the other fields of a model
  const isUntimed = (field: string): boolean => /^(details|rotary)\.|^normEpsilon$/.test(field);
  const isWholeModel = made.modelGaps.every(({ fields }) => fields.every(isUntimed));
  requireAsPlanned(step, { launcher: read(made.fileName, made.text), settings, gaps: made.gaps, before: null, isWholeModel });
  return made;
}

/** The first way for which the format has words; null: there is none. */
function firstSpelledAlternative({ alternatives: ways }: DesiredSetting, { keys, takesFlags }: NewFile): Alternative | null {
  const isSpelled = ({ fact, value, flag }: SettingEdit): boolean =>
    value === undefined ||
    value === false ||
    fact === 'precision' ||
    Object.hasOwn(keys, fact) ||
    (flag !== undefined && takesFlags === true);
  return ways(newFile).find((alternative) => alternative.every(isSpelled)) ?? null;
}

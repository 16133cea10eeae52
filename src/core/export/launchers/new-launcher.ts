import type { FactName, LauncherReader } from '../../run/facts';
import { ExpectedError } from '../../errors';
import { editors, type NewFormat } from '../../launchers/editors';
import { modelGaps } from '../../launchers/megatron/model-flags';
import { newFile, type SettingEdit, type Alternative, type DesiredSetting } from '../../launchers/writing/desired-setting';
import type { NewFile } from '../../launchers/writing/editor';
import type { LaunchSettings, Remark } from '../../launchers/writing/launch-settings';
import { listOf, sentence } from '../../sentence';
import type { PlannedStep } from './launch-settings';
import { partsOfModel, requireAsPlanned } from './planned-again';

/** A launcher's file made of a plan. */
export interface NewLauncher {
  readonly text: string;
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  readonly gaps: readonly Remark[];
}

/**
 * Sizes are written for the reader even if they are the launcher's defaults; these are not, since older versions do not know them.
 */
const leftOut: readonly FactName[] = ['sequenceParallel', 'maxPositions'];

/**
 * A new launcher file that runs the plan; read back it gives the same layout.
 * @throws ExpectedError `export-encoder-decoder`, `export-adapters`.
 */
export function newLauncher(plan: LaunchSettings, format: NewFormat): NewLauncher {
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
  const settings = editors[format].settings(plan);
  const { fileName, write } = editors[format].newFile;
  const edits = settings
    .filter(({ facts, isMet }) => !isMet(newFile, '') || !facts.some((fact) => leftOut.includes(fact)))
    .flatMap((setting) => alternativeOf(setting, format) ?? [])
    .filter(({ value }) => value !== undefined);
  const isWritten = (setting: DesiredSetting): boolean =>
    alternativeOf(setting, format) !== null ||
    setting.isMet(newFile, '') ||
    (format === 'megatron-shell' && setting.facts.includes('nodes'));
  const gaps = settings.filter((setting) => !isWritten(setting)).map(({ what, reason }) => ({ what, reason }));
  const model = format === 'megatron-shell' ? modelGaps(plan.model) : [];
  const missing = model.length === 0 ? [] : [{ what: partsOfModel, reason: sentence`Megatron-LM's flags leave out ${listOf(model)}` }];
  const all = [...(plan.replaced === undefined ? [] : [plan.replaced]), ...missing, ...gaps];
  return { text: write(plan, edits, all), fileName, gaps: all };
}

/**
 * As `newLauncher`, of a planned step, read back and planned again before it is offered.
 * @param read the reader of the format.
 * @throws ExpectedError `export-unsound` where the file would not run as planned, and as `newLauncher`.
 */
export function checkedNewLauncher(step: PlannedStep, format: NewFormat, read: LauncherReader): NewLauncher {
  const made = newLauncher(step.plan, format);
  const settings = editors[format].settings(step.plan);
  requireAsPlanned(step, { launcher: read(made.fileName, made.text), format, settings, gaps: made.gaps, before: null });
  return made;
}

/** The first way for which the format has words; null: there is none. */
function alternativeOf({ alternatives: ways }: DesiredSetting, format: NewFormat): Alternative | null {
  const { keys }: NewFile = editors[format].newFile;
  const isSpelled = ({ fact, value, flag }: SettingEdit): boolean =>
    value === undefined || value === false || fact === 'precision' || fact in keys || (flag !== undefined && format === 'megatron-shell');
  return ways(newFile).find((alternative) => alternative.every(isSpelled)) ?? null;
}

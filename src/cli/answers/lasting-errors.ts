import type { LoadedConfig } from '../../core/config-files/load-config';
import { decidedBySearch, editableFile, writtenInto, type EditableFile } from '../../core/export/launchers/edit-launcher';
import { stepOfFound } from '../../core/export/launchers/launch-settings';
import { judgedFindings } from '../../core/export/planned-config';
import { settingsOfFound, type PlanSettings } from '../../core/export/settings-of-plan';
import { startErrors, type Finding } from '../../core/findings';
import type { SearchResult } from '../../core/layout-search/result';
import { assumedGpuName } from '../../core/plan-request/scenario';
import { runFindings } from '../../core/rules/run-findings';
import type { Run } from '../../core/run/run';
import { applyOverrides, settingTexts } from '../../core/terapipe/overrides';

/** Reads a changed text of a config's own file, with what it refers to. */
export type ReadChanged = (text: string) => Promise<Pick<LoadedConfig, 'findings'>>;

/**
 * Errors for which a config does not start, and which it still has on the best layout of a search. A launcher's file is judged with that
 * layout written into it; one that is not edited, and any other config, as a run on it.
 */
export async function lastingErrors(
  config: LoadedConfig,
  run: Run,
  result: SearchResult,
  { own, readChanged }: { readonly own: PlanSettings; readonly readChanged: ReadChanged },
): Promise<readonly Finding[]> {
  const errors = startErrors(judgedFindings(config, run, null));
  if (errors.length === 0) return errors;
  const { launcher, reread } = config;
  const editable = launcher === null || reread === null ? null : await editableFile(launcher, reread);
  if (editable !== null) {
    const { findings } = await readChanged(withBest(editable, result));
    return alsoAmong(errors, judgedFindings({ ...config, findings }, run, null));
  }
  const best = applyOverrides(run, settingTexts(Object.entries(settingsOfFound(result, result.best, own))), assumedGpuName);
  if (launcher === null) return alsoAmong(errors, judgedFindings(config, best, null));
  // rules of a run see less than those of a launcher's file: what they never found, no layout is known to fix
  const [before, after] = [run, best].map((each) => runFindings(each, null));
  return errors.filter((error) => alsoAmong([error], before ?? []).length === 0 || alsoAmong([error], after ?? []).length > 0);
}

/** The file's text with the best layout, as far as it has a place for it. */
function withBest(editable: EditableFile, result: SearchResult): string {
  const { plan } = stepOfFound(result, result.best);
  return writtenInto(plan, editable, decidedBySearch(plan, editable)).text;
}

/** Of errors that a config has later those that it had before. */
function alsoAmong(before: readonly Finding[], later: readonly Finding[]): readonly Finding[] {
  const codes = new Set(before.map(({ code }) => code));
  return startErrors(later).filter(({ code }) => codes.has(code));
}

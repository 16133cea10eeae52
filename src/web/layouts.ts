import { CancelledError } from '../core/errors';
import { applyLayout } from '../core/export/apply-layout';
import { exportMenu } from '../core/export/export-menu';
import { planHtml } from '../core/export/html/report';
import { editableFile } from '../core/export/launchers/edit-launcher';
import { formatDuration } from '../core/format';
import { listPlans } from '../core/layout-search/plans';
import { toPlanRequest } from '../core/layout-search/request-of';
import { remarkLine } from '../core/launchers/writing/remarks';
import type { LauncherFormat } from '../core/run/config-format';
import { own } from '../core/records';
import { checkpointRemedy, checkpointText, foundCheckpoint } from '../core/rules/plan/checkpoint-findings';
import type { LauncherReader } from '../core/run/facts';
import { say } from '../core/sentence';
import { launcherText, type PickedLayout } from '../host/launcher-text';
import type { PlannerClient } from '../host/planner/client';
import { outdated } from '../host/sessions/layout-search';
import type { LayoutSearches } from '../host/sessions/layout-searches';
import type { SessionState } from '../host/sessions/session-state';
import type { LayoutPoint } from '../protocol/layout';
import { choose } from './choose';
import { download } from './download';
import type { WebFiles } from './files';

/** Endings of files by VS Code's names of their languages, where they differ. */
const endings: Readonly<Record<string, string>> = { shellscript: 'sh' };

interface LayoutContext {
  readonly layouts: LayoutSearches;
  readonly files: WebFiles;
  readonly plan: PlannerClient['plan'];
  readonly shell: () => Promise<LauncherReader>;
}

/**
 * Writes a found layout into the config, as one edit that can be undone.
 * @returns what it brings, and which settings the file has no place for. @throws ExpectedError as `applyLayout`; `layout-outdated`.
 */
export async function applyFound({ layouts, files }: LayoutContext, state: SessionState, point: LayoutPoint | null): Promise<string> {
  const { result, found } = picked(layouts, state.file, point);
  const { run, launcher, reread } = state;
  if (run === null || state.staleEdits > 0) throw outdated();
  const editable = launcher === null || reread === null ? null : await editableFile(launcher, reread);
  const { edits, remarks } = applyLayout({ run, editable }, result, found, result.launched);
  if (edits.length === 0) return 'The file already has this layout.';
  files.edit(edits);
  const left = remarks.map(({ what, reason }) => `${say(what)}: ${say(reason)}`).join('; ');
  const checkpoint = foundCheckpoint({ launcher }, run, toPlanRequest(result.request, found));
  return [
    `${formatDuration(found.iterationMs)} per step with this layout, written into the file.`,
    ...(left === '' ? [] : [`Left to you: ${left}.`]),
    ...(checkpoint === null ? [] : [`${say(checkpointText(checkpoint))}; ${say(checkpointRemedy(checkpoint))}.`]),
  ].join(' ');
}

/** Saves a found layout as a new file of a launcher that is asked for, or as a report. @throws ExpectedError as `launcherText`. */
export async function exportFound(
  { layouts, plan, shell }: LayoutContext,
  state: SessionState,
  point: LayoutPoint | null,
): Promise<string | null> {
  const { result, found } = picked(layouts, state.file, point);
  const { launchers } = exportMenu(state.launcher?.format ?? null, null);
  const target = await choose<LauncherFormat | 'html'>('Export layout', [
    ...launchers.map(({ format, name, what }) => ({ label: name, what: say(what), value: format })),
    { label: 'Report', what: 'one HTML page to send around', value: 'html' as const },
  ]);
  if (target === null) throw new CancelledError();
  if (target === 'html') {
    const whole = await plan(toPlanRequest(result.request, found));
    download(`${whole.request.title} plan.html`, 'text/html', planHtml(whole, []));
    return null;
  }
  const { text, gaps } = await launcherText(state, { picked: { result, found } }, target, shell);
  const { language = '' } = launchers.find(({ format }) => format === target) ?? {};
  download(`layout.${own(endings, language) ?? language}`, 'text/plain', text);
  return gaps.length === 0 ? null : `This launcher does not support all of it. ${gaps.map((gap) => say(remarkLine(gap))).join('; ')}.`;
}

/** The layout of a point of the last answer, else its best. @throws ExpectedError `layout-outdated`. */
function picked(layouts: LayoutSearches, file: string, point: LayoutPoint | null): PickedLayout {
  const answer = layouts.state(file)?.answer ?? null;
  if (answer === null || (point !== null && point.answer !== answer.id)) throw outdated();
  const found = point === null ? answer.result.best : listPlans(answer.result)[point.index]?.plan;
  if (found === undefined) throw outdated();
  return { result: answer.result, found };
}

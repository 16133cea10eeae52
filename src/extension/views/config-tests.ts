import * as vscode from 'vscode';
import { findingOfError, isOfAnotherKind, startErrors, type Finding } from '../../core/findings';
import { mayFit } from '../../core/memory-model/verdict';
import { say } from '../../core/sentence';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import { toRange } from '../language/ranges';
import { findConfigs, type FoundConfig } from '../sessions/find-configs';
import { displayPath } from '../sessions/sources';
import { memoryText, planSummary, planText } from '../../host/plan-summary';

/**
 * Every config of the workspace as tests of VS Code: its launcher starts it, and it fits. They appear with the first config that is
 * planned, since VS Code shows its view of tests in every workspace that has some.
 */
export function registerConfigTests(
  sessions: PlanSessions,
  log: vscode.LogOutputChannel,
  onError: (error: unknown) => void,
): vscode.Disposable {
  let tests: vscode.Disposable | null = null;
  const first = sessions.onDidChange(() => {
    tests ??= createConfigTests(sessions, log, onError);
    first.dispose();
  });
  return new vscode.Disposable(() => {
    first.dispose();
    tests?.dispose();
  });
}

function createConfigTests(sessions: PlanSessions, log: vscode.LogOutputChannel, onError: (error: unknown) => void): vscode.Disposable {
  const controller = vscode.tests.createTestController('terapipe.configs', 'TeraPipe');
  const formats = new Map<string, FoundConfig['format']>();
  const find = async (token?: vscode.CancellationToken): Promise<void> => {
    const found = await findConfigs(log, token);
    if (token?.isCancellationRequested === true) return;
    formats.clear();
    for (const { file, format } of found) formats.set(file, format);
    controller.items.replace(found.map(({ file }) => toItem(controller, file)));
  };
  controller.resolveHandler = (item) => (item === undefined ? find() : undefined);
  controller.refreshHandler = find;
  const runAll = async (request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> => {
    if (formats.size === 0) await find(token);
    const run = controller.createTestRun(request);
    try {
      for (const config of askedConfigs(controller, request)) {
        const format = formats.get(config.id);
        if (token.isCancellationRequested) break;
        if (format === undefined) continue;
        const startedMs = performance.now();
        config.children.forEach((test) => run.started(test));
        // An edit of a moment ago may not be planned yet.
        const state = await (sessions.get(config.id) === undefined ? sessions.ensure(config.id, format) : sessions.replan(config.id));
        report(run, config, state, performance.now() - startedMs);
      }
    } finally {
      run.end();
    }
  };
  /** Until the token ends it, again for the configs that read what is saved. */
  const follow = (request: vscode.TestRunRequest, token: vscode.CancellationToken): void => {
    const saved = vscode.workspace.onDidSaveTextDocument(({ uri }) => {
      const changed = askedConfigs(controller, request).filter(({ id }) => sessions.reads(id).has(uri.toString()));
      if (changed.length > 0) runAll(new vscode.TestRunRequest(changed, request.exclude, request.profile), token).catch(onError);
    });
    token.onCancellationRequested(() => {
      saved.dispose();
    });
  };
  controller.createRunProfile(
    vscode.l10n.t('Check'),
    vscode.TestRunProfileKind.Run,
    async (request, token) => {
      if (request.continuous === true) follow(request, token);
      else await runAll(request, token);
    },
    true,
    undefined,
    true,
  );
  return new vscode.Disposable(() => controller.dispose());
}

function toItem(controller: vscode.TestController, file: string): vscode.TestItem {
  const uri = vscode.Uri.parse(file);
  const item = controller.createTestItem(file, displayPath(file), uri);
  item.children.replace([
    controller.createTestItem(`${file}#starts`, vscode.l10n.t('starts'), uri),
    controller.createTestItem(`${file}#fits`, vscode.l10n.t('fits'), uri),
  ]);
  return item;
}

/** The configs of a request, including those with a single requested test. */
function askedConfigs({ items }: vscode.TestController, { include, exclude }: vscode.TestRunRequest): readonly vscode.TestItem[] {
  const configs = new Map<string, vscode.TestItem>();
  const add = (item: vscode.TestItem): void => void configs.set((item.parent ?? item).id, item.parent ?? item);
  if (include === undefined) items.forEach(add);
  else include.forEach(add);
  for (const { id } of exclude ?? []) configs.delete(id);
  return [...configs.values()];
}

function report(run: vscode.TestRun, config: vscode.TestItem, state: SessionState, durationMs: number): void {
  const test = (name: 'starts' | 'fits', act: (item: vscode.TestItem) => void): void => {
    const item = config.children.get(`${config.id}#${name}`);
    if (item !== undefined) act(item);
  };
  const errors = startProblems(state).map((finding) => toMessage(state, finding));
  test('starts', (item) => {
    if (errors.length > 0) run.failed(item, errors, durationMs);
    else run.passed(item, durationMs);
  });
  const { plan, run: read } = state;
  if (plan === null || state.staleEdits > 0) {
    test('fits', (item) => run.skipped(item));
    return;
  }
  const summary = planSummary(plan);
  const text = memoryText(summary, vscode.l10n.t);
  run.appendOutput(`${config.label}: ${planText(summary, vscode.l10n.t)}; ${text}\r\n`);
  test('fits', (item) => {
    if (mayFit(summary.verdict)) {
      run.passed(item, durationMs);
      return;
    }
    const message = new vscode.TestMessage(text);
    if (read !== null) message.location = new vscode.Location(vscode.Uri.parse(read.place.file), toRange(read.place, state.texts));
    run.failed(item, message, durationMs);
  });
}

/** What keeps the launcher from starting a config, or us from reading it. */
function startProblems({ findings, error, run, file }: SessionState): readonly Finding[] {
  const errors = startErrors(findings);
  if (errors.length > 0 || error === null || isOfAnotherKind(error)) return errors;
  return [findingOfError(error, run?.place ?? { file, range: { start: 0, end: 0 } })];
}

function toMessage({ texts }: SessionState, { place, message, remedy }: Finding): vscode.TestMessage {
  const shown = new vscode.TestMessage(`${say(message, vscode.l10n.t)}; ${say(remedy, vscode.l10n.t)}`);
  shown.location = new vscode.Location(vscode.Uri.parse(place.file), toRange(place, texts));
  return shown;
}

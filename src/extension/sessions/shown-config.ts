import * as vscode from 'vscode';
import type { ConfigFormat } from '../../core/run/config-format';
import { isLauncher } from '../../core/launchers/registry';
import { mayBeConfig } from '../../core/config-files/readers';
import { findConfigs, isScheduleFile, lookAt, mayBeSchedule } from './find-configs';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import { isGone, uriBaseName } from './sources';

const planFile = 'terapipe.json';
const memory = 'terapipe.shown';
const newcomerDelayMs = 250;

/** Which config the views show: the one in the active editor, or the last one that was there. */
export interface ShownConfig {
  readonly dispose: () => void;
  readonly file: () => string | null;
  readonly session: () => SessionState | null;
  readonly show: (file: string) => void;
  readonly onDidChange: vscode.Event<string | null>;
  /**
   * The config whose run the file at `uri` belongs to, its session started: itself, or the `terapipe.json` next to it that names it. Null
   * when it is not a config.
   */
  readonly findConfig: (uri: vscode.Uri) => Promise<string | null>;
  /** The file at `uri` as a schedule in PyTorch's CSV, its session started; null when it is none. The views show only configs. */
  readonly findSchedule: (uri: vscode.Uri) => Promise<string | null>;
  /** Shows something when nothing is shown yet: the config of the last time, else the workspace's first. */
  readonly suggest: () => Promise<void>;
}

/**
 * Follows the active editor and keeps the context keys `terapipe.isConfig`, `terapipe.isModelConfig`, `terapipe.isLauncher`,
 * `terapipe.isSchedule` and `terapipe.hasPlan`.
 */
export function createShownConfig(
  sessions: PlanSessions,
  state: vscode.Memento,
  onError: (error: unknown) => void,
  log: vscode.LogOutputChannel,
): ShownConfig {
  const changed = new vscode.EventEmitter<string | null>();
  const context = contextKeys();
  let shown: string | null = null;
  let turn = 0;

  function show(file: string): void {
    if (shown === file || sessions.get(file)?.format === 'pytorch-schedule') return;
    shown = file;
    void state.update(memory, file);
    context.set('terapipe.hasPlan', hasPlan());
    changed.fire(file);
  }

  function hasPlan(): boolean {
    return shown !== null && (sessions.get(shown)?.plan ?? null) !== null;
  }

  const findConfig = (uri: vscode.Uri): Promise<string | null> => configAt(uri, sessions, onError);
  const findSchedule = (uri: vscode.Uri): Promise<string | null> => scheduleAt(uri, sessions, onError);

  async function follow(editor: vscode.TextEditor | undefined): Promise<void> {
    turn += 1;
    const mine = turn;
    const uri = editor?.document.uri;
    const file = uri !== undefined && isCandidate(uri) ? await findConfig(uri) : null;
    const schedule = uri === undefined ? null : await findSchedule(uri);
    if (mine !== turn) return;
    context.set('terapipe.isSchedule', schedule !== null);
    context.set('terapipe.isConfig', file !== null);
    const format = file === null ? null : sessionConfigFormat(sessions.get(file));
    context.set('terapipe.isModelConfig', format === 'huggingface');
    context.set('terapipe.isLauncher', format !== null && isLauncher(format));
    if (file !== null) show(file);
  }

  async function suggest(): Promise<void> {
    if (shown !== null) return;
    const last = state.get<unknown>(memory);
    const remembered =
      typeof last === 'string' && !(await isGone(last)) ? await findConfig(vscode.Uri.parse(last)).catch(() => null) : null;
    const first = remembered ?? (await firstFound(log)) ?? null;
    const file = first === null ? null : await findConfig(vscode.Uri.parse(first));
    if (file !== null && context.get('terapipe.isConfig') !== true) show(file);
  }

  /** The config in the active editor takes the place of one that is gone, else any other of the workspace. */
  async function dropped(file: string): Promise<void> {
    if (shown !== file) return;
    shown = null;
    context.set('terapipe.hasPlan', false);
    changed.fire(null);
    await follow(vscode.window.activeTextEditor);
    await suggest();
  }

  /** A document that becomes a config while it is typed or pasted. */
  let newcomer: ReturnType<typeof setTimeout> | undefined;
  function edited({ document }: vscode.TextDocumentChangeEvent): void {
    const editor = vscode.window.activeTextEditor;
    if (
      document !== editor?.document ||
      !(isCandidate(document.uri) || mayBeSchedule(document.uri)) ||
      sessions.get(document.uri.toString()) !== undefined
    )
      return;
    clearTimeout(newcomer);
    newcomer = setTimeout(() => followed(editor), newcomerDelayMs);
  }

  const startSession = ({ uri }: vscode.TextDocument): void => void (isCandidate(uri) ? findConfig(uri) : findSchedule(uri)).catch(onError);
  const followed = (editor: vscode.TextEditor | undefined): void => void follow(editor).catch(onError);
  const subscriptions = vscode.Disposable.from(
    changed,
    new vscode.Disposable(() => clearTimeout(newcomer)),
    vscode.workspace.onDidChangeTextDocument(edited),
    vscode.window.onDidChangeActiveTextEditor(followed),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (document === vscode.window.activeTextEditor?.document) followed(vscode.window.activeTextEditor);
      else startSession(document);
    }),
    sessions.onDidChange(() => context.set('terapipe.hasPlan', hasPlan())),
    sessions.onDidDrop((file) => void dropped(file).catch(onError)),
  );
  followed(vscode.window.activeTextEditor);
  for (const document of vscode.workspace.textDocuments) startSession(document);

  return {
    file: () => shown,
    session: () => (shown === null ? null : (sessions.get(shown) ?? null)),
    show,
    onDidChange: changed.event,
    findConfig,
    findSchedule,
    suggest,
    dispose: () => void subscriptions.dispose(),
  };
}

/** Whether a file may be a config at all, by its name: cheap, asked for every document. */
function isCandidate(uri: vscode.Uri): boolean {
  return mayBeConfig(uri.path) && uri.scheme !== 'git' && vscode.workspace.fs.isWritableFileSystem(uri.scheme) !== undefined;
}

/** Format of a session's config; null when it is of a schedule, or there is none. */
export function sessionConfigFormat(state: SessionState | undefined): ConfigFormat | null {
  return state === undefined || state.format === 'pytorch-schedule' ? null : state.format;
}

/** The config whose run the file at `uri` belongs to, its session started; null when it is not a config. */
async function configAt(uri: vscode.Uri, sessions: PlanSessions, onError: (error: unknown) => void): Promise<string | null> {
  const config = await lookAt(uri);
  const known = sessionConfigFormat(sessions.get(uri.toString()));
  const format = config?.format ?? known ?? (uriBaseName(uri) === planFile ? 'terapipe' : null);
  if (format === null || (config === null && (await isGone(uri.toString())))) return null;
  const namingPlan = format === 'huggingface' ? await planThatNames(uri, sessions, onError) : null;
  if (namingPlan !== null) return namingPlan;
  void sessions.ensure(uri.toString(), format).catch(onError);
  return uri.toString();
}

/** The file at `uri` as a schedule in PyTorch's CSV, its session started; null when it is none. */
async function scheduleAt(uri: vscode.Uri, sessions: PlanSessions, onError: (error: unknown) => void): Promise<string | null> {
  const file = uri.toString();
  if (sessions.get(file)?.format !== 'pytorch-schedule' && !(await isScheduleFile(uri))) return null;
  void sessions.ensure(file, 'pytorch-schedule').catch(onError);
  return file;
}

/** The `terapipe.json` in the same folder, when it names the file. */
async function planThatNames(uri: vscode.Uri, sessions: PlanSessions, onError: (error: unknown) => void): Promise<string | null> {
  const nearby = vscode.Uri.joinPath(uri, '..', planFile);
  const config = await lookAt(nearby);
  if (config === null) return null;
  void sessions.ensure(config.file, config.format).catch(onError);
  await whenRead(sessions, config.file);
  return sessions.reads(config.file).has(uri.toString()) ? config.file : null;
}

/** The first config of the workspace. A launcher may have nothing to plan: other configs come first. */
async function firstFound(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const found = await findConfigs(log);
  return (found.find(({ format }) => !isLauncher(format)) ?? found[0])?.file;
}

/** Resolves once the session's files were read, well or not; planning continues. */
function whenRead(sessions: PlanSessions, file: string): Promise<void> {
  const isRead = (state: SessionState | undefined): boolean =>
    (state?.progress ?? null) === null || state?.run !== null || state.error !== null;
  if (isRead(sessions.get(file))) return Promise.resolve();
  return new Promise((resolve) => {
    const subscription = sessions.onDidChange((state) => {
      if (state.file !== file || !isRead(state)) return;
      subscription.dispose();
      resolve();
    });
  });
}

/** Sets context keys for `when` clauses, only when they change: each set is a message to the window. */
function contextKeys(): { get: (key: string) => boolean | undefined; set: (key: string, value: boolean) => void } {
  const values = new Map<string, boolean>();
  return {
    get: (key) => values.get(key),
    set: (key, value) => {
      if (values.get(key) === value) return;
      values.set(key, value);
      void vscode.commands.executeCommand('setContext', key, value);
    },
  };
}

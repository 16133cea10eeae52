import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import type { PlanRequest } from '../../core/domain/request';
import type { profileMismatch } from '../../core/measured-profile/match';
import type { NamedProfile, Profile } from '../../core/domain/profile';
import type { MeasureProgress, ProfileRun } from '../../profiler/profile-run';
import { mayHaveGpu } from '../../profiler/device';
import { profileNames, profilesFolder } from '../../profiler/folder';
import type { ProfileState } from '../../protocol/page';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import { profilerSettings } from '../platform/settings';
import { displayPath } from './sources';
import { sentence, type Sentence } from '../../core/sentence';

/** Profiles next to the configs of the workspace, and at most one running measurement. */
export interface Profiles {
  /** Profiles near a config, by URI, read once until a file there changes. Never rejects. */
  readonly found: (config: string) => Promise<readonly NamedProfile[]>;
  /** What the Profile tab shows for a config; null before the first look for profiles. */
  readonly state: (config: string) => ProfileState | null;
  /** The folder for a config's profiles. @throws ExpectedError `profile-not-local` for a config that is not on this machine's disk. */
  readonly profileFolder: (config: string) => string;
  /**
   * Measures the layer of a config's plan. One measurement at a time.
   * @throws ExpectedError `profile-untrusted`, `profile-running`, `profile-not-local`, or as `profileRequest`; CancelledError.
   */
  readonly measure: (config: string, request: PlanRequest, listener: MeasureListener) => Promise<ProfileRun>;
  readonly cancel: () => void;
  /** Forgets what was read for a config and plans it again. */
  readonly refresh: (config: string) => Promise<void>;
  readonly onDidChange: vscode.Event<string>;
  readonly dispose: () => void;
}

/** What the command that measures decides, and its callbacks. */
interface MeasureListener {
  readonly precisionFixed: boolean;
  readonly gpuFixed: boolean;
  readonly onNotice: (notice: Sentence) => void;
  readonly onProgress: (progress: MeasureProgress) => void;
}

interface Running {
  readonly config: string;
  readonly abort: AbortController;
  progress: MeasureProgress | null;
}

/** Loaded with the first profile. */
let mismatch: typeof profileMismatch | null = null;

export function createProfiles(sessions: () => PlanSessions, childFile: string, log: vscode.LogOutputChannel): Profiles {
  const changed = new vscode.EventEmitter<string>();
  const read = new Map<string, Promise<readonly NamedProfile[]>>();
  const known = new Map<string, readonly NamedProfile[]>();
  const errors = new Map<string, ExpectedError>();
  let running: Running | null = null;

  function found(config: string): Promise<readonly NamedProfile[]> {
    let reading = read.get(config);
    if (reading === undefined) {
      reading = readOrNone(config, log, () => read.delete(config)).then((profiles) => {
        // An older, slower reading must not undo a newer one.
        if (read.get(config) !== reading) return profiles;
        known.set(config, profiles);
        changed.fire(config);
        return profiles;
      });
      read.set(config, reading);
    }
    return reading;
  }

  async function refresh(config: string): Promise<void> {
    read.delete(config);
    await found(config);
    if (sessions().get(config) !== undefined) await sessions().replan(config);
  }

  async function measure(config: string, request: PlanRequest, { onProgress, ...listener }: MeasureListener): Promise<ProfileRun> {
    requireTrust();
    if (running !== null)
      throw new ExpectedError(
        'profile-running',
        sentence`A layer is being profiled already`,
        sentence`wait for it, or cancel it in the Profile tab`,
      );
    const target = profileFolder(config);
    const mine: Running = { config, abort: new AbortController(), progress: null };
    running = mine;
    void vscode.commands.executeCommand('setContext', 'terapipe.isProfiling', true);
    errors.delete(config);
    changed.fire(config);
    try {
      const { profileRequest } = await import('../../profiler/profile-run');
      const done = await profileRequest(request, {
        ...profilerSettings(vscode.Uri.parse(config)),
        ...listener,
        childFile,
        target,
        config: displayPath(config),
        signal: mine.abort.signal,
        clock: () => performance.now(),
        now: () => new Date().toISOString(),
        onProgress: (progress) => {
          mine.progress = progress;
          onProgress(progress);
          changed.fire(config);
        },
      });
      const problem = done.saveError ?? stoppedBy(done.profile);
      if (problem !== null) errors.set(config, problem);
      return done;
    } catch (error) {
      if (error instanceof ExpectedError) errors.set(config, error);
      throw error;
    } finally {
      running = null;
      void vscode.commands.executeCommand('setContext', 'terapipe.isProfiling', false);
      await refresh(config);
      changed.fire(config);
    }
  }

  const watcher = vscode.workspace.createFileSystemWatcher('**/.terapipe/profiles/*.json');
  const reread = (): void => {
    for (const config of [...read.keys()]) void refresh(config).catch((error: unknown) => log.error(String(error)));
  };
  const subscriptions = vscode.Disposable.from(
    changed,
    watcher,
    watcher.onDidCreate(reread),
    watcher.onDidChange(reread),
    watcher.onDidDelete(reread),
  );

  return {
    found,
    profileFolder,
    measure,
    refresh,
    cancel: () => running?.abort.abort(),
    onDidChange: changed.event,
    dispose: () => {
      running?.abort.abort();
      subscriptions.dispose();
    },
    state: (config) => {
      const profiles = known.get(config);
      if (profiles === undefined) return null;
      const request = sessions().get(config)?.plan?.request ?? null;
      const progress = running?.config === config ? running.progress : null;
      return profileState(profiles, request, progress, errors.get(config));
    },
  };
}

/** @throws ExpectedError `profile-not-local` */
function profileFolder(config: string): string {
  const uri = vscode.Uri.parse(config);
  if (uri.scheme !== 'file')
    throw new ExpectedError(
      'profile-not-local',
      sentence`Profiles need a config on the disk of this machine`,
      sentence`open the folder itself, or profile on a terminal`,
    );
  return profilesFolder(uri.fsPath, vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath);
}

/** All profiles; none where they could not be read: plans go on without, and after `forget` the next one tries again. */
async function readOrNone(config: string, log: vscode.LogOutputChannel, forget: () => void): Promise<readonly NamedProfile[]> {
  try {
    return await readAll(config, log);
  } catch (error) {
    forget();
    log.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return [];
  }
}

async function readAll(config: string, log: vscode.LogOutputChannel): Promise<readonly NamedProfile[]> {
  if (vscode.Uri.parse(config).scheme !== 'file') return [];
  const folder = profileFolder(config);
  // Most configs have none, and need nothing of what reads them.
  if ((await profileNames(folder)).length === 0) return [];
  const [{ readProfiles }, match] = await Promise.all([import('../../profiler/store'), import('../../core/measured-profile/match')]);
  mismatch = match.profileMismatch;
  const { found, broken } = await readProfiles(folder);
  for (const { code, message, place } of broken) log.warn(`${place?.file ?? 'profile'}: ${code}: ${message}`);
  return found.map(({ file, profile }) => ({ file: vscode.Uri.file(file).toString(), profile }));
}

/** The newest profile first, each with why it is not used for the plan. */
function profileState(
  profiles: readonly NamedProfile[],
  request: PlanRequest | null,
  running: MeasureProgress | null,
  error: ExpectedError | undefined,
): ProfileState {
  const refusal = (profile: Profile): Sentence | null => (request === null ? null : (mismatch?.(profile, request) ?? null));
  return {
    known: [...profiles]
      .sort((a, b) => b.profile.measuredAt.localeCompare(a.profile.measuredAt))
      .map(({ file, profile }) => ({ file, profile, name: displayPath(file), refusal: refusal(profile) })),
    used: request?.profile?.file ?? null,
    running,
    mayHaveGpu: mayHaveGpu(),
    error: error === undefined ? null : { code: error.code, message: error.what, remedy: error.remedy, place: null, placeText: null },
  };
}

/** @throws ExpectedError `profile-untrusted` in a restricted workspace. */
export function requireTrust(): void {
  if (vscode.workspace.isTrusted) return;
  throw new ExpectedError(
    'profile-untrusted',
    sentence`A restricted workspace does not run the profiler`,
    sentence`trust the workspace first`,
  );
}

/** What interrupted a measurement, unless the user did. */
export function stoppedBy({ error, samples }: Profile): ExpectedError | null {
  if (error === null || error === 'cancelled') return null;
  return new ExpectedError(
    'profile-partial',
    sentence`Profiling stopped: ${error}`,
    sentence`the ${samples.layer.length} samples so far are kept; profile again for the rest`,
  );
}

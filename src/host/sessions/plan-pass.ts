import { readNamedNorms } from '../../features/elastic/core/named-norms';
import type { ElasticAnswer } from '../../features/elastic/core/answer';
import { resolveElastic } from '../../features/elastic/core/resolve';
import { planScenario } from '../../core/plan-request/scenario';
import { CancelledError, ExpectedError, placed, throwIfCancelled } from '../../core/errors';
import { configFindings, isElastic } from '../../core/export/config-findings';
import { editableFile } from '../../core/export/launchers/edit-launcher';
import { startErrors, type Finding } from '../../core/findings';
import type { ReadReferenced, Run } from '../../core/run/run';
import { loadConfig, type LoadedConfig } from '../../core/config-files/load-config';
import { recogniseConfig } from '../../core/config-files/readers';
import type { Plan } from '../../core/planner/plan';
import { isScheduleCsv } from '../../core/schedules/pytorch-csv/cells';
import type { ScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import type { NamedProfile } from '../../core/domain/profile';
import { tooLargeToDraw } from './schedule-size';
import type { SessionHost } from './session-host';
import type { SessionState } from './session-state';

/** One pass that reads and plans a file, and what it may change in the file's session. */
interface Pass {
  readonly host: SessionHost;
  readonly file: string;
  /** Aborted when an edit overtakes the pass, or the user cancels it. */
  readonly signal: AbortSignal;
  /** Reads a file, which the session then follows. */
  readonly read: (file: string) => Promise<string>;
  /** What was read so far, by file. */
  readonly texts: ReadonlyMap<string, string>;
  /** Whether GPUs, batch, lengths and layout of the last plan stay, as far as no file sets them. */
  readonly keepsScenario: boolean;
  readonly state: () => SessionState;
  readonly update: (change: Partial<SessionState>) => void;
  /** Marks the plan as one of the texts at the start of the pass. */
  readonly planned: () => void;
  /** Makes the session follow only the files that this pass read. */
  readonly followOnlyRead: () => void;
}

/** Reads a config or a schedule, plans or draws it, and reports each result at once. Rejects with what stops it. */
export async function runPass(pass: Pass): Promise<void> {
  const { file, signal, update } = pass;
  update({ progress: 0, incumbent: null });
  const text = await pass.read(file);
  throwIfCancelled(signal);
  if (pass.state().format === 'pytorch-schedule') await drawSchedule(pass, text);
  else await planConfig(pass, text);
}

/** A text that is no longer a schedule, such as one that is being rewritten, is not an error. */
async function drawSchedule({ host, file, signal, planned, update }: Pass, text: string): Promise<void> {
  const isSchedule = isScheduleCsv(text);
  const refusal = isSchedule ? tooLargeToDraw(text, file) : null;
  const nothing: ScheduleFile = { findings: refusal === null ? [] : [refusal], drawn: null };
  const { findings, drawn } = isSchedule && refusal === null ? await host.readSchedule(text, file, nameOfFile(file), { signal }) : nothing;
  throwIfCancelled(signal);
  if (drawn !== null) planned();
  const texts = new Map(refusal === null ? [[file, text]] : []);
  const read = { texts, findings, error: drawn === null ? errorOfFinding(findings[0]) : null, progress: null };
  update(drawn === null ? read : { ...read, schedule: drawn });
}

async function planConfig(pass: Pass, text: string): Promise<void> {
  const { host, file, signal, texts, planned, update } = pass;
  const format = recogniseConfig(file, text) ?? pass.state().format;
  const readReferenced: ReadReferenced = async (from, path) => {
    const referenced = host.resolvePath(from, path);
    return { file: referenced, text: await pass.read(referenced) };
  };
  const config = await loadConfig(file, text, { read: readReferenced, shell: host.shell });
  throwIfCancelled(signal);
  const { run, launcher, reread } = config;
  if (run !== null) pass.followOnlyRead();
  update({ run, launcher, reread, texts, format, findings: configFindings(config, run, null), error: config.noRun });
  if (run === null) {
    // A launcher that names no sizes has no plan; a terapipe.json that is broken keeps its last one.
    update(launcher === null ? { progress: null } : { plan: null, elastic: null, progress: null });
    return;
  }
  if (keepsLastGood(pass.state())) {
    update({ progress: null });
    return;
  }
  const found = await host.profiles(file);
  throwIfCancelled(signal);
  if (!isElastic(run) || run.unplanned === undefined) {
    const plan = await planPass(pass, config, run, found);
    planned();
    update({ plan, isGood: starts(pass.state()), findings: configFindings(config, run, plan) });
  } else update({ plan: null });
  const elastic = isElastic(run) ? await elasticPass(pass, run, found, readReferenced) : null;
  throwIfCancelled(signal);
  planned();
  update({ elastic, error: null, progress: null });
  const { plan } = pass.state();
  if (plan !== null) void offerRemedies(pass, config, run, plan, found);
}

/** Whether the launcher starts the text that was read. */
function starts({ findings }: SessionState): boolean {
  return startErrors(findings).length === 0;
}

/** A text with errors has no plan of its own where there is one of an earlier text without: half-typed values are not sizes. */
function keepsLastGood(state: SessionState): boolean {
  return !starts(state) && state.isGood && (state.plan !== null || state.elastic !== null);
}

async function planPass(
  { host, signal, keepsScenario, state, planned, update }: Pass,
  config: LoadedConfig,
  run: Run,
  found: readonly NamedProfile[],
): Promise<Plan> {
  const last = state().plan;
  const kept = keepsScenario && last !== null ? planScenario(last.request) : undefined;
  const request = await host.resolve(run, found, kept, { signal });
  throwIfCancelled(signal);
  const share = isElastic(run) ? 0.5 : 1;
  const plan = await host.plan(request, {
    signal,
    onProgress: (progress) => {
      if (!signal.aborted) update({ progress: progress * share });
    },
    onIncumbent: (incumbent) => {
      if (!signal.aborted) update({ incumbent });
    },
    onFirst: (plan) => {
      if (signal.aborted) return;
      planned();
      update({ plan, isGood: starts(state()), findings: configFindings(config, run, plan) });
    },
  });
  throwIfCancelled(signal);
  return plan;
}

async function elasticPass(
  { host, signal }: Pass,
  run: Run,
  found: readonly NamedProfile[],
  readReferenced: ReadReferenced,
): Promise<ElasticAnswer> {
  const norms = await readNamedNorms(run, readReferenced);
  throwIfCancelled(signal);
  const request = placed(run.place, () => resolveElastic(run, host.defaults(run.file), norms, found));
  return host.planElastic(request, { signal }).catch((error: unknown) =>
    placed(run.place, () => {
      throw error;
    }),
  );
}

/** After a plan that does not fit, looks for the smallest changes that do; an edit stops it. */
async function offerRemedies(
  { host, signal, update }: Pass,
  config: LoadedConfig,
  run: Run,
  plan: Plan,
  found: readonly NamedProfile[],
): Promise<void> {
  try {
    const remedies = await host.remedies(run, found, plan, { signal });
    if (remedies.length === 0 && run.split === undefined) return;
    const { launcher, reread: read } = config;
    const editable = launcher === null || read === null ? null : await editableFile(launcher, read);
    if (!signal.aborted) update({ findings: configFindings(config, run, plan, remedies, editable) });
  } catch (error) {
    if (!signal.aborted && !(error instanceof CancelledError)) host.reportBug(error);
  }
}

/** Last part of a URI's path, as people read it. */
function nameOfFile(file: string): string {
  return decodeURIComponent(file.slice(file.lastIndexOf('/') + 1));
}

function errorOfFinding(finding: Finding | undefined): ExpectedError | null {
  return finding === undefined ? null : new ExpectedError(finding.code, finding.message, finding.remedy, finding.place);
}

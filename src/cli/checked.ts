import { fileStart } from '../core/languages/json/document';
import { CancelledError, ExpectedError, throwIfCancelled, type CancelSignal } from '../core/errors';
import type { LoadedConfig } from '../core/config-files/load-config';
import { configFindings, isElastic } from '../core/export/config-findings';
import { findingOfError, type Finding } from '../core/findings';
import { summariseFolder, type FolderSummary, type LookedFile } from '../core/config-files/folder-summary';
import { formatCount, plural } from '../core/format';
import { say } from '../core/sentence';
import { mayFit } from '../core/memory-model/verdict';
import type { ResolveDefaults } from '../core/plan-request/scenario';
import { chosenCandidate, type Plan } from '../core/planner/plan';
import { notSuppressed } from '../core/rules/switched-off';
import { readScheduleFile } from '../core/schedules/pytorch-csv/schedule-file';
import type { Texts } from './answer';
import { internalError } from './terminal';
import { planRun } from '../core/export/planned-config';
import { planNearby } from './planned';
import { readConfig, type ReadingOptions } from './read-config';
import { kindOfPath, readNamedFile, type SourceText } from './read-file';
import { configsUnder, isScheduleFile, type FolderContents, type OtherFile } from './walk';

/** Which findings are looked for, and who stops the work. */
interface CheckingOptions extends ReadingOptions {
  readonly signal?: CancelSignal;
  /** Codes that are not looked for. */
  readonly off?: ReadonlySet<string>;
  /** False: a finding is not asked for, as one of too little severity. */
  readonly isAsked?: (finding: Finding) => boolean;
  /** Hears how far it is. */
  readonly progress?: (line: string) => void;
}

/** What was checked, and what was found. */
export interface CheckReport {
  /** Each once, though two runs share a model config and its findings. */
  readonly findings: readonly Finding[];
  /** Configs and schedules, in order. */
  readonly files: readonly string[];
  /** Whether a plan does not fit and a finding about that is asked for. */
  readonly isUnfit: boolean;
  /** What the folders hold; null: only files were named. */
  readonly summary: FolderSummary | null;
  readonly texts: Texts;
}

/**
 * Findings of every config and schedule named or found in a folder, each planned as `terapipe plan` plans it. What makes a config
 * unreadable is a finding of it too, as is a fault of ours that it meets, and leaves the others checked; only where no path at all can be
 * opened is that bad input.
 * @throws ExpectedError as `readNamedFile` and `configsUnder`; CancelledError.
 */
export async function checkPaths(
  paths: readonly string[],
  options: CheckingOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<CheckReport> {
  const { signal, off, isAsked = () => true, progress = () => undefined } = options;
  const { configs: sources, unread, others } = await openAll(paths);
  const looked: LookedFile[] = others === null ? [] : others.map((other) => ({ ...other, format: null, isPlanned: false }));
  const findings = new Map(unread.filter(isAsked).map((finding) => [findingIdentity(finding), finding]));
  let isUnfit = false;
  for (const [index, source] of sources.entries()) {
    progress(`checking ${source.file}, ${formatCount(index)} of ${plural(sources.length, 'config')} done`);
    throwIfCancelled(signal);
    const checked = await checkSource(source, options, defaults, texts);
    const { found, plan } = checked;
    looked.push(lookedConfig(source, checked));
    const kept = notSuppressed(found, source.file, texts, off).filter(isAsked);
    for (const finding of kept) findings.set(findingIdentity(finding), finding);
    const fits = plan === null || mayFit(chosenCandidate(plan));
    if (!fits && kept.some(({ code }) => code === tooLarge)) isUnfit = true;
  }
  return {
    findings: [...findings.values()],
    files: sources.map(({ file }) => file),
    isUnfit,
    summary: others === null ? null : summariseFolder(looked),
    texts,
  };
}

const tooLarge = 'memory-over-capacity';

/** What a config was found to be; a schedule is none. */
function lookedConfig({ file }: SourceText, { config, plan, found }: CheckedSource): LookedFile {
  const refusal = found.find(({ code }) => code === 'model-not-planned') ?? found.find(({ severity }) => severity === 'error');
  const reason = plan === null && refusal !== undefined ? { reason: say(refusal.message) } : {};
  return { file, format: config?.format ?? null, isPlanned: plan !== null, ...reason };
}

/** Two runs may share a model config and its findings. */
function findingIdentity({ code, place, message }: Finding): string {
  return JSON.stringify([place.file, place.range.start, code, message]);
}

/** What paths hold; of named files nothing else is looked at. */
type Opened = Omit<FolderContents, 'others'> & { readonly others: readonly OtherFile[] | null };

/** What the paths name and hold. @throws ExpectedError the first one's, when none can be opened. */
async function openAll(paths: readonly string[]): Promise<Opened> {
  const opened: Opened[] = [];
  const errors: ExpectedError[] = [];
  for (const name of paths)
    try {
      const isFolder = (await kindOfPath(name)) === 'folder';
      opened.push(isFolder ? await configsUnder(name) : { configs: [await readNamedFile(name)], unread: [], others: null });
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      errors.push(error);
    }
  if (opened.length === 0 && errors[0] !== undefined) throw errors[0];
  const unopened = errors.map((error) => findingOfError(error, fileStart('')));
  const folders = opened.flatMap(({ others }) => (others === null ? [] : [others]));
  return {
    configs: opened.flatMap(({ configs }) => configs),
    unread: [...unopened, ...opened.flatMap(({ unread }) => unread)],
    others: folders.length === 0 ? null : folders.flat(),
  };
}

/** A config or schedule with what is found in it. */
interface CheckedSource {
  readonly found: readonly Finding[];
  /** Null: nothing was planned. */
  readonly plan: Plan | null;
  /** Null: it is a schedule, or cannot be read. */
  readonly config: LoadedConfig | null;
}

/** How one text is read and planned. */
interface SourceOptions extends ReadingOptions {
  /** False: profiles that lie near it are not looked for. */
  readonly withNearby?: boolean;
  /** False: changes with which a plan fits are not looked for. */
  readonly withRemedies?: boolean;
}

/** Findings and plan of one text. What keeps it from being read or planned, a fault of ours too, is a finding. @throws CancelledError. */
export async function checkSource(
  source: SourceText,
  reading: SourceOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<CheckedSource> {
  try {
    if (!isScheduleFile(source)) return await checkedConfig(source, reading, defaults, texts);
    texts.set(source.file, source.text);
    return { found: readScheduleFile(source.text, source.file, source.file).findings, plan: null, config: null };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    const finding = findingOfError(error instanceof ExpectedError ? error : internalError(error), fileStart(source.file));
    return { found: [finding], plan: null, config: null };
  }
}

/**
 * A config is planned where `terapipe plan` plans it. What keeps it from being planned is a finding, in place of a remark in the same
 * words. As an error it is left out where another error is found, which is its cause; as information (a model of another kind, or one that
 * a launcher leaves to files that are not here) it is always shown.
 */
async function checkedConfig(
  source: SourceText,
  { withNearby = true, withRemedies = true, ...reading }: SourceOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<CheckedSource> {
  const config = await readConfig(source, reading, texts);
  const unplannedWith = (found: readonly Finding[]): CheckedSource => ({ found, plan: null, config });
  const { run, noRun } = config;
  const unplanned = configFindings(config, run, null);
  const because = (error: ExpectedError, place = fileStart(source.file)): CheckedSource => {
    const refusal = findingOfError(error, place);
    if (refusal.severity === 'error' && unplanned.some(({ severity }) => severity === 'error')) return unplannedWith(unplanned);
    return unplannedWith([refusal, ...unplanned.filter(({ message }) => message !== error.what)]);
  };
  if (run === null) return noRun === null ? unplannedWith(unplanned) : because(noRun);
  if (isElastic(run) && run.unplanned !== undefined) return unplannedWith(unplanned);
  try {
    const planned = withNearby
      ? await planNearby(config, defaults, () => undefined, false)
      : planRun(config, defaults, { isCompared: false, withRemedies });
    return { found: planned.findings, plan: planned.plan, config };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return because(error, run.place);
  }
}

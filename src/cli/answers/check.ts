import { fileStart } from '../../core/languages/json/document';
import { CancelledError, ExpectedError, throwIfCancelled, type CancelSignal } from '../../core/errors';
import { configFindings, isElastic } from '../../core/export/config-findings';
import { countsByCode, fewInformations, findingOfError, type Finding } from '../../core/findings';
import { formatCount, plural } from '../../core/format';
import { notSuppressed } from '../../core/rules/switched-off';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import { printable } from '../../core/text';
import { readScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import { internalError } from '../internal-error';
import { findingLine, printedFinding, type Answer, type PrintedFinding } from '../answer';
import { mayFit } from '../../core/memory-model/verdict';
import { chosenCandidate } from '../../core/planner/plan';
import { exitCodeFor, planNearby } from '../planned';
import { readConfig, type ReadingOptions } from '../read-config';
import { kindOfPath, readNamedFile, type SourceText } from '../read-file';
import { configsUnder, isScheduleFile, type FolderContents } from '../walk';

/** Which findings are printed, and who stops the command. */
interface Suppression {
  readonly signal?: CancelSignal;
  /** Codes that are not looked for. */
  readonly off?: ReadonlySet<string>;
  /** Print every information, not a few of each file. */
  readonly all?: boolean;
}

/**
 * `terapipe check`: findings of every config and schedule named or found in a folder, each planned as `terapipe plan` plans it. What makes
 * a config unreadable is a finding of it too, as is a fault of ours that it meets, and leaves the others checked; only where no path at all
 * can be opened is that bad input.
 * @throws ExpectedError as `readNamedFile` and `configsUnder`.
 */
export async function checkAnswer(
  paths: readonly string[],
  reading: ReadingOptions & Suppression,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
  progress: (line: string) => void,
): Promise<Answer> {
  const { configs: sources, unread } = await openAll(paths);
  let unfit = 0;
  const findings = new Map(unread.map((finding) => [findingIdentity(finding), finding]));
  for (const [index, source] of sources.entries()) {
    progress(`checking ${source.file}, ${formatCount(index)} of ${plural(sources.length, 'config')} done`);
    throwIfCancelled(reading.signal);
    const { found, fits } = await checked(source, reading, defaults, texts);
    const kept = notSuppressed(found, source.file, texts, reading.off);
    for (const finding of kept) findings.set(findingIdentity(finding), finding);
    if (!fits && kept.some(({ code }) => code === tooLarge)) unfit += 1;
  }
  const printed = [...findings.values()].map((finding) => printedFinding(finding, texts));
  const summary =
    printed.length === 0
      ? `No findings in ${plural(sources.length, 'config')}`
      : `${plural(printed.length, 'finding')} in ${plural(sources.length, 'config')}`;
  return {
    json: { version: 1, findings: printed, configs: sources.map(({ file }) => file) },
    text: [...(reading.all === true ? printed.map(findingLine) : fewLines(printed)), summary].join('\n'),
    exitCode: printed.some(({ code }) => code === 'internal') ? 3 : exitCodeFor(printed, unfit === 0),
  };
}

/** The findings of each file in lines, with one for the informations that are left out. */
function fewLines(printed: readonly PrintedFinding[]): string[] {
  const left = new Set<PrintedFinding>();
  const rest = [...new Set(printed.map(({ file }) => file))].flatMap((file) => {
    const { left: ofFile } = fewInformations(
      printed.filter((finding) => finding.file === file),
      (finding) => finding,
    );
    for (const finding of ofFile) left.add(finding);
    const counts = countsByCode(ofFile.map(({ code }) => code));
    return ofFile.length === 0 ? [] : [printable(`${file}: ${plural(ofFile.length, 'more information')}: ${counts}; --all prints them`)];
  });
  return [...printed.flatMap((finding) => (left.has(finding) ? [] : [findingLine(finding)])), ...rest];
}

/** What the paths name and hold. @throws ExpectedError the first one's, when none can be opened. */
async function openAll(paths: readonly string[]): Promise<FolderContents> {
  const opened: FolderContents[] = [];
  const errors: ExpectedError[] = [];
  for (const name of paths)
    try {
      const isFolder = (await kindOfPath(name)) === 'folder';
      opened.push(isFolder ? await configsUnder(name) : { configs: [await readNamedFile(name)], unread: [] });
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      errors.push(error);
    }
  if (opened.length === 0 && errors[0] !== undefined) throw errors[0];
  const unopened = errors.map((error) => findingOfError(error, fileStart('')));
  return { configs: opened.flatMap(({ configs }) => configs), unread: [...unopened, ...opened.flatMap(({ unread }) => unread)] };
}

const tooLarge = 'memory-over-capacity';

interface Checked {
  readonly found: readonly Finding[];
  /** Whether the plan fits, where there is one. */
  readonly fits: boolean;
}

async function checked(
  source: SourceText,
  reading: ReadingOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<Checked> {
  try {
    if (!isScheduleFile(source)) return await checkedConfig(source, reading, defaults, texts);
    texts.set(source.file, source.text);
    return { found: readScheduleFile(source.text, source.file, source.file).findings, fits: true };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return { found: [findingOfError(error instanceof ExpectedError ? error : internalError(error), fileStart(source.file))], fits: true };
  }
}

/**
 * A config is planned where `terapipe plan` plans it. What keeps it from being planned is a finding, in place of a remark in the same
 * words. As an error it is left out where another error is found, which is its cause; as information (a model of another kind, or one that
 * a launcher leaves to files that are not here) it is always shown.
 */
async function checkedConfig(
  source: SourceText,
  reading: ReadingOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<Checked> {
  const config = await readConfig(source, reading, texts);
  const { run, noRun } = config;
  const unplanned = configFindings(config, run, null);
  const because = (error: ExpectedError, place = fileStart(source.file)): Checked => {
    const refusal = findingOfError(error, place);
    if (refusal.severity === 'error' && unplanned.some(({ severity }) => severity === 'error')) return { found: unplanned, fits: true };
    return { found: [refusal, ...unplanned.filter(({ message }) => message !== error.what)], fits: true };
  };
  if (run === null) return noRun === null ? { found: unplanned, fits: true } : because(noRun);
  if (isElastic(run) && run.unplanned !== undefined) return { found: unplanned, fits: true };
  try {
    const { findings, plan } = await planNearby(config, defaults, () => undefined, false);
    return { found: findings, fits: mayFit(chosenCandidate(plan)) };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return because(error, run.place);
  }
}

/** Two runs may share a model config and its findings. */
function findingIdentity({ code, place, message }: Finding): string {
  return JSON.stringify([place.file, place.range.start, code, message]);
}

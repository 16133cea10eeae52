import { startOf } from '../../core/formats/json-document';
import { CancelledError, ExpectedError } from '../../core/errors';
import { countsByCode, fewInformations, findingOfError, type Finding } from '../../core/findings';
import { formatCount, plural } from '../../core/format';
import { findingsOf } from '../../core/rules/run-findings';
import { heeded } from '../../core/rules/switched-off';
import type { ResolveDefaults } from '../../core/resolve/defaults';
import { printable } from '../../core/text';
import { readScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import { internalError } from '../internal-error';
import { findingLine, printedFinding, type Answer, type PrintedFinding } from '../answer';
import { exitCodeFor, planRun } from '../planned';
import { readConfig, requireRun, type ReadingOptions } from '../read-config';
import { kindOfPath, readNamedFile, type SourceText } from '../read-file';
import { configsUnder, isScheduleFile, type Found } from '../walk';

/** Which findings are told. */
interface Heeding {
  /** Codes that are not looked for. */
  readonly off?: ReadonlySet<string>;
  /** Print every information, not a few of each file. */
  readonly all?: boolean;
}

/**
 * `terapipe check`: findings of every config and schedule named or found in a folder. What makes a config unreadable is a finding of it
 * too, as is a fault of ours that it meets, and leaves the others checked; only where no path at all can be opened is that bad input.
 * @throws ExpectedError as `readNamedFile` and `configsUnder`.
 */
export async function checkAnswer(
  paths: readonly string[],
  reading: ReadingOptions & Heeding,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
  progress: (line: string) => void,
): Promise<Answer> {
  const { configs: sources, unread } = await openAll(paths);
  const findings = new Map(unread.map((finding) => [identityOf(finding), finding]));
  for (const [index, source] of sources.entries()) {
    progress(`checking ${source.file}, ${formatCount(index)} of ${plural(sources.length, 'config')} done`);
    const found = await findingsFor(source, reading, defaults, texts);
    for (const finding of heeded(found, source.file, texts, reading.off)) findings.set(identityOf(finding), finding);
  }
  const printed = [...findings.values()].map((finding) => printedFinding(finding, texts));
  const summary =
    printed.length === 0
      ? `No findings in ${plural(sources.length, 'config')}`
      : `${plural(printed.length, 'finding')} in ${plural(sources.length, 'config')}`;
  return {
    json: { version: 1, findings: printed, configs: sources.map(({ file }) => file) },
    text: [...(reading.all === true ? printed.map(findingLine) : fewLines(printed)), summary].join('\n'),
    exitCode: printed.some(({ code }) => code === 'internal') ? 3 : exitCodeFor(printed),
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
async function openAll(paths: readonly string[]): Promise<Found> {
  const opened: Found[] = [];
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
  const unopened = errors.map((error) => findingOfError(error, startOf('')));
  return { configs: opened.flatMap(({ configs }) => configs), unread: [...unopened, ...opened.flatMap(({ unread }) => unread)] };
}

async function findingsFor(
  source: SourceText,
  reading: ReadingOptions,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
): Promise<readonly Finding[]> {
  try {
    if (isScheduleFile(source)) {
      texts.set(source.file, source.text);
      return readScheduleFile(source.text, source.file, source.file).findings;
    }
    const config = await readConfig(source, reading, texts);
    if (config.launcher !== null) return config.findings;
    if (config.run === null && config.noRun !== null) return [findingOfError(config.noRun, startOf(source.file)), ...config.findings];
    const run = requireRun(config);
    // A model config alone says nothing of the GPUs it must fit.
    if (run.format === 'huggingface') return findingsOf(run, null);
    const unplanned = findingsOf(run, null);
    try {
      return planRun(config, defaults).findings;
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      return unplanned.some(({ severity }) => severity === 'error') ? unplanned : [findingOfError(error, run.place), ...unplanned];
    }
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return [findingOfError(error instanceof ExpectedError ? error : internalError(error), startOf(source.file))];
  }
}

/** Two runs may share a model config and its findings. */
function identityOf({ code, place, message }: Finding): string {
  return JSON.stringify([place.file, place.range.start, code, message]);
}

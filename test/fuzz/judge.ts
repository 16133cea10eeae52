import { readMeasured } from '../../src/features/compare/core/measured';
import type { LauncherReader } from '../../src/core/run/facts';
import { ExpectedError, configError } from '../../src/core/errors';
import type { Finding, Fix, TextEdit } from '../../src/core/findings';
import { loadConfig, type LoadedConfig } from '../../src/core/config-files/load-config';
import { recogniseConfig } from '../../src/core/config-files/readers';
import type { Place } from '../../src/core/domain/located';
import { runFindings } from '../../src/core/rules/run-findings';
import { parseProfile } from '../../src/core/measured-profile/file';
import { readScheduleFile } from '../../src/core/schedules/pytorch-csv/schedule-file';
import { readLengths } from '../../src/cli/problems/lengths';
import type { Case } from './cases';
import { commandProblem } from './commands';
import type { Fixture } from './corpus';
import { say, sentence } from '../../src/core/sentence';

/** What became of a case. */
export interface Verdict {
  /** What no text may cause, or null. Its first line distinguishes one defect from another. */
  readonly problem: string | null;
  /** Whether facts or a run were read from it, or an `ExpectedError` gave the reason why not. */
  readonly answered: boolean;
  readonly findings: number;
  /** Whether a quick fix was offered, applied and the result read again. */
  readonly fixed: boolean;
}

type Texts = ReadonlyMap<string, string>;

class Defect extends Error {}

/**
 * Runs one case through all that a face does with a config before planning, and through its command.
 * @param mostMs of processor time that the command may take.
 */
export async function judge(given: Case, shell: LauncherReader, mostMs = Infinity): Promise<Verdict> {
  try {
    const verdict = await verdictOf(given, shell);
    return given.command.length === 0 ? verdict : { ...verdict, problem: await commandProblem(given, shell, mostMs) };
  } catch (error) {
    const problem = error instanceof Defect ? error.message : `threw ${stackOf(error)}`;
    return { problem, answered: false, findings: 0, fixed: false };
  }
}

/** What else than configs is read, by the end of its original's name. */
const otherReaders: readonly (readonly [name: RegExp, read: (text: string, file: string) => readonly Finding[]])[] = [
  [/schedules\/.*\.csv$/, (text, file) => readScheduleFile(text, file, file).findings],
  [/measured\//, (text, file) => (readMeasured(text, file), [])],
  [/profile\.json$/, (text, file) => (parseProfile(text, file), [])],
  [/lengths\./, (text, file) => (readLengths({ file, text }), [])],
  [/problems\//, () => []],
];

/** Reads a file that is not a config. */
function verdictOfOther({ main }: Case, readOther: (typeof otherReaders)[number][1]): Verdict {
  const texts = new Map([[main.file, main.text]]);
  try {
    const findings = readOther(main.text, main.file);
    for (const finding of findings) checkFinding(finding, texts);
    return { problem: null, answered: true, findings: findings.length, fixed: false };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    checkError(error, texts);
    return { problem: null, answered: false, findings: 0, fixed: false };
  }
}

async function verdictOf(given: Case, shell: LauncherReader): Promise<Verdict> {
  const { file, text } = given.main;
  const other = otherReaders.find(([name]) => name.test(file));
  if (other !== undefined) return verdictOfOther(given, other[1]);
  recogniseConfig(file, text);
  recogniseConfig(file, text, 'named');
  const texts = new Map(
    [given.main, ...(given.neighbour === null ? [] : [given.neighbour])].map((fixture) => [fixture.file, fixture.text]),
  );
  const config = await read(given, texts, shell);
  if (config instanceof ExpectedError) return { problem: null, answered: false, findings: 0, fixed: false };
  if (config.noRun !== null) checkError(config.noRun, texts);
  const findings = [...config.findings, ...(config.run === null ? [] : runFindings(config.run, null))];
  for (const finding of findings) checkFinding(finding, texts);
  const fixed = await tryFix(given, findings, texts, config, shell);
  return { problem: null, answered: true, findings: findings.length, fixed };
}

/** What a face gets; an expected error is checked. */
async function read({ main, neighbour }: Case, texts: Texts, shell: LauncherReader): Promise<LoadedConfig | ExpectedError> {
  try {
    return await loadConfig(main.file, main.text, {
      read: () =>
        neighbour === null
          ? Promise.reject(configError('config-not-found', sentence`There is no such file`, sentence`create it`))
          : Promise.resolve(neighbour),
      shell: () => Promise.resolve(shell),
    });
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    checkError(error, texts);
    return error;
  }
}

function checkError(error: ExpectedError, texts: Texts): void {
  if (error.place === undefined) throw new Defect(`${error.code} has no place`);
  checkPlace(error.place, texts, error.code);
  checkWords(error.code, [error.message, say(error.remedy)]);
}

function checkFinding({ code, place, message, remedy, fixes }: Finding, texts: Texts): void {
  checkPlace(place, texts, code);
  checkWords(code, [say(message), say(remedy), ...fixes.map(({ title }) => say(title))]);
  for (const fix of fixes) checkEdits(code, fix, texts);
}

function checkEdits(code: string, { edits }: Fix, texts: Texts): void {
  if (edits.length === 0) throw new Defect(`${code} has a fix without edits`);
  for (const { place } of edits) checkPlace(place, texts, `a fix of ${code}`);
  const sorted = edits.toSorted((a, b) => a.place.range.start - b.place.range.start);
  for (const [index, { place }] of sorted.entries()) {
    const next = sorted.slice(index + 1).find((edit) => edit.place.file === place.file);
    if (next !== undefined && next.place.range.start < place.range.end) throw new Defect(`${code} has a fix whose edits overlap`);
  }
}

function checkPlace({ file, range: { start, end } }: Place, texts: Texts, what: string): void {
  const length = texts.get(file)?.length;
  if (length === undefined) throw new Defect(`${what} is placed in a file that was not read`);
  const whole = Number.isInteger(start) && Number.isInteger(end);
  if (!whole || start < 0 || end < start || end > length)
    throw new Defect(`${what} is placed outside the text\n${start} to ${end} of ${length} characters`);
}

/** Sentences are printed on terminals: a file's control characters have no place there, nor has what JavaScript calls nothing. */
function checkWords(code: string, sentences: readonly string[]): void {
  const odd = sentences.find((sentence) => sentence === '' || /\p{Cc}|undefined|\[object/u.test(sentence));
  if (odd !== undefined) throw new Defect(`${code} has an odd sentence\n${JSON.stringify(odd)}`);
}

/** Codes of a file that a fix has broken. A key set right may still have a value that is refused. */
const broken = /syntax|empty|unknown-format|binary/;
/** Codes of keys. A section whose name is set right is read for the first time, with the keys that were in it twice before. */
const brokenKey = /duplicate|forbidden/;

/** Applies one of the fixes; what it writes must be read as the same format. */
async function tryFix(
  given: Case,
  findings: readonly Finding[],
  texts: Texts,
  { format }: LoadedConfig,
  shell: LauncherReader,
): Promise<boolean> {
  const offers = findings.flatMap(({ code, fixes }) => fixes.map((fix) => ({ code, fix })));
  const offer = offers[given.main.text.length % Math.max(1, offers.length)];
  if (offer === undefined) return false;
  const { code, fix } = offer;
  const mended = ({ file, text }: Fixture): Fixture => {
    const own = fix.edits.filter(({ place }) => place.file === file);
    return { file, text: applied(text, own) };
  };
  const after: Case = { ...given, main: mended(given.main), neighbour: given.neighbour === null ? null : mended(given.neighbour) };
  const edited = [after.main, ...(after.neighbour === null ? [] : [after.neighbour])].map(
    (fixture) => [fixture.file, fixture.text] as const,
  );
  const config = await read(after, new Map([...texts, ...edited]), shell);
  if (config instanceof ExpectedError && isBroken(config, fix, after))
    throw new Defect(`a fix of ${code} breaks the file\n${say(fix.title)}: ${config.message}`);
  if (!(config instanceof ExpectedError) && config.format !== format)
    throw new Defect(`a fix of ${code} makes it another format\n${say(fix.title)}`);
  return true;
}

/** Whether an edit of the fix is to blame for an error of what it wrote. */
function isBroken({ code, place }: ExpectedError, { edits }: Fix, { main, neighbour }: Case): boolean {
  const own = edits.filter((edit) => edit.place.file === place?.file);
  const text = [main, neighbour].find((fixture) => fixture?.file === place?.file)?.text ?? '';
  const key = text.slice(place?.range.start, place?.range.end);
  return (broken.test(code) && own.length > 0) || (brokenKey.test(code) && own.some(({ newText }) => newText.includes(key)));
}

function applied(text: string, edits: readonly TextEdit[]): string {
  return edits
    .toSorted((a, b) => b.place.range.start - a.place.range.start)
    .reduce((result, { place: { range }, newText }) => result.slice(0, range.start) + newText + result.slice(range.end), text);
}

/** The error with the line of ours that it came from first, so that one defect has one name. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return `something that is not an Error: ${String(error)}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.includes('at '));
  const ours = frames.find((line) => line.includes('/src/'))?.trim() ?? '';
  return `${error.name} ${ours.replace(/\(.*\/src\//, '(src/')}\n${error.message.slice(0, 300)}\n${frames.slice(0, 8).join('\n')}`;
}

import type { Finding } from '../core/findings';
import { lineColumnAt, printable } from '../core/text';
import type { ExpectedError } from '../core/errors';
import type { Place } from '../core/domain/located';
import { remarkLine, remarkSeverity, type Remark } from '../core/launchers/writing/remarks';
import { say } from '../core/sentence';

/** The text of a command: the same in JSON and in words, and the exit status. */
export interface Answer {
  readonly json: object;
  readonly text: string;
  /** The pieces of a text that may be too long for one, taken once: printed in place of `text`, and in JSON as its `text`. */
  readonly pieces?: Iterable<string>;
  readonly exitCode: 0 | 1 | 3;
}

/** Whether a command line asks for JSON, understood or not. */
export function asksForJson(args: readonly string[]): boolean {
  return args.some((arg, index) => arg === '--json' || arg === '--format=json' || (arg === 'json' && args[index - 1] === '--format'));
}

/** What an answer prints, piece by piece, its last line broken. */
export function* printedPieces({ json, text, pieces }: Answer, asJson: boolean): Generator<string> {
  if (pieces === undefined) yield asJson ? `${JSON.stringify(json)}\n` : text === '' ? '' : `${text}\n`;
  else if (asJson) yield* jsonPieces(json, pieces);
  else yield* withLastBreak(pieces);
}

function* withLastBreak(pieces: Iterable<string>): Generator<string> {
  let last = '';
  for (const piece of pieces) yield (last = piece);
  if (!last.endsWith('\n')) yield '\n';
}

/** The JSON of an object that also has a long `text`. A piece of a string is a piece of its JSON: even half a character is escaped. */
function* jsonPieces(json: object, pieces: Iterable<string>): Generator<string> {
  yield `${JSON.stringify(json).slice(0, -1)},"text":"`;
  for (const piece of pieces) yield JSON.stringify(piece).slice(1, -1);
  yield '"}\n';
}

/** Texts by file, for turning offsets into lines. */
export type Texts = ReadonlyMap<string, string>;

/** A finding as `check` and `plan` print it in JSON; lines and columns from 1. */
export interface PrintedFinding {
  readonly file: string;
  readonly code: string;
  readonly severity: Finding['severity'];
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly message: string;
  readonly remedy: string;
  readonly fixes: readonly string[];
}

/** `train.sh:3:17`. */
export function whereText({ file, line, column }: Pick<PrintedFinding, 'file' | 'line' | 'column'>): string {
  return `${file}:${line}:${column}`;
}

/** A finding with its place in lines and columns. */
export function printedFinding({ code, severity, place, message, remedy, fixes }: Finding, texts: Texts): PrintedFinding {
  const text = texts.get(place.file) ?? '';
  const start = lineColumnAt(text, place.range.start);
  const end = lineColumnAt(text, place.range.end);
  return {
    file: place.file,
    code,
    severity,
    ...start,
    endLine: end.line,
    endColumn: end.column,
    message: say(message),
    remedy: say(remedy),
    fixes: fixes.map(({ title }) => say(title)),
  };
}

/** `file:line:column: severity: what; what to do [code]`. */
export function findingLine({ file, line, column, severity, message, remedy, code }: PrintedFinding): string {
  return printable(`${file}:${line}:${column}: ${severity}: ${message}; ${remedy} [${code}]`);
}

/** What a written file leaves out of a plan, by severity: `warning: not written: what: why`. */
export function printedRemark(remark: Remark): string {
  return printable(`${remarkSeverity(remark)}: ${say(remarkLine(remark))}`);
}

/** `file:line:column: what; what to do`, or `terapipe: what; what to do` for trouble that is in no file; a line for each further error. */
export function errorLine({ message, remedy, place, further }: ExpectedError, texts: Texts): string {
  const line = printable(`${place === undefined ? 'terapipe' : placeText(place, texts)}: ${message}; ${say(remedy)}`);
  return [line, ...further.map((error) => errorLine(error, texts))].join('\n');
}

/** The error object of `--json`. */
export function errorJson(error: ExpectedError, texts: Texts): object {
  const { further } = error;
  const others = further.length === 0 ? {} : { further: further.map((each) => placedJson(each, texts)) };
  return { version: 1, error: { ...placedJson(error, texts), ...others } };
}

function placedJson({ code, message, remedy, place }: ExpectedError, texts: Texts): object {
  const start = place === undefined ? { line: null, column: null } : lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return { code, message, remedy: say(remedy), file: place?.file ?? null, ...start };
}

function placeText(place: Place, texts: Texts): string {
  const { line, column } = lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return `${place.file}:${line}:${column}`;
}

import type { Finding } from '../core/findings';
import { lineColumnAt, printable } from '../core/text';
import type { ExpectedError } from '../core/errors';
import type { Place } from '../core/located';

/** What a command says: the same in JSON and in words, and the exit status. */
export interface Answer {
  readonly json: object;
  readonly text: string;
  readonly exitCode: 0 | 1;
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
    message,
    remedy,
    fixes: fixes.map(({ title }) => title),
  };
}

/** `file:line:column: severity: what; what to do [code]`. */
export function findingLine({ file, line, column, severity, message, remedy, code }: PrintedFinding): string {
  return printable(`${file}:${line}:${column}: ${severity}: ${message}; ${remedy} [${code}]`);
}

/** `file:line:column: what; what to do`, or `terapipe: what; what to do` for trouble that is in no file. */
export function errorLine({ message, remedy, place }: ExpectedError, texts: Texts): string {
  return printable(`${place === undefined ? 'terapipe' : placeText(place, texts)}: ${message}; ${remedy}`);
}

/** The error object of `--json`. */
export function errorJson({ code, message, remedy, place }: ExpectedError, texts: Texts): object {
  const start = place === undefined ? { line: null, column: null } : lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return { version: 1, error: { code, message, remedy, file: place?.file ?? null, ...start } };
}

function placeText(place: Place, texts: Texts): string {
  const { line, column } = lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return `${place.file}:${line}:${column}`;
}

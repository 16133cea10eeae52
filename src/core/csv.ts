import Papa from 'papaparse';
import { ExpectedError } from './errors';
import { formatCount } from './format';
import type { TextRange } from './domain/located';
import { type Sentence, sentence } from './sentence';

/** UTF-16 units; 100,000 rows of five numbers stay below. */
const maximumSize = 16 * 2 ** 20;
const maximumRows = 100_000;

interface CsvRow {
  readonly cells: readonly string[];
  /** Offset of the row or of comments and empty lines before it. */
  readonly start: number;
}

/** A table of text, its header the first row. */
export interface Csv {
  readonly file: string;
  readonly text: string;
  readonly delimiter: string;
  readonly rows: readonly CsvRow[];
}

/**
 * Reads a table with comma, semicolon or tab; lines from `#` are comments.
 * @param columns what its header should name, for the message of an empty file.
 * @throws ExpectedError, placed: `csv-syntax`, `csv-too-large`.
 */
export function readCsv(text: string, file: string, columns: string): Csv {
  const clean = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const shift = text.length - clean.length;
  const header = clean.split(/\r\n|\r|\n/, 1_000).find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  const delimiter = [',', ';', '\t'].reduce((best, candidate) =>
    header.split(candidate).length > header.split(best).length ? candidate : best,
  );
  const rows: CsvRow[] = [];
  const csv: Csv = { file, text, delimiter, rows };
  if (text.length > maximumSize)
    throw csvError(
      csv,
      'csv-too-large',
      sentence`The file has more than ${formatCount(maximumSize)} characters`,
      sentence`import a smaller table`,
      {
        start: 0,
        end: 0,
      },
    );
  let start = shift;
  Papa.parse<string[]>(clean, {
    delimiter,
    comments: '#',
    skipEmptyLines: 'greedy',
    step: ({ data, meta, errors }, parser) => {
      const [error] = errors;
      if (error !== undefined)
        throw csvError(
          csv,
          'csv-syntax',
          sentence`CSV error: ${error.message}`,
          sentence`close the quotes`,
          lineAt(csv, shift + (error.index ?? 0)),
        );
      rows.push({ cells: data, start });
      start = shift + meta.cursor;
      if (rows.length > maximumRows + 1) parser.abort();
    },
  });
  if (rows.length > maximumRows + 1)
    throw csvError(
      csv,
      'csv-too-large',
      sentence`The file has more than ${formatCount(maximumRows)} rows`,
      sentence`import a smaller table`,
      lineAt(csv, rows.at(-1)?.start ?? 0),
    );
  if (rows.length === 0)
    throw csvError(csv, 'csv-syntax', sentence`The file is empty`, sentence`write a header with ${columns}, and a row for each`, {
      start: 0,
      end: 0,
    });
  return csv;
}

/** A number as tables write it; NaN for anything else. */
export function csvNumber(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
}

/** Names of the columns without case and punctuation, so that `forward_ms`, `forwardMs` and `Forward (ms)` are one. */
export function csvHeader({ rows }: Csv): string[] {
  return rows[0]?.cells.map((cell) => cell.toLowerCase().replace(/[^a-z]/g, '')) ?? [];
}

/** An error at a range of the table. */
export function csvError({ file }: Csv, code: string, message: Sentence, remedy: Sentence, range: TextRange): ExpectedError {
  return new ExpectedError(code, message, remedy, { file, range });
}

/** From an offset to the end of its line. */
export function lineAt({ text }: Csv, start: number): TextRange {
  const length = text.slice(start).search(/[\r\n]/);
  return { start: Math.min(start, text.length), end: length === -1 ? text.length : start + length };
}

/** Where a cell of a row is, quotes and blanks included; the row's end where the row has no such cell. */
export function cellRange(csv: Csv, row: number, index: number): TextRange {
  const { text, delimiter } = csv;
  let start = csv.rows[row]?.start ?? 0;
  for (
    let line = lineAt(csv, start);
    start < text.length && isSkipped(text.slice(line.start, line.end), delimiter);
    line = lineAt(csv, start)
  )
    start = text.startsWith('\r\n', line.end) ? line.end + 2 : line.end + 1;
  for (let cell = 0; ; cell++) {
    const end = cellEnd(text, start, delimiter);
    if (cell === index || text[end] !== delimiter) return { start: cell === index ? start : end, end };
    start = end + 1;
  }
}

/** A comment, or a line of blanks and delimiters, which hold no row. */
function isSkipped(line: string, delimiter: string): boolean {
  return line.startsWith('#') || line.replaceAll(delimiter, '').trim() === '';
}

function cellEnd(text: string, start: number, delimiter: string): number {
  let inQuotes = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') inQuotes = !inQuotes;
    else if (!inQuotes && (character === delimiter || character === '\n' || character === '\r')) return at;
  }
  return text.length;
}

import Papa from 'papaparse';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { TextRange } from '../located';
import { orList, quoted } from '../text';
import { fitErrors, fitPart } from './fit';
import type { Profile, Sample } from './profile';
import { mostSamples } from './schema';

/** What a table of times does not say of itself. */
export type ImportDescription = Pick<Profile, 'title' | 'measuredAt' | 'device' | 'tensor' | 'shape' | 'precision' | 'attention'>;

/** UTF-16 units; 100,000 rows of five numbers stay below. */
const maximumSize = 16 * 2 ** 20;
const maximumRows = 100_000;
const fewestLengths = 3;
/** What a backward takes that nobody measured: two GEMMs for each of the forward's. */
const assumedBackward = 2;

/** Columns by name without case and punctuation, so that `forward_ms`, `forwardMs` and `Forward (ms)` are one. */
const columnNames = { tokens: 'tokens', context: 'context', batch: 'batch', forwardMs: 'forwardms', backwardMs: 'backwardms' } as const;
type Column = keyof typeof columnNames;
const written: Readonly<Record<Column, string>> = {
  tokens: 'tokens',
  context: 'context',
  batch: 'batch',
  forwardMs: 'forward_ms',
  backwardMs: 'backward_ms',
};

interface Row {
  readonly cells: readonly string[];
  /** Offset of the row or of comments and empty lines before it. */
  readonly start: number;
}

interface Csv {
  readonly file: string;
  readonly text: string;
  readonly delimiter: string;
  readonly rows: readonly Row[];
}

/**
 * A profile of slice times that were measured elsewhere (from PyTorch, say). CSV with comma, semicolon or tab; a header with `tokens`, `forward_ms`, and where there are any `backward_ms`,
 * `context` (else 0) and `batch` (else 1); times in ms of one layer, lengths in tokens. Lines from `#` are comments, other columns are ignored. A cell that occurs again counts as another round:
 * the least is kept. Errors of the fit are by leave-one-out.
 *
 * @throws ExpectedError, placed at the cell: `csv-syntax`, `csv-too-large`, `csv-column` (missing or twice), `csv-number` (no number, or none that fits the column), `csv-too-few` (under three
 * lengths of batch 1 without context).
 */
export function importTimes(text: string, file: string, description: ImportDescription): Profile {
  const csv = readCsv(text, file);
  const columns = columnsOf(csv);
  const samples = samplesOf(csv, columns);
  const lengths = samples.filter(({ batch, context }) => batch === 1 && context === 0).length;
  const fit = lengths < fewestLengths ? null : fitPart(samples);
  if (fit === null)
    throw csvError(
      csv,
      'csv-too-few',
      `The file has ${formatCount(lengths)} slice lengths of batch 1 with context 0; a fit needs at least ${fewestLengths}`,
      'measure more lengths without context',
      cellRange(csv, 0, 0),
    );
  const assumed = columns.backwardMs === undefined;
  return {
    ...{ version: 1, kind: 'terapipe-profile', status: 'complete', error: null, source: 'imported', provider: null, versions: {} },
    ...description,
    sequenceLength: samples.reduce((most, { tokens, context }) => Math.max(most, tokens + context), 0),
    largestBatch: samples.reduce((most, { batch }) => Math.max(most, batch), 1),
    threads: null,
    samples: { layer: samples, embedding: [], head: [] },
    skipped: [],
    twoLayerRatio: null,
    fit: { layer: fit, embedding: null, head: null },
    errors: fitErrors(fit, samples),
    seconds: 0,
    warnings: assumed ? [`The backward times are not measured: they are taken as ${assumedBackward} times the forward`] : [],
  };
}

function readCsv(text: string, file: string): Csv {
  const clean = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const shift = text.length - clean.length;
  const header = clean.split(/\r\n|\r|\n/, 1_000).find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  const delimiter = [',', ';', '\t'].reduce((best, candidate) =>
    header.split(candidate).length > header.split(best).length ? candidate : best,
  );
  const rows: Row[] = [];
  const csv: Csv = { file, text, delimiter, rows };
  if (text.length > maximumSize)
    throw csvError(csv, 'csv-too-large', 'The file is over 16 MB', 'import a smaller table', { start: 0, end: 0 });
  let start = shift;
  Papa.parse<string[]>(clean, {
    delimiter,
    comments: '#',
    skipEmptyLines: 'greedy',
    step: ({ data, meta, errors }, parser) => {
      const [error] = errors;
      if (error !== undefined)
        throw csvError(csv, 'csv-syntax', `CSV error: ${error.message}`, 'close the quotes', lineAt(csv, shift + (error.index ?? 0)));
      rows.push({ cells: data, start });
      start = shift + meta.cursor;
      if (rows.length > maximumRows + 1) parser.abort();
    },
  });
  if (rows.length > maximumRows + 1)
    throw csvError(
      csv,
      'csv-too-large',
      `The file has over ${formatCount(maximumRows)} rows`,
      'import a smaller table',
      lineAt(csv, rows.at(-1)?.start ?? 0),
    );
  if (rows.length === 0)
    throw csvError(csv, 'csv-syntax', 'The file is empty', 'write a header with tokens and forward_ms, and a row for each slice', {
      start: 0,
      end: 0,
    });
  return csv;
}

function columnsOf(csv: Csv): Partial<Readonly<Record<Column, number>>> {
  const header = csv.rows[0]?.cells.map((cell) => cell.toLowerCase().replace(/[^a-z]/g, '')) ?? [];
  const columns: Partial<Record<Column, number>> = {};
  for (const column of Object.keys(columnNames) as Column[]) {
    const found = header.indexOf(columnNames[column]);
    if (found === -1) continue;
    const again = header.indexOf(columnNames[column], found + 1);
    if (again !== -1)
      throw csvError(csv, 'csv-column', `Column ${written[column]} is there twice`, 'keep one of the two', cellRange(csv, 0, again));
    columns[column] = found;
  }
  const missing = (['tokens', 'forwardMs'] as const).find((column) => columns[column] === undefined);
  if (missing !== undefined)
    throw csvError(
      csv,
      'csv-column',
      `The header has no column ${written[missing]}`,
      `name the columns ${orList(Object.values(written)).replace(' or ', ' and ')}; the last two times in ms, context and batch where they are not 0 and 1`,
      lineAt(csv, cellRange(csv, 0, 0).start),
    );
  return columns;
}

function samplesOf(csv: Csv, columns: Partial<Readonly<Record<Column, number>>>): Sample[] {
  const known = new Map<string, Sample>();
  csv.rows.slice(1).forEach((_, i) => {
    const read = (column: Column, otherwise: number): number => {
      const index = columns[column];
      return index === undefined ? otherwise : readNumber(csv, i + 1, index, column);
    };
    const cell = { batch: read('batch', 1), tokens: read('tokens', 1), context: read('context', 0) };
    const forwardMs = read('forwardMs', 1);
    const backwardMs = read('backwardMs', assumedBackward * forwardMs);
    const key = `${cell.batch},${cell.tokens},${cell.context}`;
    const before = known.get(key);
    if (before === undefined && known.size >= mostSamples)
      throw csvError(
        csv,
        'csv-too-large',
        `The file has over ${formatCount(mostSamples)} different slices`,
        'import a smaller table',
        cellRange(csv, i + 1, 0),
      );
    known.set(key, {
      ...cell,
      forwardMs: Math.min(forwardMs, before?.forwardMs ?? Infinity),
      backwardMs: Math.min(backwardMs, before?.backwardMs ?? Infinity),
      rounds: (before?.rounds ?? 0) + 1,
      holdOut: false,
    });
  });
  return [...known.values()];
}

/** Of each column: the least value, whether it is whole, the most, and the same in words. */
const ranges: Readonly<Record<Column, { readonly fits: (value: number) => boolean; readonly words: string }>> = {
  tokens: wholeFrom(1),
  context: wholeFrom(0),
  batch: wholeFrom(1),
  forwardMs: { fits: (value) => value > 0 && value <= 1e9, words: 'a time in ms above 0' },
  backwardMs: { fits: (value) => value > 0 && value <= 1e9, words: 'a time in ms above 0' },
};

function wholeFrom(least: number) {
  return { fits: (value: number) => Number.isInteger(value) && value >= least && value <= 1e8, words: `a whole number from ${least}` };
}

function readNumber(csv: Csv, row: number, index: number, column: Column): number {
  const text = (csv.rows[row]?.cells[index] ?? '').trim();
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (ranges[column].fits(value)) return value;
  const comma = /^\d+,\d+$/.test(text) ? ', with a decimal point' : '';
  throw csvError(
    csv,
    'csv-number',
    text === '' ? `${written[column]} is missing in this row` : `${quoted(text)} is no ${written[column]}`,
    `write ${ranges[column].words}${comma}`,
    cellRange(csv, row, index),
  );
}

function csvError({ file }: Csv, code: string, message: string, remedy: string, range: TextRange): ExpectedError {
  return new ExpectedError(code, message, remedy, { file, range });
}

/** From an offset to the end of its line. */
function lineAt({ text }: Csv, start: number): TextRange {
  const length = text.slice(start).search(/[\r\n]/);
  return { start: Math.min(start, text.length), end: length === -1 ? text.length : start + length };
}

/** Where a cell of a row stands, quotes and blanks included; the row's end where the row has no such cell. */
function cellRange(csv: Csv, row: number, index: number): TextRange {
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

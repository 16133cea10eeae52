import { cellRange, csvError, csvNumber, csvHeader, lineAt, readCsv, type Csv } from '../csv';
import { formatCount } from '../format';
import { orList, quoted } from '../text';
import { fitErrors, fitPart } from './fit';
import type { Profile, Sample } from '../domain/profile';
import { mostSamples } from './schema';
import { sentence, type Sentence } from '../sentence';
import type { PlanRequest } from '../domain/request';
import { rankLayerShape } from './shape';

/** What a table of times lacks. */
type ImportDescription = Pick<Profile, 'title' | 'measuredAt' | 'device' | 'tensor' | 'shape' | 'precision' | 'attention'>;

const fewestLengths = 3;
/** What a backward takes that nobody measured: two GEMMs for each of the forward's. */
const assumedBackward = 2;

/** Columns by name, as `csvHeader` gives it. */
const columnNames = { tokens: 'tokens', context: 'context', batch: 'batch', forwardMs: 'forwardms', backwardMs: 'backwardms' } as const;
type Column = keyof typeof columnNames;
const written: Readonly<Record<Column, string>> = {
  tokens: 'tokens',
  context: 'context',
  batch: 'batch',
  forwardMs: 'forward_ms',
  backwardMs: 'backward_ms',
};

/**
 * A profile of slice times that were measured elsewhere (from PyTorch, say). CSV with comma, semicolon or tab; a header with `tokens`,
 * `forward_ms`, and where there are any `backward_ms`, `context` (else 0) and `batch` (else 1); times in ms of one layer, lengths in
 * tokens. Lines from `#` are comments, other columns are ignored. A cell that occurs again counts as another round: the least is kept.
 * Errors of the fit are by leave-one-out.
 *
 * @throws ExpectedError, placed at the cell: `csv-syntax`, `csv-too-large`, `csv-column` (missing or twice), `csv-number` (no number, or
 * none that fits the column), `csv-too-few` (under three lengths of batch 1 without context).
 */
export function importTimes(text: string, file: string, description: ImportDescription): Profile {
  const csv = readCsv(text, file, 'tokens and forward_ms');
  const columns = findColumns(csv);
  const samples = readSamples(csv, columns);
  const lengths = samples.filter(({ batch, context }) => batch === 1 && context === 0).length;
  const fit = lengths < fewestLengths ? null : fitPart(samples);
  if (fit === null)
    throw csvError(
      csv,
      'csv-too-few',
      sentence`The file has ${formatCount(lengths)} slice lengths of batch 1 with context 0; a fit needs at least ${fewestLengths}`,
      sentence`measure more lengths without context`,
      cellRange(csv, 0, 0),
    );
  const assumed = columns.backwardMs === undefined;
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    source: 'imported',
    provider: null,
    versions: {},
    ...description,
    tf32: null,
    launches: null,
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

function findColumns(csv: Csv): Partial<Readonly<Record<Column, number>>> {
  const header = csvHeader(csv);
  const columns: Partial<Record<Column, number>> = {};
  for (const column of Object.keys(columnNames) as Column[]) {
    const found = header.indexOf(columnNames[column]);
    if (found === -1) continue;
    const again = header.indexOf(columnNames[column], found + 1);
    if (again !== -1)
      throw csvError(
        csv,
        'csv-column',
        sentence`Column ${written[column]} appears twice`,
        sentence`keep one of the two`,
        cellRange(csv, 0, again),
      );
    columns[column] = found;
  }
  const missing = (['tokens', 'forwardMs'] as const).find((column) => columns[column] === undefined);
  if (missing !== undefined)
    throw csvError(
      csv,
      'csv-column',
      sentence`The header has no column ${written[missing]}`,
      sentence`name the columns ${orList(Object.values(written)).replace(' or ', ' and ')}; the last two times in ms, context and batch where they are not 0 and 1`,
      lineAt(csv, cellRange(csv, 0, 0).start),
    );
  return columns;
}

function readSamples(csv: Csv, columns: Partial<Readonly<Record<Column, number>>>): Sample[] {
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
        sentence`The file has more than ${formatCount(mostSamples)} different slices`,
        sentence`import a smaller table`,
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
const ranges: Readonly<Record<Column, { readonly fits: (value: number) => boolean; readonly words: Sentence }>> = {
  tokens: wholeFrom(1),
  context: wholeFrom(0),
  batch: wholeFrom(1),
  forwardMs: { fits: (value) => value > 0 && value <= 1e9, words: sentence`a time in ms above 0` },
  backwardMs: { fits: (value) => value > 0 && value <= 1e9, words: sentence`a time in ms above 0` },
};

function wholeFrom(least: number) {
  return {
    fits: (value: number) => Number.isInteger(value) && value >= least && value <= 1e8,
    words: sentence`a whole number from ${least}`,
  };
}

function readNumber(csv: Csv, row: number, index: number, column: Column): number {
  const text = (csv.rows[row]?.cells[index] ?? '').trim();
  const value = csvNumber(text);
  if (ranges[column].fits(value)) return value;
  const comma = /^\d+,\d+$/.test(text) ? sentence`, with a decimal point` : '';
  throw csvError(
    csv,
    'csv-number',
    text === '' ? sentence`${written[column]} is missing in this row` : sentence`${quoted(text)} is not valid for ${written[column]}`,
    sentence`write ${ranges[column].words}${comma}`,
    cellRange(csv, row, index),
  );
}

/**
 * What a file of times measured elsewhere is taken to be of: the layer of `request` on `device`.
 * @param measuredAt ISO 8601.
 */
export function importedFor({ model, layout, training, title }: PlanRequest, device: string, measuredAt: string): ImportDescription {
  return {
    title,
    measuredAt,
    device: { kind: isProcessor(device) ? 'cpu' : 'gpu', name: device, memoryBytes: null, driver: null },
    tensor: layout.tensor,
    shape: rankLayerShape(model, layout.tensor, layout.expert),
    precision: training.precision,
    attention: { forward: training.attention, backward: training.attention },
  };
}

/** Names of processors as their makers give them. */
function isProcessor(device: string): boolean {
  return /\b(cpu|epyc|xeon|ryzen|threadripper|core i\d|apple m\d)\b/i.test(device);
}

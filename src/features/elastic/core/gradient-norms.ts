import type { Node } from 'jsonc-parser';
import { describeNode, readMembers, parseDocument, nodePlace, type JsonDocument } from '../../../core/languages/json/document';
import { cellRange, csvError, csvNumber, csvHeader, readCsv, type Csv } from '../../../core/csv';
import { ExpectedError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import type { Place, TextRange } from '../../../core/domain/located';
import { quoted } from '../../../core/text';
import { normKey, mostIndex, type NormTable } from './norm-table';
import { sentence, type Sentence, type Value } from '../../../core/sentence';

/**
 * Reads a log of gradient norms. CSV: columns `epoch`, `layer` and `norm` (or `grad_norm`), one row each; `epoch` (or `step`), `tag` and
 * `value`; `epoch` (or `step`) and one column a layer (`grad_norm/layer_3`); or TensorBoard's `Wall time,Step,Value` of one layer, which
 * the file name shows. Rows of one epoch and layer are averaged, other columns ignored; steps ascending are one epoch each. JSON:
 * `{"norms": [[one per layer], ...]}`, a list an epoch, null where a layer has none (frozen), or `{"norms": [{"epoch", "layer", "norm"},
 * ...]}`; JSONL: such a record a line, or `{"epoch", "norms": [one per layer]}`. Epochs and layers from 0.
 * @throws ExpectedError, placed: as `readCsv` and `parseDocument`; `csv-column`; `csv-number` and `elastic-norm` for what is not a norm
 * (NaN, negative, text).
 */
export function readGradientNorms(text: string, file: string): NormTable {
  if (/\.(jsonl|ndjson)$/i.test(file)) return readLines(text, file);
  const isJson = /^\uFEFF?\s*[{[]/.test(text) || /\.jsonc?$/i.test(file);
  return isJson ? readJson(text, file) : readTable(text, file);
}

/** Collects norms row by row. */
function collector(file: string) {
  const sums = new Map<number, { total: number; rows: number }>();
  const places = new Map<number, Place>();
  return {
    add: (epoch: number, layer: number, norm: number, range: TextRange): void => {
      const { total, rows } = sums.get(normKey(epoch, layer)) ?? { total: 0, rows: 0 };
      sums.set(normKey(epoch, layer), { total: total + norm, rows: rows + 1 });
      if (!places.has(epoch)) places.set(epoch, { file, range });
    },
    table: (end: Place): NormTable => ({
      file,
      norms: new Map([...sums].map(([key, { total, rows }]) => [key, total / rows])),
      places,
      end,
    }),
  };
}

/** The layer that a column, a tag or a file is named by: `grad_norm/layer_3`, `h.3`, `encoder.layer.11`; null without a number. */
function layerNamed(name: string): number | null {
  const [, digits] = /(?:layers?|blocks?|\bh)[._/\s-]*(\d{1,5})(?!.*(?:layers?|blocks?)[._/\s-]*\d)/i.exec(name.slice(-200)) ?? [];
  return digits === undefined || Number(digits) > mostIndex ? null : Number(digits);
}

/** The column of each layer's norm; a tag names the layer of its row. */
type Columns =
  | { readonly epoch: number; readonly isStep: boolean; readonly values: readonly (readonly [column: number, layer: number])[] }
  | { readonly epoch: number; readonly isStep: boolean; readonly tag: number; readonly value: number };

/** Columns as TensorBoard and other trackers export them; null when the table has columns `layer` and `norm`, or nothing of the kind. */
function trackedColumns(csv: Csv, header: readonly string[]): Columns | null {
  const epoch = header.findIndex((name) => name === 'epoch');
  const step = header.findIndex((name) => name === 'step');
  const at = { epoch: epoch === -1 ? step : epoch, isStep: epoch === -1 };
  if (at.epoch === -1 || header.includes('layer') || header.includes('layerindex')) return null;
  const [tag, value] = [header.indexOf('tag'), header.indexOf('value')];
  if (tag !== -1 && value !== -1) return { ...at, tag, value };
  if (value !== -1) {
    const layer = layerNamed(csv.file);
    if (layer !== null) return { ...at, values: [[value, layer]] };
    throw csvError(
      csv,
      'csv-column',
      sentence`The name of the file has no layer`,
      sentence`name it as TensorBoard does, with layer_ and a number from 0`,
      cellRange(csv, 0, value),
    );
  }
  const values = (csv.rows[0]?.cells ?? []).flatMap((name, column): [number, number][] => {
    const layer = column === at.epoch ? null : layerNamed(name);
    return layer === null ? [] : [[column, layer]];
  });
  return values.length === 0 ? null : { ...at, values };
}

/** Steps ascending are one epoch each; epochs are as they are. */
function epochReader(csv: Csv, { epoch, isStep }: Columns): (row: number) => number {
  if (!isStep) return (row) => indexAt(csv, row, epoch, 'epoch');
  const stepAt = (row: number): number => csvNumber((csv.rows[row]?.cells[epoch] ?? '').trim());
  const steps = [...new Set(csv.rows.map((_, row) => stepAt(row)).filter(Number.isFinite))].sort((a, b) => a - b);
  const epochOfStep = new Map(steps.map((step, index) => [step, index]));
  return (row) => epochOfStep.get(stepAt(row)) ?? -1;
}

function readTracked(csv: Csv, columns: Columns): NormTable {
  const { add, table } = collector(csv.file);
  const epochAt = epochReader(csv, columns);
  for (let row = 1; row < csv.rows.length; row++) {
    const epoch = epochAt(row);
    const values = 'tag' in columns ? [[columns.value, layerNamed(csv.rows[row]?.cells[columns.tag] ?? '')] as const] : columns.values;
    for (const [column, layer] of values) {
      // Other tags, and cells that a tracker leaves empty.
      if (layer === null || (csv.rows[row]?.cells[column] ?? '').trim() === '') continue;
      if (epoch < 0) indexAt(csv, row, columns.epoch, 'step');
      add(epoch, layer, normAt(csv, row, column), cellRange(csv, row, columns.epoch));
    }
  }
  return table({ file: csv.file, range: cellRange(csv, csv.rows.length - 1, 0) });
}

function readTable(text: string, file: string): NormTable {
  const csv = readCsv(text, file, 'epoch, layer and norm');
  const header = csvHeader(csv);
  const tracked = trackedColumns(csv, header);
  if (tracked !== null) return readTracked(csv, tracked);
  const findColumn = (...names: readonly string[]): number => {
    const found = header.findIndex((name) => names.includes(name));
    const again = header.findIndex((name, index) => index > found && names.includes(name));
    if (again !== -1 && found !== -1)
      throw csvError(
        csv,
        'csv-column',
        sentence`Column ${names[0] ?? ''} appears twice`,
        sentence`keep one of the two`,
        cellRange(csv, 0, again),
      );
    if (found !== -1) return found;
    throw csvError(
      csv,
      'csv-column',
      sentence`The header has no column ${names[0] ?? ''}`,
      sentence`name the columns epoch, layer and norm`,
      cellRange(csv, 0, 0),
    );
  };
  const columns = [findColumn('epoch'), findColumn('layer', 'layerindex'), findColumn('norm', 'gradnorm', 'gradientnorm')] as const;
  const { add, table } = collector(file);
  for (let row = 1; row < csv.rows.length; row++) {
    const [epoch, layer] = [indexAt(csv, row, columns[0], 'epoch'), indexAt(csv, row, columns[1], 'layer')];
    add(epoch, layer, normAt(csv, row, columns[2]), cellRange(csv, row, columns[0]));
  }
  return table({ file, range: cellRange(csv, csv.rows.length - 1, 0) });
}

const normRemedy = sentence`write a number from 0; leave the row out for a layer that is frozen`;

function normAt(csv: Csv, row: number, column: number): number {
  const { value, written } = cellNumber(csv, row, column);
  if (value >= 0 && Number.isFinite(value)) return value;
  throw csvError(csv, 'csv-number', sentence`${written} is not a gradient norm`, normRemedy, cellRange(csv, row, column));
}

function cellNumber(csv: Csv, row: number, column: number): { readonly value: number; readonly written: Value } {
  const text = (csv.rows[row]?.cells[column] ?? '').trim();
  return { value: csvNumber(text), written: text === '' ? sentence`An empty cell` : quoted(text) };
}

function indexAt(csv: Csv, row: number, column: number, name: string): number {
  const { value, written } = cellNumber(csv, row, column);
  if (Number.isInteger(value) && value >= 0 && value <= mostIndex) return value;
  throw csvError(
    csv,
    'csv-number',
    sentence`${written} is not a valid ${name}`,
    sentence`write a whole number from 0 to ${formatCount(mostIndex)}`,
    cellRange(csv, row, column),
  );
}

function readJson(text: string, file: string): NormTable {
  const document = parseDocument(file, text, 'json');
  const norms = readMembers(document, document.root, sentence`the log`).get('norms');
  if (norms?.value.type !== 'array')
    throw new ExpectedError(
      'elastic-norm',
      sentence`The log has no list "norms"`,
      sentence`write {"norms": [[one number per layer], ...]}, a list an epoch`,
      nodePlace(document, norms?.value ?? document.root),
    );
  const { add, table } = collector(file);
  const rows = norms.value.children ?? [];
  rows.forEach((row, index) => {
    if (row.type === 'object') addRecord(document, row, add);
    else addEpoch(document, row, index, add);
  });
  return table(nodePlace(document, rows.at(-1) ?? norms.value));
}

/** What makes a document of records, one a line. */
const opening = '{"norms":[';

/** A record a line: read as a list whose commas take the places of line ends, so that places stay, except for the length of `opening`. */
function readLines(text: string, file: string): NormTable {
  const body = joinedLines(text.replace(/^\uFEFF/, ' '));
  const back = ({ start, end }: TextRange): TextRange => ({ start: backTo(start, text), end: backTo(end, text) });
  const { add, table } = collector(file);
  try {
    const document = parseDocument(file, `${opening}${body}]}`, 'json');
    const records = readMembers(document, document.root, sentence`the log`).get('norms')?.value.children ?? [];
    for (const row of records) addRecord(document, row, (epoch, layer, norm, range) => add(epoch, layer, norm, back(range)));
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.place === undefined) throw error;
    throw new ExpectedError(error.code, error.what, error.remedy, { file, range: back(error.place.range) });
  }
  return table({ file, range: { start: text.length, end: text.length } });
}

function backTo(offset: number, text: string): number {
  return Math.min(text.length, Math.max(0, offset - opening.length));
}

/** A text of as many characters, with a comma in place of the line end before each line but the first that is not blank. */
function joinedLines(text: string): string {
  const parts = text.split(/(\r\n|\n|\r)/);
  let hasBefore = false;
  for (let at = 0; at < parts.length; at += 2) {
    const isBlank = parts[at]?.trim() === '';
    const end = parts[at - 1] ?? '';
    if (at > 0) parts[at - 1] = (hasBefore && !isBlank ? ',' : ' ').padEnd(end.length);
    hasBefore ||= !isBlank;
  }
  return parts.join('');
}

type Add = ReturnType<typeof collector>['add'];

function addEpoch(document: JsonDocument, row: Node, epoch: number, add: Add): void {
  if (row.type !== 'array') throw notA(document, row, sentence`list of norms, one per layer`);
  (row.children ?? []).forEach((cell, layer) => {
    if (cell.type !== 'null') add(epoch, layer, normIn(document, cell), nodePlace(document, row).range);
  });
}

function addRecord(document: JsonDocument, row: Node, add: Add): void {
  const members = readMembers(document, row, sentence`a record`);
  const index = (name: string): number => {
    const node = members.get(name)?.value;
    const value: unknown = node?.value;
    if (node?.type === 'number' && Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostIndex) return Number(value);
    throw notA(document, node ?? row, sentence`${name}: a whole number from 0 to ${formatCount(mostIndex)}`);
  };
  const listed = members.get('norms')?.value;
  if (listed !== undefined) {
    addEpoch(document, listed, index('epoch'), add);
    return;
  }
  const norm = (members.get('norm') ?? members.get('grad_norm'))?.value;
  if (norm === undefined) throw notA(document, row, sentence`record of epoch, layer and norm`);
  add(index('epoch'), index('layer'), normIn(document, norm), nodePlace(document, row).range);
}

function normIn(document: JsonDocument, node: Node): number {
  const value: unknown = node.value;
  if (node.type === 'number' && typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw notA(document, node, sentence`gradient norm`);
}

function notA(document: JsonDocument, node: Node, what: Sentence): ExpectedError {
  const remedy = sentence`write numbers from 0, and null for a layer that is frozen`;
  return new ExpectedError(
    'elastic-norm',
    sentence`${describeNode(document, node)} is not a valid ${what}`,
    remedy,
    nodePlace(document, node),
  );
}

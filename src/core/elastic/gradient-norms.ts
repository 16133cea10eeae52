import type { Node } from 'jsonc-parser';
import { describeNode, membersOf, parseDocument, placeOf, type JsonDocument } from '../formats/json-document';
import { cellRange, csvError, csvNumber, headerOf, readCsv, type Csv } from '../csv';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Place, TextRange } from '../spec/located';
import { quoted } from '../text';
import { keyOf, mostIndex, type NormTable } from './norm-table';
import { sentence, type Sentence, type Value } from '../sentence';

/**
 * Reads a log of gradient norms. CSV: columns `epoch`, `layer` and `norm` (or `grad_norm`), one row each; rows of one epoch and layer
 * (steps, say) are averaged, other columns ignored. JSON:
 * `{"norms": [[one per layer], ...]}`, a list an epoch, null where a layer has none (frozen), or `{"norms": [{"epoch", "layer", "norm"},
 * ...]}`. Epochs and layers from 0.
 * @throws ExpectedError, placed: as `readCsv` and `parseDocument`; `csv-column`; `csv-number` and `elastic-norm` for what is no norm (NaN,
 * negative, text).
 */
export function readGradientNorms(text: string, file: string): NormTable {
  const isJson = /^\uFEFF?\s*[{[]/.test(text) || /\.jsonc?$/i.test(file);
  return isJson ? readJson(text, file) : readTable(text, file);
}

/** Collects norms row by row. */
function collector(file: string) {
  const sums = new Map<number, { total: number; rows: number }>();
  const places = new Map<number, Place>();
  return {
    add: (epoch: number, layer: number, norm: number, range: TextRange): void => {
      const { total, rows } = sums.get(keyOf(epoch, layer)) ?? { total: 0, rows: 0 };
      sums.set(keyOf(epoch, layer), { total: total + norm, rows: rows + 1 });
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

function readTable(text: string, file: string): NormTable {
  const csv = readCsv(text, file, 'epoch, layer and norm');
  const header = headerOf(csv);
  const columnOf = (...names: readonly string[]): number => {
    const found = header.findIndex((name) => names.includes(name));
    const again = header.findIndex((name, index) => index > found && names.includes(name));
    if (again !== -1 && found !== -1)
      throw csvError(
        csv,
        'csv-column',
        sentence`Column ${names[0] ?? ''} is there twice`,
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
  const columns = [columnOf('epoch'), columnOf('layer', 'layerindex'), columnOf('norm', 'gradnorm', 'gradientnorm')] as const;
  const { add, table } = collector(file);
  for (let row = 1; row < csv.rows.length; row++) {
    const [epoch, layer] = [indexAt(csv, row, columns[0], 'epoch'), indexAt(csv, row, columns[1], 'layer')];
    const norm = cellNumber(csv, row, columns[2]);
    const range = cellRange(csv, row, columns[2]);
    if (!(norm.value >= 0 && Number.isFinite(norm.value)))
      throw csvError(csv, 'csv-number', sentence`${norm.written} is not a gradient norm`, normRemedy, range);
    add(epoch, layer, norm.value, cellRange(csv, row, columns[0]));
  }
  return table({ file, range: cellRange(csv, csv.rows.length - 1, 0) });
}

const normRemedy = sentence`write a number from 0; leave the row out for a layer that is frozen`;

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
    sentence`${written} is no ${name}`,
    sentence`write a whole number from 0 to ${formatCount(mostIndex)}`,
    cellRange(csv, row, column),
  );
}

function readJson(text: string, file: string): NormTable {
  const document = parseDocument(file, text, 'json');
  const norms = membersOf(document, document.root, sentence`the log`).get('norms');
  if (norms?.value.type !== 'array')
    throw new ExpectedError(
      'elastic-norm',
      sentence`The log has no list "norms"`,
      sentence`write {"norms": [[one number per layer], ...]}, a list an epoch`,
      placeOf(document, norms?.value ?? document.root),
    );
  const { add, table } = collector(file);
  const rows = norms.value.children ?? [];
  rows.forEach((row, index) => {
    if (row.type === 'object') addRecord(document, row, add);
    else addEpoch(document, row, index, add);
  });
  return table(placeOf(document, rows.at(-1) ?? norms.value));
}

type Add = ReturnType<typeof collector>['add'];

function addEpoch(document: JsonDocument, row: Node, epoch: number, add: Add): void {
  if (row.type !== 'array') throw notA(document, row, sentence`list of norms, one a layer`);
  (row.children ?? []).forEach((cell, layer) => {
    if (cell.type !== 'null') add(epoch, layer, normIn(document, cell), placeOf(document, row).range);
  });
}

function addRecord(document: JsonDocument, row: Node, add: Add): void {
  const members = membersOf(document, row, sentence`a record`);
  const index = (name: string): number => {
    const node = members.get(name)?.value;
    const value: unknown = node?.value;
    if (node?.type === 'number' && Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostIndex) return Number(value);
    throw notA(document, node ?? row, sentence`${name}: a whole number from 0 to ${formatCount(mostIndex)}`);
  };
  const norm = members.get('norm')?.value;
  if (norm === undefined) throw notA(document, row, sentence`record of epoch, layer and norm`);
  add(index('epoch'), index('layer'), normIn(document, norm), placeOf(document, row).range);
}

function normIn(document: JsonDocument, node: Node): number {
  const value: unknown = node.value;
  if (node.type === 'number' && typeof value === 'number' && value >= 0 && Number.isFinite(value)) return value;
  throw notA(document, node, sentence`gradient norm`);
}

function notA(document: JsonDocument, node: Node, what: Sentence): ExpectedError {
  const remedy = sentence`write numbers from 0, and null for a layer that is frozen`;
  return new ExpectedError('elastic-norm', sentence`${describeNode(document, node)} is no ${what}`, remedy, placeOf(document, node));
}

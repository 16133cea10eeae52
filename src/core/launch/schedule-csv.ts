import type { LauncherFile } from '../config/facts';
import type { Finding } from '../findings';
import type { Place } from '../located';
import { formatNumber } from '../format';
import { quoted } from '../text';
import { countOf } from './derived';
import { many } from './rule';

/** The file that `pipeline_parallel_schedule_csv` names, as a face read it. */
export interface CsvFile {
  readonly file: string;
  readonly text: string;
}

const code = 'tt-schedule-csv';

/** Longer schedules are not checked: PyTorch's own have thousands of actions. */
const maximumActions = 500_000;

/** One action of a schedule in PyTorch's notation: `2F0` is the forward of stage 2 on micro-batch 0; I and W are the backward for inputs and for weights, B both. */
interface Action {
  readonly stage: number;
  readonly kind: 'F' | 'B' | 'I' | 'W';
  readonly microBatch: number;
}

interface Cell {
  readonly place: Place;
  readonly text: string;
  readonly actions: readonly Action[];
}

/**
 * What is wrong with the custom schedule of a TorchTitan run, the first fault only: the file is not there (`csv` null), has another number of rows than there are pipeline ranks, holds a cell that is no
 * action, names an input that nothing computes, or stops because actions wait for each other. The last three stand at the cell.
 */
export function scheduleCsvFindings(launcher: LauncherFile, csv: CsvFile | null): Finding[] {
  const fact = launcher.facts.scheduleCsv;
  if (launcher.format !== 'torchtitan' || fact === undefined) return [];
  const place = fact.source.kind === 'file' ? fact.source.place : launcher.place;
  if (csv === null) return [finding(place, `The schedule ${quoted(fact.value)} is not there`, 'create the file, or correct the path')];
  const rows = rowsOf(csv);
  const ranks = countOf(launcher.facts, 'pipeline');
  if (ranks !== null && rows.length !== ranks)
    return [
      finding(
        place,
        `The schedule has ${many(rows.length, 'row')}, one for each rank, and there ${ranks === 1 ? 'is' : 'are'} ${many(ranks, 'pipeline rank')}`,
        `set the pipeline size to ${formatNumber(rows.length)}, or write ${many(ranks, 'row')}`,
      ),
    ];
  return faultOf(rows);
}

function faultOf(rows: readonly (readonly Cell[])[]): Finding[] {
  const unknown = rows.flat().find(({ text, actions }) => actions.length === 0 && !isCommunication(text));
  if (unknown !== undefined)
    return [
      finding(
        unknown.place,
        `${quoted(unknown.text)} is no action of a schedule`,
        'write a stage, one of F, B, I and W, and a micro-batch: 2F0',
      ),
    ];
  if (rows.reduce((sum, row) => sum + row.length, 0) > maximumActions) return [];
  const stuck = firstStuck(rows);
  if (stuck === null) return [];
  const { cell, needs, planned } = stuck;
  const message = planned
    ? `${quoted(cell.text)} waits for ${needs}, which waits for this: the schedule stops here`
    : `${quoted(cell.text)} needs ${needs}, which no rank runs`;
  return [finding(cell.place, message, planned ? `run ${needs} before anything that waits for it` : `add ${needs} to the row of its rank`)];
}

function finding(place: Place, message: string, remedy: string): Finding {
  return { code, severity: 'error', place, message, remedy, fixes: [] };
}

/** The rows of a schedule without its empty cells (a rank that idles) and empty lines. */
function rowsOf({ file, text }: CsvFile): Cell[][] {
  const rows: Cell[][] = [];
  for (const line of text.matchAll(/[^\r\n]+/g)) {
    const cells = [...line[0].matchAll(/[^,]+/g)].flatMap((match) => {
      const written = match[0].trim();
      if (written === '') return [];
      const start = line.index + match.index + match[0].indexOf(written);
      return [{ place: { file, range: { start, end: start + written.length } }, text: written, actions: actionsOf(written) }];
    });
    if (line[0].trim() !== '') rows.push(cells);
  }
  return rows;
}

/** The computations of a cell: one, or the two of `(0F1;3B0)OVERLAP_F_B`. */
function actionsOf(text: string): Action[] {
  const overlapped = /^\((.*)\)OVERLAP_F_B$/.exec(text);
  const parts = overlapped === null ? [text] : (overlapped[1] ?? '').split(';');
  const actions = parts.map(actionOf);
  return actions.every((action) => action !== null) ? actions : [];
}

function actionOf(text: string): Action | null {
  const [, stage, kind, microBatch] = /^(\d{1,6})(F|B|I|W)(\d{1,6})$/.exec(text.trim()) ?? [];
  return kind === 'F' || kind === 'B' || kind === 'I' || kind === 'W'
    ? { stage: Number(stage), kind, microBatch: Number(microBatch) }
    : null;
}

/** Actions that move data: they are put in by PyTorch itself or follow from the computations, and are not checked. */
function isCommunication(text: string): boolean {
  return /^\d{1,6}(UNSHARD|RESHARD|REDUCE_GRAD|(SEND|RECV)_[FB]\d{1,6})$/.test(text);
}

interface Stuck {
  readonly cell: Cell;
  /** What it waits for, in PyTorch's notation. */
  readonly needs: string;
  /** Whether some rank would run it later. */
  readonly planned: boolean;
}

/** Runs every row as far as it goes; null when all finish. A row that waits is looked at again only when what it waits for is done. */
function firstStuck(rows: readonly (readonly Cell[])[]): Stuck | null {
  const lastStage = rows.flat().reduce((most, { actions }) => actions.reduce((top, { stage }) => Math.max(top, stage), most), 0);
  const done = new Set<string>();
  const waiting = new Map<string, number[]>();
  const next = rows.map(() => 0);
  const ready = rows.map((_, rank) => rank);
  for (let rank = ready.pop(); rank !== undefined; rank = ready.pop()) {
    const row = rows[rank] ?? [];
    let at = next[rank] ?? 0;
    for (let cell = row[at]; cell !== undefined; cell = row[at]) {
      const missing = missingOf(cell.actions, lastStage, done);
      if (missing !== null) {
        waiting.set(missing, [...(waiting.get(missing) ?? []), rank]);
        break;
      }
      for (const { stage, kind, microBatch } of cell.actions) {
        for (const name of kind === 'B' ? ['I', 'W', 'B'] : [kind]) {
          const key = `${stage}${name}${microBatch}`;
          done.add(key);
          ready.push(...(waiting.get(key) ?? []));
          waiting.delete(key);
        }
      }
      at += 1;
    }
    next[rank] = at;
  }
  return stuckAt(rows, next, lastStage, done);
}

/** What the actions of a cell wait for; null: nothing. A full backward counts as its two halves. */
function missingOf(actions: readonly Action[], lastStage: number, done: ReadonlySet<string>): string | null {
  const own = new Set(actions.map(({ stage, kind, microBatch }) => `${stage}${kind}${microBatch}`));
  const needed = actions.flatMap(({ stage, kind, microBatch }) => {
    if (kind === 'F') return stage === 0 ? [] : [`${stage - 1}F${microBatch}`];
    if (kind === 'W') return [`${stage}I${microBatch}`];
    return [`${stage}F${microBatch}`, ...(stage === lastStage ? [] : [`${stage + 1}I${microBatch}`])];
  });
  return needed.find((key) => !done.has(key) && !own.has(key)) ?? null;
}

/** Of the rows that did not finish, the cell whose input nobody runs, or else the first one. */
function stuckAt(rows: readonly (readonly Cell[])[], next: readonly number[], lastStage: number, done: ReadonlySet<string>): Stuck | null {
  const all = new Set(rows.flat().flatMap(({ actions }) => actions.map(({ stage, kind, microBatch }) => `${stage}${kind}${microBatch}`)));
  const split = [...all].some((key) => key.includes('I'));
  const stuck = rows.flatMap((row, rank): Stuck[] => {
    const cell = row[next[rank] ?? 0];
    const needs = cell === undefined ? null : missingOf(cell.actions, lastStage, done);
    if (cell === undefined || needs === null) return [];
    return [{ cell, needs: split ? needs : needs.replace('I', 'B'), planned: all.has(needs) || all.has(needs.replace('I', 'B')) }];
  });
  return stuck.find(({ planned }) => !planned) ?? stuck[0] ?? null;
}

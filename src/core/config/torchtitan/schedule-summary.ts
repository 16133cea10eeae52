/** What a schedule CSV of PyTorch holds, counted: one row a rank, one action a cell. */
export interface ScheduleSummary {
  readonly ranks: number;
  /** Cells of the longest row, empty ones included. */
  readonly columns: number;
  /** Computations; sends, receives and gathers are not counted. */
  readonly actions: number;
  /** F forward, B whole backward, I and W its parts for inputs and weights; in alphabetical order. */
  readonly kinds: readonly string[];
  readonly stages: number;
  readonly microBatches: number;
}

const computation = /(\d{1,6})([FBIW])(\d{1,6})/g;
const action =
  /^(\d{1,6}[FBIW]\d{1,6}|\(\d{1,6}[FBIW]\d{1,6}(;\d{1,6}[FBIW]\d{1,6})*\)OVERLAP_F_B|\d{1,6}(UNSHARD|RESHARD|REDUCE_GRAD|(SEND|RECV)_[FB]\d{1,6})|)$/;

/** No action is longer; the longest overlap two computations. */
const maximumCell = 200;

/** Counts a schedule in PyTorch's action syntax (`0F0,0F1,,2I0`); null for a text with any other cell, or without computations. One pass that stops at the first such cell. */
export function summariseSchedule(text: string): ScheduleSummary | null {
  const count = { ranks: 0, columns: 0, actions: 0, kinds: new Set<string>(), stages: 0, microBatches: 0 };
  for (const [line] of text.replace(/^\uFEFF/, '').matchAll(/[^\r\n]+/g)) {
    if (line.trim() === '') continue;
    const cells = cellsOf(line);
    if (cells === null) return null;
    count.ranks += 1;
    count.columns = Math.max(count.columns, cells.length);
    for (const cell of cells)
      for (const [, stage, kind = '', microBatch] of /(SEND|RECV)_/.test(cell) ? [] : cell.matchAll(computation)) {
        count.actions += 1;
        count.kinds.add(kind);
        count.stages = Math.max(count.stages, Number(stage) + 1);
        count.microBatches = Math.max(count.microBatches, Number(microBatch) + 1);
      }
  }
  return count.actions === 0 ? null : { ...count, kinds: [...count.kinds].sort() };
}

function cellsOf(line: string): string[] | null {
  const cells: string[] = [];
  for (let start = 0; start <= line.length;) {
    const comma = line.indexOf(',', start);
    const end = comma === -1 ? line.length : comma;
    const cell = line.slice(start, end).trim();
    if (cell.length > maximumCell || !action.test(cell)) return null;
    cells.push(cell);
    start = end + 1;
  }
  return cells;
}

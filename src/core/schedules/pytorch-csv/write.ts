import type { Schedule } from '../schedule';
import { toActions, cellText, type ActionTable, type CsvVersion } from './actions';
import { rankCells } from './idle-cells';
import { lowerSchedule } from './lower';
import type { CsvFormat } from './read';

/**
 * A schedule as PyTorch's CSV (torch.distributed.pipelining): a row for each stage, lines ending in LF.
 * - `compute_only`: the passes, with the idle cells of PyTorch's own generators; `_PipelineScheduleRuntime._load_csv` adds the rest.
 * - `compute_comms`: the same with weights gathered and let go, gradients reduced, and every send and receive, as PyTorch's lowering puts
 *   them. @param version of PyTorch that loads it: 2.14 and older, or 2.15. Files of passes only are the same in both.
 *
 * Chunks are PyTorch's stages. Token slices count as micro-batches, which is for looking at and checking: PyTorch cuts only the batch and
 * keeps no keys and values of earlier slices.
 */
export function writeScheduleCsv(schedule: Schedule, format: CsvFormat, version: CsvVersion = '2.15'): string {
  if (format === 'compute_comms') return tableText(lowerSchedule(schedule, version));
  const table = toActions(schedule);
  const rows = rankCells(schedule).map((cells) =>
    cells.flatMap((row) => (row === null ? [''] : isSecond(table, row) ? [] : [cellText(table, row)])),
  );
  return rows.map((cells) => `${cells.join(',')}\n`).join('');
}

function tableText(table: ActionTable): string {
  const lines: string[] = [];
  for (let rank = 0; rank + 1 < table.rowStart.length; rank++) {
    const cells: string[] = [];
    const end = table.rowStart[rank + 1] ?? 0;
    for (let row = table.rowStart[rank] ?? 0; row < end; row++) if (!isSecond(table, row)) cells.push(cellText(table, row));
    lines.push(`${cells.join(',')}\n`);
  }
  return lines.join('');
}

/** Whether a row is the backward of an overlapped pair, which is in the cell of its forward. */
function isSecond({ overlapsNext }: ActionTable, row: number): boolean {
  return row > 0 && overlapsNext[row - 1] === 1;
}

import { formatCount } from '../../format';
import type { Schedule, WorkUnit } from '../schedule';
import { isPass, isReduction, rowText, detectCsvVersion, type CsvVersion } from './actions';
import { shardingProblems, transferOrderProblems, transferProblems, waitProblems } from './communication';
import { actionOfRank, mostProblems, problemAt, problemOfFile, type CsvProblem, type LocatedTable } from './problems';
import { countMicroBatches, checkStructure, type ActionIndex } from './structure';
import { deadlockProblems } from './deadlock';
import { readTable } from './table';
import { counted, sentence } from '../../sentence';

/** The two kinds of files PyTorch writes and reads: passes only, or passes with every send, receive and gathering of weights. */
export type CsvFormat = 'compute_only' | 'compute_comms';

/** What is known of a schedule before its file is read; null or left out: as the file has it. */
interface WantedSchedule {
  readonly ranks?: number | null;
  /** Before they are cut into slices. */
  readonly microBatches?: number | null;
  /**
   * Into how many slices each micro-batch is cut, 1 where left out: what the file counts as micro-batch q s + j is slice j of micro-batch
   * q, since PyTorch has no slices.
   */
  readonly slices?: number;
  /** What the program that runs it can load, where that is not both formats. */
  readonly format?: CsvFormat;
  /** `loop` where that program assigns stages to ranks round-robin; else wherever the file has them. */
  readonly placement?: 'loop';
}

/** A schedule file with everything that is wrong with it. */
interface ScheduleCsv {
  readonly format: CsvFormat;
  /** The PyTorch that it is written for; null: any. */
  readonly version: CsvVersion | null;
  readonly problems: readonly CsvProblem[];
  /**
   * Null when it cannot run. Problems that leave it whole are those of `blank`, `reduce-grad` and `sharding`. Units have batch 1 and slices
   * of 1 token, which the file does not give.
   */
  readonly schedule: Schedule | null;
}

/**
 * Reads a schedule in PyTorch's CSV (torch 2.14 and 2.15), `compute_only` or `compute_comms` by what is in it, and checks it as strictly as
 * it would run: what PyTorch's reader and `_validate_schedule` refuse, what they let pass and no rank can run, and ranks that wait for each
 * other. Never throws. Linear in the file's length.
 * @param name of the schedule: the file's.
 */
export function readScheduleCsv(text: string, name: string, wanted: WantedSchedule = {}): ScheduleCsv {
  const { table, firstIdle, problems } = readTable(text);
  const format = table.type.some((type) => !isPass(type) && !isReduction(type)) ? 'compute_comms' : 'compute_only';
  const version = detectCsvVersion(table.type);
  const harmless = format === 'compute_comms' ? (firstIdle === null ? [] : [firstIdle]) : reduceProblems(table);
  const failed = (found: readonly CsvProblem[]): ScheduleCsv => ({
    format,
    version,
    problems: [...found, ...harmless].slice(0, mostProblems),
    schedule: null,
  });
  if (problems.length > 0) return failed(problems);
  if (table.type.length === 0)
    return failed([problemOfFile(text, 'empty', sentence`The file has no action`, sentence`write a row for each rank: 0F0,0F1,0B0,0B1`)]);
  const unwanted =
    formatProblem(table, format, wanted) ?? rankProblem(text, table, wanted.ranks ?? null) ?? microBatchProblem(text, table, wanted);
  if (unwanted !== null) return failed([unwanted]);
  const { index, problems: broken } = checkStructure(table);
  if (index === null) return failed(broken);
  const misplaced = wanted.placement === 'loop' ? loopProblems(table) : [];
  if (misplaced.length > 0) return failed(misplaced);
  const slices = wanted.slices ?? 1;
  const faults = completeFaults(table, index, format, slices);
  if (faults.length > 0) return failed(faults);
  const sharding = format === 'compute_comms' ? shardingProblems(table, index) : [];
  return { format, version, problems: [...harmless, ...sharding], schedule: toSchedule(table, index, name, slices) };
}

/** What keeps a complete schedule from running. */
function completeFaults(table: LocatedTable, index: ActionIndex, format: CsvFormat, slices: number): CsvProblem[] {
  if (format === 'compute_only') return deadlockProblems(table, index, false, slices);
  const transfers = [...transferProblems(table, index), ...waitProblems(table)];
  return transfers.length > 0 ? transfers : [...deadlockProblems(table, index, true, slices), ...transferOrderProblems(table, index)];
}

function formatProblem(table: LocatedTable, format: CsvFormat, wanted: WantedSchedule): CsvProblem | null {
  const row = table.type.findIndex((type) => !isPass(type) && !isReduction(type));
  return wanted.format !== 'compute_only' || format === 'compute_only'
    ? null
    : problemAt(
        table,
        row,
        'format',
        sentence`${rowText(table, row)} is not a pass, and only passes are loaded here`,
        sentence`keep F, B, I and W: PyTorch puts in the rest by itself`,
      );
}

/** The first action on each rank that has stages of another one. */
function loopProblems(table: LocatedTable): CsvProblem[] {
  const ranks = table.rowStart.length - 1;
  return Array.from({ length: ranks }, (_, rank) => {
    const from = table.rowStart[rank] ?? 0;
    const found = table.chunk.subarray(from, table.rowStart[rank + 1]).findIndex((chunk) => chunk % ranks !== rank);
    if (found === -1) return [];
    const home = (table.chunk[from + found] ?? 0) % ranks;
    const message = sentence`${actionOfRank(table, from + found)} belongs to a stage on rank ${home}: stages are assigned to ranks round-robin`;
    return [problemAt(table, from + found, 'stage', message, sentence`move it to rank ${home}`)];
  }).flat();
}

function rankProblem(text: string, { rowStart }: LocatedTable, wanted: number | null): CsvProblem | null {
  const ranks = rowStart.length - 1;
  if (wanted === null || ranks === wanted) return null;
  const message = sentence`The schedule has ${counted(ranks, 'row')}, one for each rank, but there ${wanted === 1 ? sentence`is` : sentence`are`} ${counted(wanted, 'pipeline rank')}`;
  return problemOfFile(text, 'ranks', message, sentence`set the pipeline size to ${ranks}, or write ${counted(wanted, 'row')}`);
}

function microBatchProblem(text: string, table: LocatedTable, { microBatches = null, slices = 1 }: WantedSchedule): CsvProblem | null {
  const found = countMicroBatches(table);
  const wanted = microBatches === null ? null : microBatches * slices;
  const has = sentence`The schedule runs ${counted(found, 'micro-batch', 'micro-batches')}`;
  if (wanted !== null && found !== wanted)
    return problemOfFile(
      text,
      'micro-batches',
      sentence`${has}, but there ${wanted === 1 ? sentence`is` : sentence`are`} ${formatCount(wanted)}`,
      sentence`run ${formatCount(wanted)} on every stage`,
    );
  return found % slices === 0
    ? null
    : problemOfFile(
        text,
        'micro-batches',
        sentence`${has}, not a whole number of sequences of ${counted(slices, 'slice')}`,
        sentence`give the number of slices in each sequence`,
      );
}

/** PyTorch ends its GPipe and 1F1B dumps with these, and refuses to read them back. */
function reduceProblems(table: LocatedTable): CsvProblem[] {
  const row = table.type.findIndex(isReduction);
  return row === -1
    ? []
    : [
        problemAt(
          table,
          row,
          'reduce-grad',
          sentence`REDUCE_GRAD is for schedules with sends and receives; PyTorch refuses it in one without`,
          sentence`delete the REDUCE_GRAD cells: PyTorch puts them in by itself`,
        ),
      ];
}

function toSchedule(table: LocatedTable, { stageOfChunk, microBatches }: ActionIndex, name: string, slices: number): Schedule {
  const stages = table.rowStart.length - 1;
  const units = Array.from({ length: microBatches }, (_, unit): WorkUnit => {
    const slice = unit % slices;
    return { microBatch: Math.floor(unit / slices), slice, batch: 1, tokens: 1, context: slice };
  });
  const passes = table.type.reduce((sum, type) => sum + (isPass(type) ? 1 : 0), 0);
  const columns = { kind: new Uint8Array(passes), chunk: new Uint32Array(passes), unit: new Uint32Array(passes) };
  const overlaps = new Uint8Array(passes);
  const rowStart = new Uint32Array(stages + 1);
  let row = 0;
  table.type.forEach((type, from) => {
    if (!isPass(type)) return;
    columns.kind[row] = type;
    columns.chunk[row] = table.chunk[from] ?? 0;
    columns.unit[row] = table.microBatch[from] ?? 0;
    overlaps[row] = table.overlapsNext[from] ?? 0;
    row += 1;
    rowStart[(table.rank[from] ?? 0) + 1] = row;
  });
  return { name, stages, stageOfChunk, units, rowStart, ...columns, overlapsNext: overlaps.includes(1) ? overlaps : null };
}

import { bytesPerGiB } from '../../../core/format';
import { numberIn } from '../../compare/core/logs/lines';
import type { MemoryPoint } from './evidence';

/*
 * Memory as it is logged step by step: `report_memory` of Megatron-LM, `MetricsProcessor.log` of TorchTitan, `see_memory_usage` of
 * DeepSpeed, `nvidia-smi`.
 */

const mebibyte = 2 ** 20;

/** Columns of `nvidia-smi --query-gpu --format=csv`. */
interface Columns {
  readonly used: number;
  readonly total: number | null;
  readonly index: number | null;
}

/** Reads points line by line; a header of CSV holds for the lines after it. */
export function makeMemoryLineReader(): (line: string, rank: number | null, step: number | null) => readonly MemoryPoint[] {
  let columns: Columns | null = null;
  return (line, rank, step) => {
    if (line.includes('memory (MB)')) return megatronPoints(line, step);
    if (/\bMA [\d.]/.test(line)) return deepSpeedPoint(line, rank, step);
    if (/\bmemory:\s{0,6}[\d.]+\s?GiB/.test(line)) return torchTitanPoint(line, rank, step);
    const header = readColumns(line);
    columns = header ?? columns;
    return header === null ? smiPoints(line, columns) : [];
  };
}

const nothing = { allocatedBytes: null, reservedBytes: null, inUseBytes: null, capacityBytes: null };

function scaled(value: number | null, unit: number): number | null {
  return value === null ? null : value * unit;
}

function megatronPoints(line: string, step: number | null): MemoryPoint[] {
  const own = numberIn(line, /\(after (\d{1,12}) iterations\)/) ?? step;
  return [...line.matchAll(/\[Rank (\d{1,7})\][^[]{0,60}memory \(MB\)([^[]{0,300})/g)].map(([, rank, figures = '']) => {
    const bytes = (name: string): number | null => scaled(numberIn(figures, new RegExp(`\\| ${name}: ([\\d.]+)`)), mebibyte);
    return {
      ...nothing,
      rank: Number(rank),
      step: own,
      allocatedBytes: bytes('max allocated') ?? bytes('allocated'),
      reservedBytes: bytes('max reserved') ?? bytes('reserved'),
    };
  });
}

function torchTitanPoint(line: string, rank: number | null, step: number | null): MemoryPoint[] {
  const gib = numberIn(line, /\bmemory:\s{0,6}([\d.]+)\s?GiB/);
  const percent = numberIn(line, /\bmemory:\s{0,6}[\d.]+\s?GiB\(([\d.]+)%\)/);
  const reservedBytes = scaled(gib, bytesPerGiB);
  const capacityBytes = reservedBytes === null || percent === null ? null : (100 * reservedBytes) / percent;
  return [{ ...nothing, rank, step, reservedBytes, capacityBytes }];
}

function deepSpeedPoint(line: string, rank: number | null, step: number | null): MemoryPoint[] {
  const gib = (pattern: RegExp): number | null => scaled(numberIn(line, pattern), bytesPerGiB);
  const allocatedBytes = gib(/\bMax_MA ([\d.]+) ?GB/) ?? gib(/\bMA ([\d.]+) ?GB/);
  return [{ ...nothing, rank, step, allocatedBytes, reservedBytes: gib(/(?<!Max_)\bCA ([\d.]+) ?GB/) }];
}

function readColumns(line: string): Columns | null {
  if (!line.includes('memory.used')) return null;
  const names = line.split(',').map((name) => name.trim().replace(/ \[.*$/, ''));
  const column = (name: string): number | null => (names.includes(name) ? names.indexOf(name) : null);
  const used = column('memory.used');
  return used === null ? null : { used, total: column('memory.total'), index: column('index') };
}

function smiPoints(line: string, columns: Columns | null): MemoryPoint[] {
  const table = /(\d{1,9})MiB \/ {1,6}(\d{1,9})MiB/.exec(line);
  if (table !== null) return [point(Number(table[1]), Number(table[2]), null)];
  const cells = line.split(',').map((cell) => /^\s*(\d{1,9})(?: MiB)?\s*$/.exec(cell)?.[1]);
  const bare = columns === null ? /^\s*(\d{1,9}) MiB\s*$/.exec(line)?.[1] : cells[columns.used];
  if (bare === undefined) return [];
  const cell = (at: number | null | undefined): number | null => (at === null || at === undefined ? null : Number(cells[at] ?? NaN));
  return [point(Number(bare), cell(columns?.total), cell(columns?.index))];
}

function point(used: number, total: number | null, index: number | null): MemoryPoint {
  const number = (value: number | null): number | null => (value === null || Number.isNaN(value) ? null : value);
  return { ...nothing, rank: number(index), step: null, inUseBytes: used * mebibyte, capacityBytes: scaled(number(total), mebibyte) };
}

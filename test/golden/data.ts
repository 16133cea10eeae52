import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Where the reference numbers lie; its README names source, commit and licence of each file. */
export const dataFolder = path.join(import.meta.dirname, 'data');

/** The reference numbers of one file of `data`, parsed; the caller knows what it holds. */
export function golden(name: string): unknown {
  return JSON.parse(readFileSync(path.join(dataFolder, `${name}.json`), 'utf8'));
}

/** The rows of a file that is a table, each as an object named by the table's columns. */
export function goldenRows(name: string): unknown {
  const { columns, rows } = golden(name) as { readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] };
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
}

/** Computes at the first call what all further ones get: rows cost seconds, and several tests read them. */
export function once<T>(compute: () => T): () => T {
  let kept: { readonly value: T } | null = null;
  return () => (kept ??= { value: compute() }).value;
}

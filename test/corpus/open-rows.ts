import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as v from 'valibot';
import type { Judge } from './verdict-file';

/** What became of one file of the open list, 362 public files of frameworks that people train with (`open-list.json`). */
export interface OpenRow {
  /** Under the corpus folder: `owner+name/path/in/the/repository`. */
  readonly file: string;
  /** Whether a person would call it a config to train with; if not, `why` has what it is. */
  readonly config: boolean;
  /** Recognised as what; null: not. */
  readonly format: string | null;
  /** With nodes given; null: nothing to plan. */
  readonly planned: boolean | null;
  /** Why it is not a config, or is not planned. */
  readonly why?: string;
}

/** A value that somebody compared with the file itself. */
export interface KnownFact {
  readonly file: string;
  /** In the file, from 1. */
  readonly line: number;
  readonly name: string;
  /** As JSON, and the key that gives it in brackets. */
  readonly value: string;
}

export const rowsFile = path.join(import.meta.dirname, 'open-list.json');
const factsFile = path.join(import.meta.dirname, 'facts.json');

const row = v.strictObject({
  file: v.string(),
  config: v.boolean(),
  format: v.nullable(v.string()),
  planned: v.nullable(v.boolean()),
  why: v.exactOptional(v.pipe(v.string(), v.minLength(1))),
});
const fact = v.strictObject({ file: v.string(), line: v.number(), name: v.string(), value: v.string() });

export function readRows(): readonly OpenRow[] {
  return v.parse(v.array(row), JSON.parse(readFileSync(rowsFile, 'utf8')));
}

/** 150 facts, drawn by a fixed seed of all that were read on 2026-11-27, each of which is in its file as it was read. */
export function readKnownFacts(): readonly KnownFact[] {
  return v.parse(v.array(fact), JSON.parse(readFileSync(factsFile, 'utf8')));
}

/** @param read what a run of the report found of one file. */
export function rowOf(read: {
  readonly file: string;
  readonly format: string | null;
  readonly planned: true | string | null;
  readonly judge: Judge;
}): OpenRow {
  const { file, format, planned, judge } = read;
  const verdict = judge(file, 'recognised');
  const config = verdict?.verdict !== false;
  const why = config ? (typeof planned === 'string' ? planned : undefined) : verdict.why;
  return { file, config, format, planned: planned === null ? null : planned === true, ...(why !== undefined && { why }) };
}

/** Files that were recognised or planned and are not now, a line each. */
export function worseRows(before: readonly OpenRow[], now: readonly OpenRow[]): readonly string[] {
  const known = new Map(before.map((each) => [each.file, each]));
  return now.flatMap(({ file, format, planned, why = '' }) => {
    const old = known.get(file);
    if (old === undefined) return [];
    if (old.format !== null && format !== old.format) return [`${file}: was ${old.format}, is ${format ?? 'not recognised'}`];
    return old.planned === true && planned !== true ? [`${file}: was planned, is not: ${why}`] : [];
  });
}

/** How many configs there are, are recognised and are planned. */
export function countRows(rows: readonly OpenRow[]): Readonly<Record<'configs' | 'recognised' | 'runs' | 'planned', number>> {
  const configs = rows.filter(({ config }) => config);
  const runs = configs.filter(({ format, planned }) => format !== null && planned !== null);
  return {
    configs: configs.length,
    recognised: configs.filter(({ format }) => format !== null).length,
    runs: runs.length,
    planned: runs.filter(({ planned }) => planned === true).length,
  };
}

export function rowsSummary(rows: readonly OpenRow[]): string {
  const { configs, recognised, runs, planned } = countRows(rows);
  return `${rows.length} files, ${configs} configs, ${recognised} recognised; ${planned} of ${runs} runs planned with nodes given`;
}

export function writtenRows(rows: readonly OpenRow[]): string {
  return `[\n${rows.map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n]\n`;
}

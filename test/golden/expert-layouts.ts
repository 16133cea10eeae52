import type { Run } from '../../src/core/run/run';
import { searchLayouts } from '../../src/core/layout-search/assemble';
import { layoutText } from '../../src/core/layout-search/labels';
import { launchedAgainstBest } from '../../src/core/layout-search/launched';
import { freeNames } from '../../src/core/domain/layout-choices';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import { mayFit } from '../../src/core/memory-model/verdict';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { load } from '../unit/core/config-files/files';
import { golden } from './data';
import { toText } from '../unit/sentence-text';

interface ExpertCase {
  readonly name: string;
  readonly source: string;
  /** What explains a search that saves much. */
  readonly note?: string;
  /** As terapipe.json; `schedules` is what the run's framework had. */
  readonly config: object;
}

/** An expert's layout as we predict it, and the best of a search with the layout free. */
export interface ExpertRow {
  readonly name: string;
  readonly source: string;
  readonly expertMs: number;
  readonly fits: boolean;
  readonly bestMs: number;
  /** What our best would save of the expert's step, 0..1. */
  readonly regret: number;
  readonly expert: string;
  readonly best: string;
  /** What makes the difference, in a sentence. */
  readonly why: string;
  /** What measurements say of that; null where a search saves little. */
  readonly note: string | null;
  readonly proved: boolean;
}

/**
 * All layouts through the search: sizes, micro-batch, stages and schedule free, of the schedules that the run's framework had. Some seconds
 * each.
 */
export async function expertRows(only: (name: string) => boolean = () => true): Promise<readonly ExpertRow[]> {
  const { cases, files } = golden('expert-layouts') as {
    readonly cases: readonly ExpertCase[];
    readonly files: Readonly<Record<string, object>>;
  };
  const texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, JSON.stringify(file)]));
  const rows: ExpertRow[] = [];
  for (const one of cases.filter(({ name }) => only(name)))
    rows.push(rowOf(one, await load({ 'terapipe.json': JSON.stringify(one.config), ...texts })));
  return rows;
}

function rowOf({ name, source, note }: ExpertCase, run: Run): ExpertRow {
  const request = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
  const result = searchLayouts(toSearchProblem(run, request, freeNames.layout));
  const { launched, best, proved } = result;
  if (launched === null) throw new Error(`${name} is not a layout to launch`);
  return {
    name,
    source,
    expertMs: launched.iterationMs,
    fits: mayFit(launched.verdict),
    bestMs: best.iterationMs,
    regret: Math.max(0, 1 - best.iterationMs / launched.iterationMs),
    expert: `${toText(layoutText(launched.point))}, ${toText(launched.name)}`,
    best: `${toText(layoutText(best.point))}, ${toText(best.name)}`,
    why: toText(launchedAgainstBest(result)?.summary),
    note: note ?? null,
    proved,
  };
}

/** Regrets from here on have to be explained. */
export const explainedRegret = 0.15;

/** Rows whose search saves that much with nothing measured that explains why. */
export function unexplained(rows: readonly ExpertRow[]): readonly ExpertRow[] {
  return rows.filter(({ regret, note }) => regret > explainedRegret && note === null);
}

/** The regret that half of the rows stay below. */
export function medianRegret(rows: readonly ExpertRow[]): number {
  const sorted = rows.map(({ regret }) => regret).sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** A line for each layout with what ours would save, and below it both layouts where that is more than `explainedFrom`. */
export function expertText(rows: readonly ExpertRow[], explainedFrom = 0.05): string {
  const seconds = (ms: number): string => `${(ms / 1e3).toFixed(2)} s`.padStart(10);
  const lines = rows.flatMap(({ name, expertMs, fits, bestMs, regret, expert, best, why, note }) => [
    `${name.padEnd(26)}${seconds(expertMs)}${seconds(bestMs)}${`${(100 * regret).toFixed(1)} %`.padStart(9)}${fits ? '' : '  does not fit'}`,
    ...(regret > explainedFrom
      ? [`    expert: ${expert}`, `    ours:   ${best}`, `    why:    ${why}`, ...(note === null ? [] : [`    note:   ${note}`])]
      : []),
  ]);
  const head = `${'layout'.padEnd(26)}${'expert'.padStart(10)}${'our best'.padStart(10)}${'saves'.padStart(9)}`;
  return [
    head,
    ...lines,
    `median ${(100 * medianRegret(rows)).toFixed(1)} %, predicted not to fit: ${rows.filter(({ fits }) => !fits).length}`,
  ].join('\n');
}

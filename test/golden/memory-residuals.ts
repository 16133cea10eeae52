import type { MeasuredMemory, RuntimeMemory } from '../../src/core/memory-model/search-margin';
import { runtimeProfile, runtimes, type Runtime } from '../../src/core/domain/runtime';
import { b200Rows, type B200Row } from './b200';
import { quantile } from './measured-kinds';
import { peakOf } from './wild-memory';
import { wildRows, type WildRow } from './wild';

/** A run whose memory was measured. */
export interface MemoryRun {
  readonly runtime: Runtime;
  readonly name: string;
  /** What its fullest GPU took over what was predicted of it, in the figure that was measured. */
  readonly ratio: number;
}

/** Runs that ended, and runs that are predicted to fit but ran out of memory: these took at least what is usable. */
export async function memoryRuns(): Promise<readonly MemoryRun[]> {
  const rows = await wildRows(({ memoryGiB, outOfMemory }) => memoryGiB !== null || outOfMemory === true);
  return [
    ...rows
      .filter(({ case: { outOfMemory }, predicted: { fits } }) => outOfMemory !== true || fits)
      .map((row) => ({ runtime: runtimeProfile(row.request.training).id, name: row.case.id, ratio: ratioOf(row) })),
    ...b200Rows().map((row) => ({ runtime: 'megatron' as const, name: row.name, ratio: ratioOfRanks(row) })),
  ];
}

function ratioOf(row: WildRow): number {
  const { stages } = row.predicted.memory;
  if (row.case.outOfMemory === true) return Math.min(...stages.map(({ usableBytes, peakBytes }) => usableBytes / peakBytes));
  const { measured, predicted } = peakOf(row);
  return measured / predicted;
}

/** Of what the allocator reserves, which decides whether a run fits. */
function ratioOfRanks({ ranks }: B200Row): number {
  const most = (of: 'measured' | 'predicted'): number => Math.max(...ranks.map(({ reserved }) => reserved[of]));
  return most('measured') / most('predicted');
}

/** What nine of ten of some runs stay below, rounded up. */
function residualOf(runs: readonly MemoryRun[]): MeasuredMemory {
  const ratios = runs.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const over = Math.max(1, Math.ceil(100 * quantile(ratios, 0.9)) / 100);
  return { runs: ratios.length, over, beyond: ratios.filter((ratio) => ratio > over).length };
}

/** The residuals of each runtime, and of all runs together. */
export function residualsOf(runs: readonly MemoryRun[]): { readonly own: readonly RuntimeMemory[]; readonly all: MeasuredMemory } {
  const own = runtimes.flatMap((runtime) => {
    const same = runs.filter((run) => run.runtime === runtime);
    return same.length === 0 ? [] : [{ runtime, ...residualOf(same) }];
  });
  return { own, all: residualOf(runs) };
}

/** The module that holds them. */
export function memoryModule({ own, all }: ReturnType<typeof residualsOf>): string {
  return `/** Written by \`npm run golden -- --write-readme\` from the runs of docs/accuracy.md whose memory was measured. */
export const measuredMemory = ${JSON.stringify(own, null, 2)} as const;

/** Written with them: of all these runs together, for runtimes that nobody measured. */
export const measuredMemoryOfAll = ${JSON.stringify(all)} as const;
`;
}

/** A row for each runtime: its runs, and how many of them leave what searches keep free at what they were predicted to take. */
export function residualTable(runs: readonly MemoryRun[]): readonly string[] {
  const rows = residualsOf(runs).own.map(({ runtime, runs: count, over, beyond }) => {
    const { name } = runtimeProfile({ runtime });
    return `| ${name} | ${count} | ${(100 * (1 - 1 / over)).toFixed(1)} % | ${count - beyond} of ${count} |`;
  });
  return ['| runtime | measured runs | kept free in searches | would fit |', '| --- | --: | --: | --: |', ...rows];
}

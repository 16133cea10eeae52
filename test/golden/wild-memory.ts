import { mayFit } from '../../src/core/memory-model/verdict';
import { errorGoal, type Goal } from './goals';
import { golden, once } from './data';
import { errors, type Row } from './rows';
import { predictAsFixed, requestOf, wildRows, type WildCase, type WildRow } from './wild';

/** Largest mean errors of memory that are allowed, as fractions, by what was measured. */
export const memoryBounds = { torchtitan: 0.025, fp16: 0.065, bf16: 0.055 } as const;

/** Published runs with a peak, or that ran out of memory, of TorchTitan (`max_reserved`) and DeepSpeed (`nvidia-smi`). */
export const memoryRows = once(() =>
  wildRows(
    ({ family, memoryGiB, outOfMemory }) =>
      ['TorchTitan', 'BLOOM', 'V100'].includes(family) && (memoryGiB !== null || outOfMemory === true),
  ),
);

/** The same of runs that no constant was made from, by what ran them; `keepsLogits` was found with prime-rl's in view. */
export const unseenBounds = { FSDP2: 0.1, Primus: 0.15 } as const;

/** Peaks of published runs under FSDP2 and Primus, GiB, which are in no other table and in no margin. */
export const unseenPeaks = once(async (): Promise<readonly (Row & { readonly family: string })[]> => {
  const { cases } = golden('memory') as { readonly cases: readonly WildCase[] };
  return Promise.all(
    cases.map(async (one) => {
      const request = await requestOf(one.config);
      return { ...peakOf({ case: one, request, predicted: predictAsFixed(request) }), family: one.family };
    }),
  );
});

/** Peaks of the runs that ended, GiB: of the stage with most, in the figure that was measured. */
export async function memoryPeaks(kind: keyof typeof memoryBounds): Promise<readonly Row[]> {
  const rows = (await memoryRows()).filter((row) => row.case.outOfMemory !== true && kindOf(row) === kind);
  return rows.map(peakOf);
}

/** Peak of a run, GiB: of the stage with most, in the figure that its source measured. */
export function peakOf({ case: { id, memoryGiB, memoryKind }, predicted: { memory } }: WildRow): Row {
  const figure = figures[memoryKind ?? ''] ?? 'peakBytes';
  return { name: id, measured: memoryGiB ?? NaN, predicted: Math.max(...memory.stages.map((stage) => stage[figure])) / 2 ** 30 };
}

const figures: Readonly<Record<string, 'reservedBytes' | 'inUseBytes'>> = {
  'max reserved': 'reservedBytes',
  'nvidia-smi': 'inUseBytes',
};

function kindOf({ case: { family }, request: { training } }: WildRow): string {
  return family === 'TorchTitan' ? 'torchtitan' : training.precision;
}

/** Runs that ran out of memory and are predicted to fit without a "may not", and runs that ended and are predicted not to. */
export async function wrongVerdicts(): Promise<{ readonly fitting: readonly string[]; readonly tooLarge: readonly string[] }> {
  const rows = await wildRows();
  const ids = (isWrong: (row: (typeof rows)[number]) => boolean): readonly string[] => rows.filter(isWrong).map((row) => row.case.id);
  return {
    fitting: ids((row) => row.case.outOfMemory === true && row.predicted.fits && !row.predicted.tight),
    tooLarge: ids((row) => row.case.outOfMemory !== true && !mayFit(row.predicted)),
  };
}

/** What is promised of memory under other runtimes than Megatron-LM. */
export async function memoryGoals(): Promise<readonly Goal[]> {
  const { fitting, tooLarge } = await wrongVerdicts();
  const unseen = await unseenPeaks();
  return [
    errorGoal('TorchTitan, memory reserved', errors(await memoryPeaks('torchtitan')), memoryBounds.torchtitan),
    errorGoal('DeepSpeed fp16, memory in use', errors(await memoryPeaks('fp16')), memoryBounds.fp16),
    errorGoal('DeepSpeed bf16, memory in use', errors(await memoryPeaks('bf16')), memoryBounds.bf16),
    ...Object.entries(unseenBounds).map(([family, bound]) =>
      errorGoal(`${family}, memory of runs that nothing was made from`, errors(unseen.filter((row) => row.family === family)), bound),
    ),
    { name: 'runs out of memory predicted to fit', found: String(fitting.length), goal: 'none', met: fitting.length === 0 },
    { name: 'runs that ended predicted not to fit', found: String(tooLarge.length), goal: 'none', met: tooLarge.length === 0 },
  ];
}

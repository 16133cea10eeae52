import { joinStageContents } from '../../src/core/memory-model/count';
import { trainedParameters } from '../../src/core/memory-model/held';
import { optimizerStates } from '../../src/core/memory-model/optimizer-states';
import { optimizerStepName } from '../../src/core/memory-model/profile';
import { optimizerStepBytes } from '../../src/core/memory-model/static';
import { mayFit } from '../../src/core/memory-model/verdict';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { scheduleOn } from '../../src/core/schedules/on-layout';
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

/** The same of runs that no constant was made from, by what ran them; two terms were found with rows in view (memory.json). */
export const unseenBounds = { FSDP2: 0.1, Primus: 0.15, 'Megatron-Bridge': 0.06 } as const;

/** Peaks of published runs under FSDP2, Primus and Megatron-Bridge, GiB, which are in no other table and in no margin. */
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
export function peakOf(row: WildRow): Row {
  const { id, memoryGiB, memoryKind } = row.case;
  const figure = figures[memoryKind ?? ''] ?? 'peakBytes';
  const stages = memoryKind === firstIteration ? firstPeaks(row) : row.predicted.memory.stages.map((stage) => stage[figure]);
  return { name: id, measured: memoryGiB ?? NaN, predicted: Math.max(...stages) / 2 ** 30 };
}

/**
 * `max_allocated` after the first iteration, which is all that Megatron-Bridge printed: forwards and backwards without the optimizer's
 * states, which its first step makes (`initialize_state` of Transformer Engine's FusedAdam), or that step.
 */
const firstIteration = 'max allocated, first iteration';

function firstPeaks({ request, predicted }: WildRow): readonly number[] {
  const { training, layout } = request;
  const { stageOfChunk, chunkContents } = buildPipeline(request).chunksOn(scheduleOn(request.schedule ?? '1F1B', layout));
  const contents = joinStageContents(layout.pipeline, stageOfChunk, chunkContents);
  return predicted.memory.stages.map(({ stage, peakBytes, peakOperation, staticBytes }) => {
    const own = contents[stage];
    if (own === undefined || peakOperation === optimizerStepName) return peakBytes;
    const states = optimizerStates(request, own, trainedParameters(request, own), training.zeroStage >= 1);
    return Math.max(peakBytes - states, staticBytes + optimizerStepBytes(request, own));
  });
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

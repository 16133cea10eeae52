import {
  memoryParts,
  optimizerStepName,
  tightestStage,
  type MemoryPart,
  type MemoryProfile,
  type StageMemory,
} from '../../../src/core/memory-model/profile';
import { t } from '../../base/strings';

/** The stage with the least memory left on its GPU: where all GPUs are alike, the one with the highest peak. Null without stages. */
export function worstStage({ stages }: MemoryProfile): StageMemory | null {
  return tightestStage(stages) ?? null;
}

/** The stage of a number; undefined where the plan has none. */
export function findStage({ stages }: MemoryProfile, wanted: number | null): StageMemory | undefined {
  return stages.find(({ stage }) => stage === wanted);
}

/** Consecutive stages on the same kind of GPU, from `from` up to but not including `to`. */
interface GpuRun {
  readonly from: number;
  readonly to: number;
  /** The one with the least room. */
  readonly tightest: StageMemory;
}

/** Runs of equal GPUs along the pipeline. */
export function gpuRuns({ stages }: MemoryProfile): readonly GpuRun[] {
  const starts = stages.flatMap(({ gpu }, index) => (index === 0 || gpu !== stages[index - 1]?.gpu ? [index] : []));
  return starts.flatMap((from, index) => {
    const to = starts[index + 1] ?? stages.length;
    const tightest = tightestStage(stages.slice(from, to));
    return tightest === undefined ? [] : [{ from, to, tightest }];
  });
}

/** Name of a part for the eye. */
export function partName(part: MemoryPart): string {
  switch (part) {
    case 'weights':
      return t('Weights');
    case 'gradients':
      return t('Gradients');
    case 'optimizer':
      return t('Optimizer state');
    case 'dummyGradients':
      return t('Dummy gradients');
    case 'workspaces':
      return t('Workspaces');
    case 'activations':
      return t('Activations');
    case 'keysValues':
      return t('Keys and values');
    case 'logits':
      return t('Logits');
    case 'keptForWeights':
      return t('Kept for weight gradients');
    case 'backwardOperation':
      return t('Backward operation');
  }
}

/** Name of a part of a stage's peak: what runs then may be the optimizer's step. */
export function peakPartName(part: MemoryPart, { peakOperation }: StageMemory): string {
  return part === 'backwardOperation' && peakOperation === optimizerStepName ? t('Optimizer step') : partName(part);
}

/** Parts that are larger than nothing on some stage, in stacking order. */
export function presentParts({ stages }: MemoryProfile): MemoryPart[] {
  return memoryParts.filter((part) => stages.some((stage) => stage.parts[part] > 0));
}

/** A nice upper end for a memory axis: covers the capacity and the highest peak with a little room. */
export function axisBytes(profile: MemoryProfile): number {
  return profile.stages.reduce((most, { peakBytes, capacityBytes }) => Math.max(most, peakBytes, capacityBytes), 0) * 1.06;
}

const staticNames = ['weights', 'gradients', 'optimizer', 'dummyGradients', 'workspaces'] as const satisfies readonly MemoryPart[];

/** Parts that exist all the time with their bytes, in stacking order. */
export function staticParts({ parts }: StageMemory): (readonly [MemoryPart, number])[] {
  return staticNames.map((part) => [part, parts[part]] as const);
}

import { memoryParts, type MemoryPart, type MemoryProfile, type StageMemory } from '../../src/core/memory/profile';
import { t } from '../strings';

/** The stage with the highest peak, or null without stages. */
export function worstStage({ stages }: MemoryProfile): StageMemory | null {
  return stages.reduce<StageMemory | null>((worst, stage) => (worst === null || stage.peakBytes > worst.peakBytes ? stage : worst), null);
}

/** What a plan may use of the card: capacity less the margin, bytes. */
export function usableBytes({ capacityBytes, marginBytes }: MemoryProfile): number {
  return capacityBytes - marginBytes;
}

/** Whether a peak leaves the margin free. */
export function fits(profile: MemoryProfile, peakBytes: number): boolean {
  return peakBytes <= usableBytes(profile);
}

/** How full a stage is, for colour and words. */
export type Fill = 'fits' | 'margin' | 'over';

/** `margin`: within the capacity but not within what is kept free. */
export function fillOf(profile: MemoryProfile, peakBytes: number): Fill {
  if (fits(profile, peakBytes)) return 'fits';
  return peakBytes <= profile.capacityBytes ? 'margin' : 'over';
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

/** Parts that are larger than nothing on some stage, in stacking order. */
export function presentParts({ stages }: MemoryProfile): MemoryPart[] {
  return memoryParts.filter((part) => stages.some((stage) => stage.parts[part] > 0));
}

/** A nice upper end for a memory axis: covers the capacity and the highest peak with a little room. */
export function axisBytes(profile: MemoryProfile): number {
  const highest = profile.stages.reduce((most, { peakBytes }) => Math.max(most, peakBytes), 0);
  return Math.max(profile.capacityBytes, highest) * 1.06;
}

const staticNames = ['weights', 'gradients', 'optimizer', 'dummyGradients'] as const satisfies readonly MemoryPart[];

/** Parts that are there all the time with their bytes, in stacking order. */
export function staticParts({ parts }: StageMemory): (readonly [MemoryPart, number])[] {
  return staticNames.map((part) => [part, parts[part]] as const);
}

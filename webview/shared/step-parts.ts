import type { StepPart } from '../../src/core/layout-search/result';
import { t } from '../base/strings';

/** What each part of a step is called. */
export function partName(part: StepPart): string {
  const names: Readonly<Record<StepPart, string>> = {
    math: t('Compute'),
    memory: t('Memory traffic'),
    issue: t('Kernel-launch overhead'),
    exchange: t('Collectives inside layers'),
    recompute: t('Recompute'),
    offload: t('Copies to and from host memory'),
    send: t('P2P transfers'),
    bubble: t('Bubble'),
    gradientExchange: t('Gradient exchange'),
    optimizer: t('Optimizer'),
  };
  return names[part];
}

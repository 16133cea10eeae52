import type { ElasticPlan } from '../features/elastic/core/plan';
import { formatDuration, formatNumber, formatPercent } from '../core/format';
import { usedText, memoryVerdict, verdictText, type MemoryVerdict } from '../core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../core/planner/plan';
import { say, type Translate } from '../core/sentence';

/** The three numbers of a plan, as lenses, status bar and tree show them. */
interface PlanSummary {
  readonly stepText: string;
  readonly bubbleText: string;
  readonly verdict: MemoryVerdict;
  /** The files give no vocabulary: embedding and head are left out of all numbers. */
  readonly isWithoutEnds: boolean;
}

/** Step time, bubble and the verdict on the memory of the chosen candidate. */
export function planSummary(plan: Plan): PlanSummary {
  const chosen = chosenCandidate(plan);
  return {
    stepText: formatDuration(chosen.iterationMs),
    bubbleText: formatPercent(chosen.bubbleRate),
    verdict: memoryVerdict(chosen.memory),
    isWithoutEnds: plan.request.model.vocab === 0,
  };
}

/** `1.48 s / step, bubble 9.8 %`. */
export function planText({ stepText, bubbleText, isWithoutEnds }: PlanSummary, t: Translate): string {
  return isWithoutEnds
    ? t('{0} / step without embedding and head, bubble {1}', stepText, bubbleText)
    : t('{0} / step, bubble {1}', stepText, bubbleText);
}

/** `9.1 / 14.3 GiB on stage 0 of 96, fits, 5.2 GiB free`: stages counted from 0, as launchers do. */
export function memoryText({ verdict }: Pick<PlanSummary, 'verdict'>, t: Translate): string {
  return t('{0} on stage {1} of {2}, {3}', usedText(verdict), verdict.stage, verdict.stages, say(verdictText(verdict), t));
}

/** `2.8x over 10 epochs`: against no freezing. */
export function elasticText({ speedup, variants }: Pick<ElasticPlan, 'speedup' | 'variants'>, t: Translate): string {
  const epochs = variants[0]?.epochMs.length ?? 0;
  return epochs === 1 ? t('{0}x over 1 epoch', formatNumber(speedup)) : t('{0}x over {1} epochs', formatNumber(speedup), epochs);
}

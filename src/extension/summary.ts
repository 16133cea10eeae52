import type { ElasticPlan } from '../core/elastic/plan';
import { formatBytesOf, formatDuration, formatNumber, formatPercent } from '../core/format';
import { tightestOf, type StageMemory } from '../core/memory/profile';
import { chosenOf, type Candidate, type Plan } from '../core/planner/plan';
import type { Translate } from './translate';

/** The three numbers of a plan, as lenses, status bar and tree say them. */
export interface PlanSummary {
  readonly stepText: string;
  readonly bubbleText: string;
  readonly memoryText: string;
  readonly fits: boolean;
  /** Stage with the least room on its GPU, from 0. */
  readonly worstStage: number;
  readonly stages: number;
}

/** Step time, bubble and the worst stage's memory of the chosen candidate. */
export function summaryOf(plan: Plan): PlanSummary {
  const chosen = chosenOf(plan);
  const worst = worstStageOf(chosen);
  return {
    stepText: formatDuration(chosen.iterationMs),
    bubbleText: formatPercent(chosen.bubbleRate),
    memoryText: formatBytesOf(worst?.peakBytes ?? 0, chosen.memory.capacityBytes),
    fits: chosen.fits,
    worstStage: worst?.stage ?? 0,
    stages: chosen.memory.stages.length,
  };
}

/** The stage with the least room on its GPU. */
export function worstStageOf({ memory }: Candidate): StageMemory | undefined {
  return tightestOf(memory.stages);
}

/** `1.48 s / step, bubble 9.8 %`. */
export function planText({ stepText, bubbleText }: PlanSummary, t: Translate): string {
  return t('{0} / step, bubble {1}', stepText, bubbleText);
}

/** `9.1 / 16 GB, stage 0 of 96`: counted from 0, as launchers do. */
export function memoryText({ memoryText: used, worstStage, stages, fits }: PlanSummary, t: Translate): string {
  return fits ? t('{0}, stage {1} of {2}', used, worstStage, stages) : t('{0}, stage {1} of {2} does not fit', used, worstStage, stages);
}

/** `2.8x over 10 epochs`: against no freezing. */
export function elasticText({ speedup, variants }: Pick<ElasticPlan, 'speedup' | 'variants'>, t: Translate): string {
  const epochs = variants[0]?.epochMs.length ?? 0;
  return epochs === 1 ? t('{0}x over 1 epoch', formatNumber(speedup)) : t('{0}x over {1} epochs', formatNumber(speedup), epochs);
}

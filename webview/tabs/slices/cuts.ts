import { formatCount, formatDuration, formatPercent } from '../../../src/core/format';
import type { Candidate, Certificate, BaselineSlicing } from '../../../src/core/planner/plan';
import { t } from '../../base/strings';
import { maximum, minimum } from '../../../src/core/numbers';

/** One way to cut the batch and what it takes by the objective that was solved for. */
export interface CutRow {
  readonly rule: BaselineSlicing['rule'] | 'solved';
  /** Fewest and most slices of a sequence. */
  readonly slices: readonly [fewest: number, most: number];
  readonly latencyMs: number;
  /** Share by which it takes longer than the solved one. */
  readonly longer: number;
}

/** The baselines as they come, and last the one solved for. */
export function cutRows({ cuts, optimumMs }: Certificate, scheme: Candidate['scheme']): CutRow[] {
  const counts = scheme.map(({ tokens }) => tokens.length);
  return [
    ...cuts.map(({ rule, tokens, latencyMs }): CutRow => ({
      rule,
      slices: [tokens.length, tokens.length],
      latencyMs,
      longer: latencyMs / optimumMs - 1,
    })),
    { rule: 'solved', slices: [minimum(counts), maximum(counts)], latencyMs: optimumMs, longer: 0 },
  ];
}

/** What a way to cut is called. */
export function ruleName(rule: CutRow['rule']): string {
  const names: Readonly<Record<CutRow['rule'], string>> = {
    whole: t('Whole sequence'),
    uniform: t('Best equal slices'),
    'equal-work': t('Equal work (Seq1F1B)'),
    'equal-time': t('Equal time'),
    solved: t('Optimized'),
  };
  return names[rule];
}

/** Cells of a row: name, slices, latency, how much longer. */
export function cutCells({ rule, slices: [fewest, most], latencyMs, longer }: CutRow): string[] {
  return [
    ruleName(rule),
    fewest === most ? formatCount(most) : `${formatCount(fewest)}–${formatCount(most)}`,
    formatDuration(latencyMs),
    rule === 'solved' ? '–' : formatPercent(Math.max(0, longer)),
  ];
}

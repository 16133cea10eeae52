import { factsOfRun, totalsText } from './launcher-facts';
import type { SessionState } from './plan-sessions';
import { elasticText, memoryText, planText, summaryOf } from './summary';
import type { Translate } from './translate';

/** Text of the lenses over a config; `memory` and `profile` null while there is no plan, `run` null for all but launchers that say sizes. */
export interface LensTexts {
  readonly plan: string;
  readonly memory: string | null;
  readonly profile: string | null;
  /** The run's totals: GPUs, how they are shared out, micro-batches. */
  readonly run: string | null;
  /** What freezing layers gains; null without such a run. */
  readonly elastic: string | null;
}

/** What the lenses say now: the plan's numbers, that it is old, or what stops it. */
export function lensTexts(state: SessionState, t: Translate): LensTexts {
  const { launcher } = state;
  return {
    ...planTexts(state, t),
    run: launcher === null ? null : totalsText(factsOfRun(state), launcher, t),
    elastic: elasticLens(state, t),
  };
}

function elasticLens({ elastic, progress, staleEdits }: SessionState, t: Translate): string | null {
  if (elastic === null) return null;
  const text = elasticText(elastic.plan, t);
  return progress === null && staleEdits > 0 ? t('Elastic: {0} (before the last edits)', text) : t('Elastic: {0}', text);
}

function planTexts({ plan, error, progress, staleEdits }: SessionState, t: Translate): Omit<LensTexts, 'run' | 'elastic'> {
  if (plan === null) {
    if (progress !== null) return { plan: t('Plan: solving…'), memory: null, profile: null };
    return { plan: error === null ? t('Plan') : t('Plan: {0}', error.message), memory: null, profile: null };
  }
  const summary = summaryOf(plan);
  const used = plan.request.profile?.profile;
  const old = progress === null && staleEdits > 0;
  return {
    plan: old ? t('Plan: {0} (before the last edits)', planText(summary, t)) : t('Plan: {0}', planText(summary, t)),
    memory: t('Memory: {0}', memoryText(summary, t)),
    profile: used === undefined ? t('Profile on this machine') : t('Profile: {0}', used.device.name),
  };
}

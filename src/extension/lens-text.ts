import type { SessionState } from './plan-sessions';
import { memoryText, planText, summaryOf } from './summary';
import type { Translate } from './translate';

/** Text of the lenses over a config; `memory` and `profile` null while there is no plan. */
export interface LensTexts {
  readonly plan: string;
  readonly memory: string | null;
  readonly profile: string | null;
}

/** What the lenses say now: the plan's numbers, that it is old, or what stops it. */
export function lensTexts({ plan, error, progress, staleEdits }: SessionState, t: Translate): LensTexts {
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

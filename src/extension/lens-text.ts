import { formatDuration, formatNumber } from '../core/format';
import { factsOfRun, totalsText } from './launcher-facts';
import type { LayoutSearch } from './layout-searches';
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

/** What a search says of a config's own layout beside the best; null where there is neither an answer nor a search under way. */
export function layoutLensText(search: LayoutSearch | null, t: Translate): string | null {
  if (search === null) return null;
  const { answer, running, staleEdits } = search;
  if (answer === null) {
    if (running === undefined) return null;
    const best = running?.kind === 'searching' ? running.best : null;
    return best === null ? t('Layouts: searching…') : t('Layouts: searching, best so far {0}', formatDuration(best.iterationMs));
  }
  const text = againstBest(answer.result, t);
  return staleEdits > 0 ? t('{0} (before the last edits)', text) : text;
}

function againstBest({ launched, best, cost }: NonNullable<LayoutSearch['answer']>['result'], t: Translate): string {
  const bestText = formatDuration(best.iterationMs);
  if (!best.fits) return t('No layout fits; {0} with the least memory', bestText);
  if (launched === null) return t('Best layout {0}', bestText);
  const launchedText = formatDuration(launched.iterationMs);
  if (!launched.fits) return t('As launched it does not fit, best that does {0}', bestText);
  const isTie = launched.iterationMs <= best.iterationMs * (1 + cost.errorPercent / 100);
  return isTie
    ? t('As launched {0}, within {1} % of the best', launchedText, formatNumber(cost.errorPercent))
    : t('As launched {0}, best {1}', launchedText, bestText);
}

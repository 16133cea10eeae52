import { sizesText } from '../../../src/core/domain/sizes-text';
import type { LayoutAnswer, LayoutState, PageFound, PageLayout } from '../../../src/protocol/layout';
import type { LayoutColumn, LayoutViewSettings } from './settings';
import { say, type Sentence } from '../../../src/core/sentence';
import { t } from '../../base/strings';
import { own } from '../../../src/core/records';

/** A layout of the plot and the table: one that was found, the config's own, or both at once. */
export interface LayoutRow {
  readonly id: string;
  readonly plan: PageLayout;
  /** Null for the config's own by its plan. */
  readonly found: PageFound | null;
  /** Into `LayoutAnswer.plans`; null for the config's own where it is none of them. */
  readonly index: number | null;
  readonly isBest: boolean;
  readonly isLaunched: boolean;
  /** Within the error bar of the best. */
  readonly tie: boolean;
  /** The cut of its layers, where another row has the same sizes, settings and schedule. */
  readonly cut: Sentence | null;
}

/** The config's own layout: as the search predicts it, else by its plan. */
export function launchedLayout({ answer, launched }: Pick<LayoutState, 'answer' | 'launched'>): PageLayout | null {
  return answer?.launched ?? launched;
}

/** All rows of an answer, fastest first; `launched` is the config's own. */
export function layoutRows(answer: LayoutAnswer, launched: PageLayout | null): LayoutRow[] {
  const isLaunched = (plan: PageFound): boolean => launched !== null && isSameLayout(plan, launched);
  const named = answer.plans.map(rowLabel);
  const isTwice = new Set(named.filter((name, index) => named.indexOf(name) !== index));
  const found = answer.plans.map((plan, index): LayoutRow => ({
    id: `found-${index}`,
    plan,
    found: plan,
    index,
    tie: plan.tie,
    cut: isTwice.has(rowLabel(plan)) ? plan.stages : null,
    isBest: index === answer.best,
    isLaunched: isLaunched(plan),
  }));
  if (launched === null || found.some((row) => row.isLaunched)) return found;
  const tie = launched.fits && launched.iterationMs <= tieMs(answer);
  const own: LayoutRow = {
    id: 'launched',
    plan: launched,
    found: answer.launched,
    index: null,
    isBest: false,
    isLaunched: true,
    tie,
    cut: null,
  };
  return [...found, own].sort((a, b) => a.plan.iterationMs - b.plan.iterationMs);
}

/** The text of a row on its layout, without the cut of its layers. */
function rowLabel({ words, name }: PageLayout): string {
  return `${say(words)}; ${say(name)}`;
}

/** The sizes of a row, its settings, and its cut where it differs from another only in that. */
export function rowName({ plan, cut }: LayoutRow): string {
  return [sizesText(plan.layout), say(plan.settings, t), ...(cut === null ? [] : [say(cut, t)])].join(', ');
}

/** Whether two layouts are the same one, with the same step. */
export function isSameLayout(a: PageLayout, b: PageLayout): boolean {
  return say(a.words) === say(b.words) && Math.abs(a.iterationMs - b.iterationMs) <= 1e-6 * b.iterationMs && a.peakBytes === b.peakBytes;
}

/** Layouts that take up to this are within error of the best, ms. */
export function tieMs({ plans, best, cost }: LayoutAnswer): number {
  return (plans[best]?.iterationMs ?? 0) * (1 + cost.errorPercent / 100);
}

/** The name that identifies a schedule: `1F1B`, `interleaved 1F1B`, `TeraPipe`. */
function scheduleName({ name }: PageLayout): string {
  return say(name).split(',')[0] ?? '';
}

/** The schedules of some rows, each once. */
export function rowSchedules(rows: readonly LayoutRow[]): string[] {
  return [...new Set(rows.map(({ plan }) => scheduleName(plan)))];
}

/** The rows that pass the filters, in the chosen order; equal ones stay fastest first. */
export function shownRows(rows: readonly LayoutRow[], settings: LayoutViewSettings): LayoutRow[] {
  const terms = filterTerms(settings.text);
  const holds = ({ plan }: LayoutRow): boolean => {
    const text = [say(plan.words, t), sizesText(plan.layout), say(plan.name, t), say(plan.settings, t)].join(' ').toLowerCase();
    return terms.every((term) => term.test(text));
  };
  const sign = settings.descending ? -1 : 1;
  // a schedule of an earlier answer would hide everything
  const schedule = settings.schedule !== null && rowSchedules(rows).includes(settings.schedule) ? settings.schedule : null;
  return rows
    .filter((row) => (schedule === null || scheduleName(row.plan) === schedule) && holds(row))
    .sort((a, b) => sign * (valueOf(a.plan, settings.by) - valueOf(b.plan, settings.by)));
}

/** What a filter asks for: words, and names with their number (`tp2` or `tp 2`, which is neither `tp16` nor `etp2`), in any order. */
function filterTerms(text: string): RegExp[] {
  const terms = text.toLowerCase().match(/[a-z][\w-]*\s+\d+(?!\S)|\S+/g) ?? [];
  return terms.map((term) => {
    const isNumbered = /\d$/.test(term);
    const start = isNumbered && /^[a-z]/.test(term) ? '(?<![a-z])' : '';
    return new RegExp(start + term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\s+/, ' ?') + (isNumbered ? '(?!\\d)' : ''));
  });
}

function valueOf(plan: PageLayout, column: LayoutColumn): number {
  switch (column) {
    case 'step':
      return plan.iterationMs;
    case 'memory':
      return plan.peakBytes;
    case 'bubble':
      return plan.bubbleRate;
    case 'tokens':
      return plan.tokensPerSecond;
    case 'mfu':
      return plan.mfu;
  }
}

const suffixes: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 };

/** Reads `15T`, `300 B`, `1.5e12`, `2,000,000`; null for anything else. */
export function parseTokens(text: string): number | null {
  const match = /^([\d,]*\.?\d+(?:e\+?\d+)?)\s*([kmbgt]?)$/i.exec(text.trim());
  const count = Number(match?.[1]?.replaceAll(',', '')) * (own(suffixes, match?.[2]?.toLowerCase() ?? '') ?? 1);
  return Number.isFinite(count) && count > 0 ? count : null;
}

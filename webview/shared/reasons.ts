import { formatDuration, formatNumber, plural } from '../../src/core/format';
import type { Place } from '../../src/core/domain/located';
import { memoized, own } from '../../src/core/records';
import { assumptionsByWeight, movesText, type WeighedAssumption } from '../../src/core/planner/explain/assumption-texts';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import type { PlanRequest } from '../../src/core/domain/request';
import type { PageState } from '../../src/protocol/page';
import { h, icon } from '../base/dom';
import type { Host } from '../base/host';
import { capitalised } from './sentence';
import { t } from '../base/strings';
import { say, sayFromStart } from '../../src/core/sentence';

/** Why this plan: one line each. */
export function reasonList({ reasons }: Pick<Plan, 'reasons'>): HTMLElement | null {
  if (reasons.length === 0) return null;
  return h('ul', { class: 'reasons' }, ...reasons.map((reason) => h('li', {}, capitalised(say(reason, t)))));
}

/** What measured steps made of the machine's constants; null without one. */
function calibrationLine({ request: { calibration } }: Plan): HTMLElement | null {
  if (calibration === undefined) return null;
  const { iterationMs, predictedMs, before, gemmEfficiency, steps } = calibration;
  const [after, peak] = [formatNumber(gemmEfficiency), formatNumber(before)];
  return h(
    'p',
    { class: 'calibration' },
    iterationMs === null || predictedMs === null
      ? t('Calibrated to {0} measured steps of other runs on this machine: GEMMs at {1} of peak, not {2}.', steps.length, after, peak)
      : t(
          'Calibrated to a measured step of {0}, predicted {1} before: GEMMs at {2} of peak, not {3}.',
          formatDuration(iterationMs),
          formatDuration(predictedMs),
          after,
          peak,
        ),
  );
}

/** What the times are based on and how certain they are: a word that expands to the whole sentence. */
export function provenance(plan: Plan): HTMLElement {
  const { cost } = plan;
  const kind = { roofline: t('Analytic model'), table: t('Given slice times'), profile: t('Measured slice times') }[cost.kind];
  return h(
    'details',
    { class: 'provenance' },
    h(
      'summary',
      { 'data-focus': 'provenance' },
      t('{0}, ±{1} %', plan.request.calibration === undefined ? kind : t('Calibrated model'), formatNumber(cost.errorPercent)),
    ),
    h('p', {}, say(cost.description, t)),
    h('p', {}, say(cost.errorBecause, t)),
    calibrationLine(plan),
  );
}

/** What is wrong or worth knowing, each line a jump to its place; with its first fixes as buttons where they are asked for. */
export function findingList(state: PageState, host: Host, withFixes = false): HTMLElement | null {
  if (state.findings.length === 0) return null;
  return h(
    'ul',
    { class: 'findings' },
    ...state.findings.map((finding, index) =>
      h(
        'li',
        {},
        h(
          'button',
          {
            class: `finding finding-${finding.severity}`,
            type: 'button',
            title: finding.placeText,
            'data-focus': `finding-${index}`,
            onclick: () => host.post({ type: 'reveal', place: finding.place }),
          },
          icon(finding.severity),
          h(
            'span',
            { class: 'finding-text' },
            h('span', {}, sayFromStart(finding.message, t)),
            withFixes && hasFix(finding) ? null : h('span', { class: 'finding-remedy' }, sayFromStart(finding.remedy, t)),
          ),
        ),
        ...(withFixes ? fixButtons(finding, host, index) : []),
        isOfSearch(finding.code, state) ? layoutsButton(host, index) : null,
      ),
    ),
  );
}

/** Whether a fix is the remedy itself. */
function hasFix({ remedy, fixes }: PageState['findings'][number]): boolean {
  return fixes.slice(0, listedFixes).some(({ title }) => capitalised(say(title)) === capitalised(say(remedy)));
}

/** Fixes of a finding that are listed; the editor's quick fixes are all. */
const listedFixes = 2;

function fixButtons({ code, fixes }: PageState['findings'][number], host: Host, index: number): HTMLElement[] {
  return fixes.slice(0, listedFixes).map(({ title }, nth) =>
    h(
      'button',
      {
        class: 'link finding-more',
        type: 'button',
        'data-focus': `finding-fix-${index}-${nth}`,
        onclick: () => host.post({ type: 'fix', code, title: say(title) }),
      },
      say(title, t),
    ),
  );
}

/** Findings that a search of layouts has an answer to. */
function isOfSearch(code: string, { layout }: PageState): boolean {
  return code === 'layout-slower' || (code === 'memory-over-capacity' && (layout?.answer ?? null) !== null);
}

function layoutsButton(host: Host, index: number): HTMLElement {
  const open = (): void => host.post({ type: 'openTab', tab: 'layout', candidate: null });
  return h(
    'button',
    { class: 'link finding-more', type: 'button', 'data-focus': `finding-layouts-${index}`, onclick: open },
    t('Compare layouts'),
  );
}

/** `2 findings`, worst first. */
export function findingCount({ findings }: PageState): string {
  return plural(findings.length, t('finding'), t('findings'));
}

/** Every assumption with its reason; each links to where it can be set. */
export function assumptionList(
  plan: { readonly request: Pick<Plan['request'], 'assumptions'> },
  state: PageState,
  host: Host,
): HTMLElement | null {
  const assumptions = assumptionsByWeight(plan.request.assumptions);
  if (assumptions.length === 0) return null;
  return h(
    'dl',
    { class: 'assumptions' },
    ...assumptions.map(({ key, value, reason }) => {
      const why = say(reason, t);
      const place = placeFor(state.places, key);
      const name =
        place === null
          ? h('span', { class: 'key' }, key)
          : h(
              'button',
              {
                class: 'link key',
                type: 'button',
                title: t('Show where {0} can be set', key),
                'data-focus': `assumption-${key}`,
                onclick: () => host.post({ type: 'reveal', place }),
              },
              key,
            );
      return h(
        'div',
        { class: 'assumption', title: why, 'data-assumption': key },
        h('dt', {}, name),
        h('dd', {}, h('span', { class: 'value' }, value), h('span', { class: 'assumption-reason' }, why)),
      );
    }),
  );
}

/** The assumptions of a plan; what the deciding ones move is computed when the page is idle, and then they are sorted by it. */
export function planAssumptions(plan: Plan, state: PageState, host: Host): HTMLElement | null {
  const list = assumptionList(plan, state, host);
  if (list !== null)
    requestIdleCallback(() => {
      if (list.isConnected) void loadMoves(plan).then((weighed) => sortByMoves(list, weighed));
    });
  return list;
}

/** Worked out once for a plan. */
const known = new WeakMap<PlanRequest, Promise<readonly WeighedAssumption[]>>();

/** They simulate: code that a page loads only now. */
function loadMoves(plan: Plan): Promise<readonly WeighedAssumption[]> {
  return memoized(known, plan.request, async () => {
    const { weighedAssumptions } = await import('../../src/core/planner/explain/assumed');
    return weighedAssumptions(plan.request, chosenCandidate(plan));
  });
}

function sortByMoves(list: HTMLElement, weighed: readonly WeighedAssumption[]): void {
  const rows = new Map([...list.children].map((row) => [row.getAttribute('data-assumption'), row] as const));
  for (const assumption of weighed) {
    const row = rows.get(assumption.key);
    if (row === undefined) continue;
    const moves = movesText(assumption);
    if (moves !== null) row.querySelector('dd')?.append(h('span', { class: 'assumption-reason' }, say(moves, t)));
    list.append(row);
  }
}

/** Where a key can be set: its own place, else that of its section, else the run. */
function placeFor(places: Readonly<Record<string, Place>>, key: string): Place | null {
  const group = key.split('.')[0] ?? '';
  return own(places, key) ?? own(places, group) ?? own(places, '') ?? null;
}

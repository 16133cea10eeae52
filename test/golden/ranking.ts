import type { Goal } from './goals';
import type { WildRow } from './wild';

/** How predictions order measured runs of one model on one machine. */
export interface Ranking {
  readonly groups: number;
  /** Pairs of different runs more than 5 % apart, and how many of them are in the right order. */
  readonly pairs: number;
  readonly right: number;
  /** Groups whose fastest run is also predicted to be. */
  readonly first: number;
  /** How much slower than the fastest the run is that is predicted to be fastest, at worst. */
  readonly worstPick: number;
}

const apart = 1.05;

/** The ranking inside each of some groups of runs; groups of one run say nothing. */
export function rankingOf(groups: readonly (readonly WildRow[])[]): Ranking {
  const sum = { groups: 0, pairs: 0, right: 0, first: 0, worstPick: 0 };
  for (const rows of groups.filter(({ length }) => length > 1)) {
    sum.groups++;
    rows.forEach((a, index) => {
      for (const b of rows.slice(0, index)) {
        const ratio = secondsOf(a) / secondsOf(b);
        if (Math.max(ratio, 1 / ratio) <= apart || isSameRun(a, b)) continue;
        sum.pairs++;
        if (ratio > 1 === a.predicted.iterationMs > b.predicted.iterationMs) sum.right++;
      }
    });
    const fastest = leastBy(rows, secondsOf);
    const pick = leastBy(rows, ({ predicted }) => predicted.iterationMs);
    if (pick === fastest) sum.first++;
    sum.worstPick = Math.max(sum.worstPick, secondsOf(pick) / secondsOf(fastest) - 1);
  }
  return sum;
}

function secondsOf({ case: { seconds } }: WildRow): number {
  return seconds ?? NaN;
}

/** Two measurements of one configuration. */
function isSameRun(a: WildRow, b: WildRow): boolean {
  return JSON.stringify(a.case.config) === JSON.stringify(b.case.config);
}

function leastBy(rows: readonly WildRow[], value: (row: WildRow) => number): WildRow {
  return rows.reduce((least, row) => (value(row) < value(least) ? row : least));
}

/** Groups of runs of one model on one machine, schedules against each other apart from layouts. */
export function groupsOf(rows: readonly WildRow[], which: 'schedules' | 'layouts'): WildRow[][] {
  const groups = new Map<string, WildRow[]>();
  for (const row of rows) {
    const { family, group, seconds } = row.case;
    const comparesSchedules = family === 'zero bubble' || family === 'Seq1F1B';
    if (seconds !== null && comparesSchedules === (which === 'schedules')) groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return [...groups.values()];
}

/** What is promised of both. */
export function rankingGoals(rows: readonly WildRow[]): Goal[] {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const layouts = rankingOf(groupsOf(rows, 'layouts'));
  const schedules = rankingOf(groupsOf(rows, 'schedules'));
  const inOrder = (name: string, { pairs, right }: Ranking, least: number): Goal => ({
    name: `${name} more than 5 % apart in the right order`,
    found: `${right} of ${pairs} pairs, ${percent(right / pairs)}`,
    goal: `${percent(least)} or more`,
    met: right / pairs >= least,
  });
  return [
    inOrder('Layouts', layouts, 0.93),
    inOrder('Schedules', schedules, 0.88),
    {
      name: 'The fastest schedule is named first',
      found: `${schedules.first} of ${schedules.groups} groups; worst pick ${percent(schedules.worstPick)} slower`,
      goal: '60 % of groups, none more than 8 % slower',
      met: schedules.first / schedules.groups >= 0.6 && schedules.worstPick <= 0.08,
    },
    {
      name: 'The fastest layout is named first',
      found: `${layouts.first} of ${layouts.groups} groups; worst pick ${percent(layouts.worstPick)} slower`,
      goal: 'none more than 8 % slower',
      met: layouts.worstPick <= 0.08,
    },
  ];
}

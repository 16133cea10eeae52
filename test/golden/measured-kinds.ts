import { statedRange, type ErrorRange, type ErrorRanges, type RunKind } from '../../src/core/time-model/error-bars';
import type { LeftOutRun } from './fit/left-out';
import type { Goal } from './goals';
import { groupBy } from './measured-runs';

/** The quantile of sorted values, between neighbours in proportion. */
export function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const [low = NaN, high = low] = [sorted[below], sorted[below + 1]];
  return low + (at - below) * (high - low);
}

/** Part of the runs of a kind that its range holds, each source counted as one. */
const held = 0.8;
/** As many sources as the error of all runs counts for, where a kind has few of its own. */
const sourcesOfAll = 2;
/** Least half width where no source covers a kind, and where one does: how two sources differ cannot be seen in one. */
const unseenHalf = 0.2;

/** Half width, as a logarithm, that holds 80 % of runs, each project counted as one. */
function halfWidth(runs: readonly LeftOutRun[]): number {
  const projects = groupBy(runs, ({ project }) => project);
  const errors = runs
    .map(({ project, leftOutRatio }) => ({ error: Math.abs(Math.log(leftOutRatio)), weight: 1 / (projects.get(project)?.length ?? NaN) }))
    .sort((a, b) => a.error - b.error);
  let sum = 0;
  return errors.find(({ weight }) => (sum += weight) >= held * projects.size - 1e-9)?.error ?? NaN;
}

function makeRange(runs: readonly LeftOutRun[], half: number): ErrorRange {
  const sources = new Set(runs.map(({ project }) => project)).size;
  const low = Math.floor(100 * Math.exp(-half)) / 100;
  return { rows: runs.length, sources, low, high: Math.ceil(100 * Math.exp(half)) / 100 };
}

/**
 * Ranges by kind, of what runs took over what was predicted of them without their project. A kind of few projects is held to be partly as
 * all runs are, with experts or without; one of a single project is as wide as one of none at least.
 */
export function rangesOf(runs: readonly LeftOutRun[]): ErrorRanges {
  const unseen = (experts: boolean): LeftOutRun[] => runs.filter(({ kind }) => kind.experts === experts);
  const general = { dense: halfWidth(unseen(false)), experts: halfWidth(unseen(true)) };
  const kinds = [...groupBy(runs, ({ kind }) => JSON.stringify(kind))].map(([key, same]) => {
    const kind = JSON.parse(key) as RunKind;
    const sources = new Set(same.map(({ project }) => project)).size;
    const all = general[kind.experts ? 'experts' : 'dense'];
    const half = Math.sqrt((sources * halfWidth(same) ** 2 + sourcesOfAll * all ** 2) / (sources + sourcesOfAll));
    return { ...kind, ...makeRange(same, sources === 1 ? Math.max(unseenHalf, half) : half) };
  });
  const floored = (experts: boolean): ErrorRange =>
    makeRange(unseen(experts), Math.max(unseenHalf, general[experts ? 'experts' : 'dense']));
  return { kinds, unseen: { dense: floored(false), experts: floored(true) } };
}

/** The module that holds them. */
export function kindsModule({ kinds, unseen }: ErrorRanges): string {
  return `/** Written by \`npm run fit -- --write\` from the runs of docs/accuracy.md, each predicted without its source. */
export const measuredKinds = ${JSON.stringify(kinds, null, 2)} as const;

/** Written with them: ranges of runs that none of these kinds is like. */
export const unseenKinds = ${JSON.stringify(unseen, null, 2)} as const;
`;
}

/** How well a source is predicted without it, and how many of its rows lie inside ranges that were made without it. */
export interface Coverage {
  readonly source: string;
  readonly rows: number;
  /** Mean absolute error with the constants that the product has, which were fitted to it too. */
  readonly fitted: number;
  /** Mean absolute error and mean error without the source, as fractions. */
  readonly error: number;
  readonly bias: number;
  readonly inside: number;
  /** Mean half width of the ranges. */
  readonly width: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** What is left of each source that was left out whole: of the constants and of the ranges. */
export function coverage(runs: readonly LeftOutRun[]): readonly Coverage[] {
  const ranges = new Map(
    [...groupBy(runs, ({ project }) => project).keys()].map((one) => [one, rangesOf(runs.filter(({ project }) => project !== one))]),
  );
  return [...groupBy(runs, ({ source }) => source)].map(([source, same]) => {
    const found = same.map((run) => {
      const { low, high } = statedRange(run.kind, ranges.get(run.project) ?? { kinds: [], unseen: rangesOf(runs).unseen });
      const error = 1 / run.leftOutRatio - 1;
      return { error, isInside: run.leftOutRatio >= low && run.leftOutRatio <= high, half: (high - low) / 2 };
    });
    return {
      source,
      rows: same.length,
      fitted: mean(same.map(({ ratio }) => Math.abs(1 / ratio - 1))),
      error: mean(found.map(({ error }) => Math.abs(error))),
      bias: mean(found.map(({ error }) => error)),
      inside: mean(found.map(({ isInside }) => Number(isInside))),
      width: mean(found.map(({ half }) => half)),
    };
  });
}

/** What is promised of sources that nothing was fitted to (docs/accuracy.md). */
export function coverageGoals(runs: readonly LeftOutRun[]): Goal[] {
  const shares = coverage(runs);
  const overall = (of: (share: Coverage) => number): number =>
    shares.reduce((sum, share) => sum + (share.rows / runs.length) * of(share), 0);
  const percent = (fraction: number): string => `${(100 * fraction).toFixed(1)} %`;
  const errors = runs.map(({ leftOutRatio }) => Math.abs(1 / leftOutRatio - 1)).sort((a, b) => a - b);
  const [error, median, inside, width] = [
    mean(errors),
    quantile(errors, 0.5),
    overall((share) => share.inside),
    overall((share) => share.width),
  ];
  const goal = (name: string, found: string, wanted: string, met: boolean): Goal => ({
    name: `Sources left out whole: ${name}`,
    found,
    goal: wanted,
    met,
  });
  return [
    goal('mean error', percent(error), 'at most 8 %', error <= 0.08),
    goal('median error', percent(median), 'at most 6 %', median <= 0.06),
    goal('inside their range', percent(inside), '75 to 90 %', inside >= 0.75 && inside <= 0.9),
    goal('half width of the range', percent(width), 'at most 20 %', width <= 0.2),
    ...(
      [
        ['DGX Cloud H100', 0.06],
        ['DGX Cloud H100 FP8', 0.06],
        ['DGX Cloud GB200', 0.12],
        ['DGX Cloud GB200 FP8', 0.12],
      ] as const
    ).flatMap(([source, most]) => {
      const share = shares.find((one) => one.source === source);
      return share === undefined ? [] : [goal(source, percent(share.error), `at most ${percent(most)}`, share.error <= most)];
    }),
  ];
}

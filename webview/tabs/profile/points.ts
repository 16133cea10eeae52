import { timeFunction } from '../../../src/core/measured-profile/fit';
import type { PartFit, Profile, ProfilePart, Sample } from '../../../src/core/domain/profile';

/** The two passes, in the order they are listed. */
export const directions = ['forward', 'backward'] as const;
export type Direction = (typeof directions)[number];

/** One measured time and its fitted time. */
export interface Point {
  readonly sample: Sample;
  /** Position of the sample in its part. */
  readonly index: number;
  readonly direction: Direction;
  /** Tokens of all sequences of the slice: batch x tokens. */
  readonly rows: number;
  readonly measuredMs: number;
  /** Null without a fit. */
  readonly fittedMs: number | null;
  /** (fitted - measured) / measured, percent; null without a fit. */
  readonly errorPercent: number | null;
}

/** The fit of one part, null while there is none. */
export function partFit({ fit }: Profile, part: ProfilePart): PartFit | null {
  return fit === null ? null : fit[part];
}

/** Times of both passes by a fit: one sequence unless `batch` is larger, ms. */
type Times = Readonly<Record<Direction, (tokens: number, context: number, batch?: number) => number>>;

/** Compiles a fit, to be asked for many slices. */
export function fittedTimes({ forward, backward }: PartFit): Times {
  const [forwardMs, backwardMs] = [timeFunction(forward), timeFunction(backward)];
  return {
    forward: (tokens, context, batch = 1) => forwardMs(batch, tokens, context),
    backward: (tokens, context, batch = 1) => backwardMs(batch, tokens, context),
  };
}

const known = new WeakMap<Profile, Map<ProfilePart, readonly Point[]>>();

/** Both points of every sample of a part, sample by sample. Computed once for a profile. */
export function profilePoints(profile: Profile, part: ProfilePart): readonly Point[] {
  const parts = known.get(profile) ?? new Map<ProfilePart, readonly Point[]>();
  known.set(profile, parts);
  const points = parts.get(part) ?? computePoints(profile, part);
  parts.set(part, points);
  return points;
}

function computePoints(profile: Profile, part: ProfilePart): Point[] {
  const fit = partFit(profile, part);
  const times = fit === null ? null : fittedTimes(fit);
  return profile.samples[part].flatMap((sample, index) => directions.map((direction) => toPoint(sample, index, direction, times)));
}

function toPoint(sample: Sample, index: number, direction: Direction, times: Times | null): Point {
  const measuredMs = direction === 'forward' ? sample.forwardMs : sample.backwardMs;
  const fittedMs = times === null ? null : times[direction](sample.tokens, sample.context, sample.batch);
  const errorPercent = fittedMs === null || !(measuredMs > 0) ? null : (fittedMs / measuredMs - 1) * 100;
  return { sample, index, direction, rows: sample.batch * sample.tokens, measuredMs, fittedMs, errorPercent };
}

/** Name of a point that stays the same while samples are added. */
export function pointId({ direction, index }: Pick<Point, 'direction' | 'index'>): string {
  return `${direction}-${index}`;
}

/** Context 0 and at most `most` longer ones that were measured, spread over their range: those whose curves are drawn. Ascending. */
export function shownContexts(samples: readonly Sample[], most: number): number[] {
  const measured = [...new Set(samples.map(({ context }) => context))].filter((context) => context > 0).sort((a, b) => a - b);
  const longest = measured.at(-1) ?? 0;
  const nearest = (wanted: number): number =>
    measured.reduce((best, context) => (Math.abs(context - wanted) < Math.abs(best - wanted) ? context : best), longest);
  const spread = Array.from({ length: most }, (_, index) => nearest(((index + 1) / (most + 1)) * longest));
  return [...new Set([0, ...(measured.length === 0 ? [] : spread)])].sort((a, b) => a - b);
}

/**
 * Lengths from `smallest` to `largest` at which a curve is drawn: `steps` in equal ratios, rounded, and every length of `knots` between, so
 * that no step is cut.
 */
export function lengthsBetween(smallest: number, largest: number, knots: readonly number[], steps = 96): number[] {
  if (!(largest >= smallest) || smallest < 1) return [];
  const grid = Array.from({ length: steps + 1 }, (_, index) => Math.round(smallest * (largest / smallest) ** (index / steps)));
  const inside = knots.filter((length) => length > smallest && length < largest);
  return [...new Set([...grid, ...inside])].sort((a, b) => a - b);
}

/** Least and greatest of some numbers; null of none. */
export function valueRange(values: readonly number[]): { readonly least: number; readonly greatest: number } | null {
  if (values.length === 0) return null;
  return values.reduce(({ least, greatest }, value) => ({ least: Math.min(least, value), greatest: Math.max(greatest, value) }), {
    least: Infinity,
    greatest: -Infinity,
  });
}

/** Where slices begin to pay: forward and backward of one slice without context, together. */
export interface Knee {
  /** Shortest slice with at least `kneeShare` of the best throughput. */
  readonly tokens: number;
  readonly bestTokens: number;
  /** Tokens a second through one layer, forward and backward. */
  readonly bestPerSecond: number;
  /** Even the shortest measured slice reaches it. */
  readonly atSmallest: boolean;
}

export const kneeShare = 0.9;

/** Finds the knee between two lengths, both included; null when there is nothing to look at. */
export function findKnee(fit: PartFit, smallest: number, largest: number): Knee | null {
  const times = fittedTimes(fit);
  const rates = lengthsBetween(smallest, largest, fit.forward.rows.tokens, 400).map((tokens) => ({
    tokens,
    perSecond: throughput(tokens, bothMs(times, tokens)),
  }));
  const best = rates.reduce<(typeof rates)[number] | null>(
    (top, rate) => (top === null || rate.perSecond > top.perSecond ? rate : top),
    null,
  );
  const first = best === null ? undefined : rates.find(({ perSecond }) => perSecond >= kneeShare * best.perSecond);
  if (best === null || first === undefined || !(best.perSecond > 0)) return null;
  return { tokens: first.tokens, bestTokens: best.tokens, bestPerSecond: best.perSecond, atSmallest: first === rates[0] };
}

/** Tokens a second when `tokens` take `ms`. */
export function throughput(tokens: number, ms: number): number {
  return ms > 0 ? (tokens / ms) * 1000 : 0;
}

/** Forward and backward of one sequence's slice without context, ms. */
export function bothMs({ forward, backward }: Times, tokens: number): number {
  return forward(tokens, 0) + backward(tokens, 0);
}

/** How long another profile takes for the same slice, over this one. */
export interface Ratio {
  readonly tokens: number;
  readonly forward: number;
  readonly backward: number;
}

/**
 * Ratios other / shown of the layer at powers of two and both ends of the lengths that both measured, without context; empty without common
 * ones or a fit.
 */
export function profileRatios(shown: Profile, other: Profile): Ratio[] {
  const [fit, otherFit] = [partFit(shown, 'layer'), partFit(other, 'layer')];
  const [range, otherRange] = [tokenRange(shown), tokenRange(other)];
  if (fit === null || otherFit === null || range === null || otherRange === null) return [];
  const [first, last] = [Math.max(range.least, otherRange.least), Math.min(range.greatest, otherRange.greatest)];
  if (first > last) return [];
  const powers = Array.from({ length: 31 }, (_, exponent) => 2 ** exponent).filter((tokens) => tokens > first && tokens < last);
  const [times, otherTimes] = [fittedTimes(fit), fittedTimes(otherFit)];
  const ratio = (direction: Direction, tokens: number): number => otherTimes[direction](tokens, 0) / times[direction](tokens, 0);
  return [...new Set([first, ...powers, last])].map((tokens) => ({
    tokens,
    forward: ratio('forward', tokens),
    backward: ratio('backward', tokens),
  }));
}

function tokenRange({ samples }: Profile): ReturnType<typeof valueRange> {
  return valueRange(samples.layer.map(({ tokens }) => tokens));
}

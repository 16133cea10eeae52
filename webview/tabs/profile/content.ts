import { formatCount } from '../../../src/core/format';
import type { Profile, ProfilePart } from '../../../src/core/domain/profile';
import { t } from '../../base/strings';
import { errorAxis, rateAxis, ratioAxis, timeAxis, tokensAxis, type Scale } from '../../charts/axis';
import type { ChartContent, Curve, Dot, Shape, Tone } from '../../charts/content';
import {
  bothMs,
  directions,
  partFit,
  findKnee,
  lengthsBetween,
  pointId,
  profilePoints,
  valueRange,
  profileRatios,
  shownContexts,
  throughput,
  fittedTimes,
  type Direction,
  type Point,
} from './points';
import { pointLines, ratioLines } from './labels';
import { maximum } from '../../../src/core/numbers';

const longestFaint = 0.6;
const moreContexts = 3;

/** The paper's goal for the hold-out error of a fit. */
export const goalPercent = 2;

/** Time of a slice against its tokens, measured and fitted, for context 0 and a few longer ones. Null without samples. */
export function timeContent(profile: Profile, part: ProfilePart, scale: Scale): ChartContent | null {
  const points = profilePoints(profile, part);
  const rows = valueRange(points.map(({ rows }) => rows));
  const ms = valueRange(points.map(({ measuredMs }) => measuredMs));
  if (rows === null || ms === null) return null;
  const longest = valueRange(profile.samples[part].map(({ context }) => context))?.greatest ?? 0;
  const faintness = (context: number): number => (longest === 0 ? 0 : (context / longest) * longestFaint);
  return {
    x: tokensAxis(scale, rows.least, rows.greatest),
    xName: t('tokens'),
    y: timeAxis(scale, ms.least, ms.greatest),
    curves: timeCurves(profile, part, faintness),
    dots: sorted(points.map((point) => pointDot(point, point.measuredMs, faintness(point.sample.context)))),
    guides: [],
    band: null,
  };
}

function timeCurves(profile: Profile, part: ProfilePart, faintness: (context: number) => number): Curve[] {
  const fit = partFit(profile, part);
  const samples = profile.samples[part];
  if (fit === null) return [];
  const times = fittedTimes(fit);
  const knots = fit.forward.rows.tokens;
  const smallest = valueRange(samples.map(({ tokens }) => tokens))?.least ?? 1;
  const longest = (context: number): number =>
    valueRange(samples.filter((sample) => sample.batch === 1 && (context === 0) === (sample.context === 0)).map(({ tokens }) => tokens))
      ?.greatest ?? 0;
  return shownContexts(samples, moreContexts).flatMap((context) => {
    const lengths = lengthsBetween(smallest, Math.min(longest(context), Math.max(smallest, profile.sequenceLength - context)), knots);
    return directions.map((direction) => ({
      tone: direction,
      faint: faintness(context),
      points: lengths.map((tokens) => [tokens, times[direction](tokens, context)] as const),
      label: context === 0 ? directionWord(direction) : t('after {0}', formatCount(context)),
    }));
  });
}

/** Throughput against tokens without context, one sequence, and where it reaches nine tenths of the best. Null without such samples. */
export function throughputContent(profile: Profile, part: ProfilePart): ChartContent | null {
  const points = profilePoints(profile, part).filter(({ sample }) => sample.context === 0 && sample.batch === 1);
  const tokens = valueRange(points.map(({ rows }) => rows));
  if (tokens === null) return null;
  const rate = (point: Point): number => throughput(point.rows, point.measuredMs);
  const fit = partFit(profile, part);
  const times = fit === null ? null : fittedTimes(fit);
  const lengths = fit === null ? [] : lengthsBetween(tokens.least, tokens.greatest, fit.forward.rows.tokens);
  const knee = fit === null ? null : findKnee(fit, tokens.least, tokens.greatest);
  const curve = (tone: Tone, label: string, rowMs: (tokens: number) => number): Curve => ({
    tone,
    faint: 0,
    points: lengths.map((length) => [length, throughput(length, rowMs(length))] as const),
    label,
  });
  const curves =
    times === null
      ? []
      : [
          ...directions.map((direction) => curve(direction, directionWord(direction), (length) => times[direction](length, 0))),
          curve('both', t('both'), (length) => bothMs(times, length)),
        ];
  const highest = Math.max(maximum(points.map(rate)), maximum(curves.flatMap((line) => line.points.map(([, y]) => y))));
  return {
    x: tokensAxis('log', tokens.least, tokens.greatest),
    xName: t('tokens'),
    y: rateAxis(highest),
    curves,
    dots: sorted(points.map((point) => pointDot(point, rate(point), 0))),
    guides: knee === null || knee.atSmallest ? [] : [{ down: knee.tokens, text: formatCount(knee.tokens) }],
    band: null,
  };
}

/** Points that judge the fit: hold-outs, or all of them where none were kept apart (imported times). */
export function judgedPoints(profile: Profile, part: ProfilePart): readonly Point[] {
  const points = profilePoints(profile, part).filter(({ errorPercent }) => errorPercent !== null);
  const held = points.filter(({ sample }) => sample.holdOut);
  return held.length > 0 ? held : points;
}

/** Relative error of every judged point, with the goal. Null without any. */
export function errorContent(profile: Profile, part: ProfilePart): ChartContent | null {
  const points = judgedPoints(profile, part);
  const rows = valueRange(points.map(({ rows }) => rows));
  if (rows === null) return null;
  const greatest = maximum(points.map(({ errorPercent }) => Math.abs(errorPercent ?? 0)));
  return {
    x: tokensAxis('log', rows.least, rows.greatest),
    xName: t('tokens'),
    y: errorAxis(greatest),
    curves: [],
    dots: sorted(points.map((point) => pointDot(point, point.errorPercent ?? 0, 0))),
    guides: [
      { across: goalPercent, text: t('goal') },
      { across: -goalPercent, text: '' },
    ],
    band: { from: -goalPercent, to: goalPercent },
  };
}

/** Time of another profile over this one, against tokens without context. Null when they have nothing in common. */
export function ratioContent(shown: Profile, other: Profile): ChartContent | null {
  const ratios = profileRatios(shown, other);
  const tokens = valueRange(ratios.map((ratio) => ratio.tokens));
  if (tokens === null) return null;
  const dots = ratios.flatMap((ratio) =>
    directions.map((direction): Dot => ({
      id: `${direction}-${ratio.tokens}`,
      group: direction,
      tone: direction,
      shape: shapes[direction],
      faint: 0,
      x: ratio.tokens,
      y: ratio[direction],
      hollow: false,
      lines: () => ratioLines(ratio, direction),
    })),
  );
  return {
    x: tokensAxis('log', tokens.least, tokens.greatest),
    xName: t('tokens'),
    y: ratioAxis(maximum(dots.map(({ y }) => y))),
    curves: directions.map((direction) => ({
      tone: direction,
      faint: 0,
      points: ratios.map((ratio) => [ratio.tokens, ratio[direction]] as const),
      label: directionWord(direction),
    })),
    dots,
    guides: [{ across: 1, text: '1x' }],
    band: null,
  };
}

const shapes: Readonly<Record<Direction, Shape>> = { forward: 'disc', backward: 'diamond' };

function pointDot(point: Point, y: number, faint: number): Dot {
  const { direction, rows, sample } = point;
  const { holdOut: hollow } = sample;
  return {
    id: pointId(point),
    group: direction,
    tone: direction,
    shape: shapes[direction],
    faint,
    x: rows,
    y,
    hollow,
    lines: () => pointLines(point),
  };
}

function sorted(dots: readonly Dot[]): Dot[] {
  return [...dots].sort((a, b) => a.x - b.x || a.y - b.y);
}

function directionWord(direction: Direction): string {
  return direction === 'forward' ? t('forward') : t('backward');
}

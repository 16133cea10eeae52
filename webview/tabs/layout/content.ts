import { sizesText } from '../../../src/core/domain/sizes-text';
import { formatBytes, formatDuration } from '../../../src/core/format';
import { usedText, verdictText } from '../../../src/core/memory-model/verdict';
import type { LayoutAnswer } from '../../../src/protocol/layout';
import { bytesAxis, stretchedTimeAxis } from '../../charts/axis';
import type { ChartContent, Dot } from '../../charts/content';
import { capitalised } from '../../shared/sentence';
import { t } from '../../base/strings';
import { tieMs, type LayoutRow } from './rows';
import { say } from '../../../src/core/sentence';
import { maximum, minimum } from '../../../src/core/numbers';

/** The plot extends past the usable memory by this share of it. */
const beyondUsable = 1.12;

/**
 * Step time against peak memory: every row is a point, the Pareto front a step line, and ties are shaded. Layouts that need far more memory
 * lie at the right edge.
 */
export function planContent(answer: LayoutAnswer, rows: readonly LayoutRow[]): ChartContent {
  const { usableBytes, notFitting } = answer;
  const times = [...rows.map(({ plan }) => plan.iterationMs), ...notFitting.map(({ iterationMs }) => iterationMs)];
  const most = maximum(rows.map(({ plan }) => plan.peakBytes));
  const x = bytesAxis(Math.max(beyondUsable * usableBytes, Math.min(1.05 * most, 2 * usableBytes)));
  const y = stretchedTimeAxis(minimum(times), maximum(times));
  const best = answer.plans[answer.best]?.iterationMs ?? 0;
  const inside = (bytes: number): number => Math.min(bytes, x.max);
  return {
    x,
    y,
    xName: t('peak memory'),
    curves: [{ tone: 'forward', faint: 0.35, points: frontSteps(rows, x.max, y.max), label: '' }],
    dots: [
      ...rows.map((row) => layoutDot(row, inside(row.plan.peakBytes))),
      ...notFitting.map(({ layout, iterationMs, peakBytes, why }, index): Dot => ({
        id: `too-large-${index}`,
        group: 'layouts',
        tone: 'over',
        shape: 'cross',
        faint: 0,
        hollow: false,
        x: inside(peakBytes),
        y: iterationMs,
        lines: () => [capitalised(say(layout, t)), t('Too large'), capitalised(say(why, t))],
      })),
    ].sort((a, b) => a.x - b.x || a.y - b.y),
    guides: [{ down: usableBytes, text: formatBytes(usableBytes), tone: 'over' }],
    band: { from: best, to: tieMs(answer) },
  };
}

function layoutDot({ id, plan, found, isBest, isLaunched, tie, cut }: LayoutRow, x: number): Dot {
  const isFront = found?.roles.includes('front') ?? false;
  return {
    id,
    group: 'layouts',
    x,
    y: plan.iterationMs,
    tone: isLaunched ? 'backward' : isBest || isFront ? 'forward' : 'both',
    shape: isBest ? 'star' : isLaunched ? 'diamond' : 'disc',
    faint: isBest || isLaunched || isFront ? 0 : 0.3,
    hollow: !isBest && !isLaunched && !isFront,
    lines: () => [
      sizesText(plan.layout),
      capitalised(say(plan.name, t)),
      [plan.settings, plan.recompute, cut].flatMap((text) => (text === null ? [] : [say(text, t)])).join(', '),
      t('{0} per step, {1}', formatDuration(plan.iterationMs), usedText(plan.verdict)),
      ...(isBest ? [t('The best')] : tie ? [t('Within error of the best')] : []),
      ...(isLaunched ? [t('As launched')] : []),
      ...(plan.fits ? [] : [capitalised(say(verdictText(plan.verdict), t))]),
    ],
  };
}

/** The fastest layout by memory: a step line over the Pareto front, from its smallest plan to the right edge. */
function frontSteps(rows: readonly LayoutRow[], right: number, top: number): (readonly [number, number])[] {
  const front = rows
    .filter(({ found, isBest }) => found !== null && found.fits && (isBest || found.roles.includes('front')))
    .map(({ plan }) => plan)
    .sort((a, b) => a.peakBytes - b.peakBytes || b.iterationMs - a.iterationMs);
  const points: (readonly [number, number])[] = [];
  let from = top;
  for (const { peakBytes, iterationMs } of front) {
    if (iterationMs >= from) continue;
    points.push([peakBytes, from], [peakBytes, iterationMs]);
    from = iterationMs;
  }
  return points.length === 0 ? [] : [...points, [right, from]];
}

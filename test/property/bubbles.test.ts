import assert from 'node:assert/strict';
import fc from 'fast-check';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { noTransfers, simulate } from '../../src/core/schedules/simulate/simulate';
import { cases } from './cases';

const seed = 20261124;

/** Times of one micro-batch on one stage: forward, input and weight gradient. */
interface Passes {
  readonly f: number;
  readonly i: number;
  readonly w: number;
}

/** p stages, m micro-batches, v chunks a stage, s slices a micro-batch. */
interface Shape {
  readonly p: number;
  readonly m: number;
  readonly v: number;
  readonly s: number;
}

/** The longest span of a stage less what a stage works, on equal stages that hand over at once. */
function bubbleOf(name: string, { p, m, v, s }: Shape, { f, i, w }: Passes): number {
  const onStages = (ms: number): Float64Array => new Float64Array(p).fill(ms / s);
  const times = { forwardMs: onStages(f), backwardInputMs: onStages(i), backwardWeightMs: onStages(w), sendMs: 0 };
  const scheme = Array.from({ length: m }, () => ({ batch: 1, tokens: Array<number>(s).fill(8) }));
  const schedule = generateSchedule(name, toScheduleProblem(scheme, p, v, times));
  const onChunks = (ms: number): Float64Array => new Float64Array(p * v * m * s).fill(ms / v / s);
  const durations = { forwardMs: onChunks(f), backwardInputMs: onChunks(i), backwardWeightMs: onChunks(w) };
  const { spanMs } = busyTimes(simulate(schedule, durations, noTransfers(m * s)));
  return Math.max(...spanMs) - m * (f + i + w);
}

interface Law {
  readonly name: string;
  /** When it holds, in words. */
  readonly when: string;
  readonly shape: (p: number, more: number, parts: number) => Shape;
  readonly passes?: (drawn: Passes) => Passes;
  readonly bubble: (shape: Shape, passes: Passes) => number;
}

const equal = ({ f }: Passes): Passes => ({ f, i: f, w: f });
/** Forward as long as the input gradient, weight gradient not longer. */
const shortWeight = ({ f, w }: Passes): Passes => ({ f, i: f, w: Math.min(f, w) });

// docs/model/schedules.md, Kinds; B = I + W.
const laws: readonly Law[] = [
  {
    name: 'GPipe',
    when: 'always',
    shape: (p, more) => ({ p, m: more, v: 1, s: 1 }),
    bubble: ({ p }, { f, i, w }) => (p - 1) * (f + i + w),
  },
  {
    name: '1F1B',
    when: 'always',
    shape: (p, more) => ({ p, m: more, v: 1, s: 1 }),
    bubble: ({ p }, { f, i, w }) => (p - 1) * (f + i + w),
  },
  {
    name: 'TeraPipe',
    when: 'equal slices',
    shape: (p, more, s) => ({ p, m: more, v: 1, s }),
    bubble: ({ p, s }, { f, i, w }) => ((p - 1) * (f + i + w)) / s,
  },
  {
    name: 'Seq1F1B',
    when: 'equal slices',
    shape: (p, more, s) => ({ p, m: more, v: 1, s }),
    bubble: ({ p, s }, { f, i, w }) => ((p - 1) * (f + i + w)) / s,
  },
  {
    name: 'Interleaved1F1B',
    when: 'm a multiple of p',
    shape: (p, more, parts) => ({ p, m: p * more, v: parts + 1, s: 1 }),
    bubble: ({ p, v }, { f, i, w }) => ((p - 1) * (f + i + w)) / v,
  },
  {
    name: 'LoopedBFS',
    when: 'm at least p',
    shape: (p, more, parts) => ({ p, m: p - 1 + more, v: parts + 1, s: 1 }),
    bubble: ({ p, v }, { f, i, w }) => ((p - 1) * (f + i + w)) / v,
  },
  {
    name: 'ZBVZeroBubble',
    when: 'F = I = W and m at least 2p - 1',
    shape: (p, more) => ({ p, m: 2 * p - 2 + more, v: 2, s: 1 }),
    passes: equal,
    bubble: () => 0,
  },
  {
    name: 'DualPipeV',
    when: 'F = I >= W and m at least 2p, an overlapped pair as long as both',
    shape: (p, more) => ({ p, m: 2 * p - 1 + more, v: 2, s: 1 }),
    passes: shortWeight,
    bubble: ({ p }, { f, i, w }) => ((p - 1) * (f + i + w + (i + w) - 3 * w)) / 2,
  },
];

describe('the bubble of the papers', () => {
  for (const { name, when, shape, passes = (drawn: Passes) => drawn, bubble } of laws)
    it(`holds for ${name}: ${when}`, () => {
      const ms = fc.integer({ min: 1, max: 40 });
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 6 }),
          fc.integer({ min: 1, max: 9 }),
          fc.integer({ min: 1, max: 4 }),
          fc.record({ f: ms, i: ms, w: ms }),
          (p, more, parts, drawn) => {
            const [where, times] = [shape(p, more, parts), passes(drawn)];
            const expected = bubble(where, times);
            assert.ok(Math.abs(bubbleOf(name, where, times) - expected) < 1e-7, `${JSON.stringify({ ...where, ...times })}: ${expected}`);
          },
        ),
        { seed, numRuns: cases(60, 600) },
      );
    });
});

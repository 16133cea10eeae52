import assert from 'node:assert/strict';
import fc from 'fast-check';
import { cutLayers } from '../../src/core/partition/cut-layers';
import { cases } from './cases';

/** All ways to divide layers among stages in order; stages that may not be empty get one or more. */
function* cutsOf(layers: number, stages: number, mayBeEmpty: (stage: number) => boolean, stage = 0): Generator<number[]> {
  if (stage === stages) {
    if (layers === 0) yield [];
    return;
  }
  for (let own = mayBeEmpty(stage) ? 0 : 1; own <= layers; own++)
    for (const rest of cutsOf(layers - own, stages, mayBeEmpty, stage + 1)) yield [own, ...rest];
}

/** Stages of different speeds and memories, layers of different costs, and what else the ends have. */
const pipelines = fc
  .record({ stages: fc.integer({ min: 1, max: 5 }), layers: fc.integer({ min: 1, max: 8 }) })
  .chain(({ stages, layers }) =>
    fc.record({
      stages: fc.constant(stages),
      speeds: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: stages, maxLength: stages }),
      rooms: fc.array(fc.integer({ min: 2, max: 14 }), { minLength: stages, maxLength: stages }),
      costs: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: layers, maxLength: layers }),
      ends: fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 })),
      emptyEnds: fc.boolean(),
    }),
  );

describe('layers cut over unequal stages', () => {
  it('have the fastest slowest stage that memory allows and then the least time in all, as of all cuts', () => {
    fc.assert(
      fc.property(pipelines, ({ stages, speeds, rooms, costs, ends, emptyEnds }) => {
        const layers = costs.length;
        const timeMs = (stage: number, from: number, to: number): number => {
          const work = costs.slice(from, to).reduce((sum, cost) => sum + cost, 0);
          const extra = (stage === 0 ? ends[0] : 0) + (stage === stages - 1 ? ends[1] : 0);
          return 2 * (to - from) + extra > rooms[stage]! ? Infinity : (work + extra) / speeds[stage]!;
        };
        const mayBeEmpty = (stage: number): boolean => emptyEnds && (stage === 0 || stage === stages - 1);
        const valueOf = (cut: readonly number[]): [slowest: number, total: number] => {
          let from = 0;
          const times = cut.map((own, stage) => timeMs(stage, from, (from += own)));
          return [Math.max(...times), times.reduce((sum, ms) => sum + ms, 0)];
        };
        const all = [...cutsOf(layers, stages, mayBeEmpty)].map(valueOf).filter(([slowest]) => slowest < Infinity);
        const found = cutLayers({ layers, stages, timeMs, mayBeEmpty });
        if (all.length === 0) {
          assert.equal(found, null);
          return;
        }
        const slowest = Math.min(...all.map(([most]) => most));
        const total = Math.min(...all.filter(([most]) => most === slowest).map(([, sum]) => sum));
        assert.ok(found !== null);
        assert.equal(found.slowestMs, slowest);
        assert.ok(Math.abs(found.totalMs - total) < 1e-9, `${found.totalMs} and ${total}`);
        assert.deepEqual(valueOf(found.stageLayers)[0], slowest);
        assert.equal(
          found.stageLayers.reduce((sum, own) => sum + own, 0),
          layers,
        );
      }),
      { numRuns: cases(500, 5000) },
    );
  });

  it('are found with few looks at their times, however many layers there are', () => {
    let looks = 0;
    const speeds = Array.from({ length: 64 }, (_, stage) => (stage < 32 ? 1 : 2.7));
    const found = cutLayers({
      layers: 16_384,
      stages: speeds.length,
      timeMs: (stage, from, to) => {
        looks++;
        return (to - from + (stage === 0 ? 3.5 : 0)) / (speeds[stage] ?? 1);
      },
      mayBeEmpty: () => false,
    });
    // no faster than all stages together, and no slower than that by more than a layer
    assert.ok(found !== null && found.slowestMs >= 16_384 / (32 * 3.7) && found.slowestMs < 16_384 / (32 * 3.7) + 1);
    assert.ok(looks < 100_000, `${looks} looks`);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { analyticKinks } from '../../src/core/time-model/context-kinks';
import { stageCost } from '../../src/core/time-model/stage-cost';
import { countMemory } from '../../src/core/memory-model/count';
import { unitMemory } from '../../src/core/memory-model/chunk-memory';
import { savedBytes } from '../../src/core/memory-model/activation-memory';
import { layerGroups } from '../../src/core/model/layers';
import { hasAttention, splitsState } from '../../src/core/model/mixers';
import { layerParameters, rankMatrixParameters } from '../../src/core/model/parameters';
import { stateKinds, type ModelSpec } from '../../src/core/domain/model';
import { balancedCut } from '../../src/core/layout-search/balanced-cut';
import { cutsFor } from '../../src/core/layout-search/cuts';
import { createEvaluator } from '../../src/core/layout-search/evaluate';
import type { SearchPoint } from '../../src/core/layout-search/known';
import { bestFirst } from '../../src/core/layout-search/search';
import { candidateGroups } from '../../src/core/layout-search/space';
import type { SearchProblem } from '../../src/core/layout-search/search-problem';
import { searchKeys } from '../../src/core/domain/layout-choices';
import { cutContents } from '../../src/core/partition/stages';
import { generateSchedule, toScheduleProblem } from '../../src/core/schedules/registry';
import { hybrid } from '../golden/hybrids';
import { request } from '../golden/requests';
import { cases } from './cases';

const pattern = fc
  .string({ unit: fc.constantFrom('M', '*', '-', 'E', 'S', 'A', 'B', 'X'), minLength: 2, maxLength: 8 })
  .filter((letters) => /[MSBX]/.test(letters));
const model = fc.record({ letters: pattern, kind: fc.constantFrom(...stateKinds) }).map(({ letters, kind }) => hybrid(letters, kind));
const recompute = ['none', 'selective', 'full'] as const;

const at = (of: ModelSpec, layout: object = {}, training: object = {}) =>
  request('H100-80GB', of, { training: { sequenceLength: 4096, globalBatch: 16, attention: 'flash', zeroStage: 1, ...training }, layout });

const whole = (of: ModelSpec) => ({ first: true, last: true, groups: layerGroups(of) });

/** All ways to cut `layers` into `stages` stages of one layer or more. */
function compositions(layers: number, stages: number): number[][] {
  if (stages === 1) return [[layers]];
  return Array.from({ length: layers - stages + 1 }, (_, index) => index + 1).flatMap((first) =>
    compositions(layers - first, stages - 1).map((rest) => [first, ...rest]),
  );
}

describe('hybrids of layers with a state', () => {
  it('take a finite time above zero, and no less with more recomputed', () => {
    fc.assert(
      fc.property(
        model,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4096 }),
        fc.integer({ min: 0, max: 4096 }),
        (of, batch, tokens, context) => {
          const times = recompute.map((mode) => stageCost(at(of, {}, { recompute: mode }), of.layers, whole(of))(batch, tokens, context));
          for (const { forwardMs, backwardMs, backwardWeightMs } of times) {
            assert.ok(
              Number.isFinite(forwardMs) &&
                forwardMs > 0 &&
                Number.isFinite(backwardMs) &&
                backwardMs > backwardWeightMs &&
                backwardWeightMs > 0,
            );
          }
          assert.ok(times[0]!.backwardMs <= times[1]!.backwardMs && times[1]!.backwardMs <= times[2]!.backwardMs);
        },
      ),
      { seed: 31, numRuns: cases(50, 600) },
    );
  });

  it('take the same wherever a slice lies where nothing attends, and grow between declared kinks in straight lines otherwise', () => {
    fc.assert(
      fc.property(model, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 16, max: 1024 }), (of, batch, tokens) => {
        const inputs = at(of);
        const cost = stageCost(inputs, of.layers, whole(of));
        const time = (context: number): number => cost(batch, tokens, context).forwardMs + cost(batch, tokens, context).backwardMs;
        const kinks = analyticKinks(inputs, batch, [tokens]);
        assert.ok(kinks !== null);
        if (!of.layerKinds!.some(hasAttention)) {
          assert.deepEqual(kinks, []);
          assert.equal(time(0), time(3000));
        }
        const bounds = [0, ...kinks.filter((kink) => kink > 0 && kink < 8000).sort((a, b) => a - b), 8000];
        for (let index = 1; index < bounds.length; index++) {
          const [from, to] = [bounds[index - 1]!, bounds[index]!];
          const middle = time((from + to) / 2);
          assert.ok(Math.abs(middle - (time(from) + time(to)) / 2) <= 1e-9 * middle, `${from} to ${to}`);
        }
      }),
      { seed: 32, numRuns: cases(50, 600) },
    );
  });

  it('never hold more weights on a rank with more tensor parallelism, and the whole of them on one', () => {
    fc.assert(
      fc.property(model, (of) => {
        for (const { kind } of layerGroups(of)) {
          const { qkv, compression, attentionOutput, state, mlpUp, mlpDown, shared, router } = layerParameters(of, kind);
          let before = rankMatrixParameters(of, { tensor: 1, expert: 1 }, kind);
          assert.equal(before, qkv + compression + attentionOutput + state + mlpUp + mlpDown + shared + router);
          for (const tensor of [2, 4, 8, 16]) {
            if (!splitsState(of.state!, tensor)) continue;
            const now = rankMatrixParameters(of, { tensor, expert: 1 }, kind);
            assert.ok(now <= before && now > 0);
            before = now;
          }
        }
      }),
      { seed: 33, numRuns: cases(50, 400) },
    );
  });

  it('take and keep on all stages together what they do on one', () => {
    fc.assert(
      fc.property(model, fc.integer({ min: 1, max: 7 }), fc.constantFrom(...recompute), (of, split, mode) => {
        const first = Math.min(split, of.layers - 1);
        const inputs = at(of, {}, { recompute: mode });
        const unit = { microBatch: 0, slice: 1, batch: 2, tokens: 256, context: 256 };
        const [one] = cutContents([of.layers], of);
        const parts = cutContents([first, of.layers - first], of);
        const timeOf = (shape: (typeof parts)[number]) => stageCost(inputs, shape.layers, shape)(2, 256, 256);
        const sum = (value: (shape: (typeof parts)[number]) => number): number => parts.reduce((total, shape) => total + value(shape), 0);
        const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) <= 1e-9 * b, `${a} ${b}`);
        near(
          sum((shape) => timeOf(shape).forwardMs),
          timeOf(one!).forwardMs,
        );
        near(
          sum((shape) => timeOf(shape).backwardMs),
          timeOf(one!).backwardMs,
        );
        for (const part of ['activations', 'keysValues', 'logits'] as const)
          near(1 + sum((shape) => savedBytes(inputs, shape, unit, true)[part]), 1 + savedBytes(inputs, one!, unit, true)[part]);
      }),
      { seed: 34, numRuns: cases(50, 600) },
    );
  });

  it('keep no more with more recomputed, and no part of their memory is below zero', () => {
    const orders = fc.constantFrom(...([['1F1B', 1], ['GPipe', 2], ['TeraPipe', 4], ['ZB-H1', 1]] as const)); // prettier-ignore
    fc.assert(
      fc.property(model, orders, (of, [name, slices]) => {
        const shapes = cutContents([1, of.layers - 1], of);
        const kept = recompute.map((mode) => {
          const inputs = at(of, { pipeline: 2 }, { recompute: mode });
          const tokens = Array.from({ length: slices }, () => 1024 / slices);
          const scheme = Array.from({ length: 4 }, () => ({ batch: 1, tokens }));
          const { stages } = countMemory(inputs, generateSchedule(name, toScheduleProblem(scheme, 2)), shapes, 80e9);
          for (const { parts, peakBytes } of stages)
            assert.ok(Number.isFinite(peakBytes) && Object.values(parts).every((bytes) => bytes >= 0), JSON.stringify(parts));
          const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 1024, context: 0 };
          return shapes.map((shape) => unitMemory(inputs, shape, unit, false, 1).activations);
        });
        for (const stage of [0, 1]) assert.ok(kept[0]![stage]! >= kept[1]![stage]! && kept[1]![stage]! >= kept[2]![stage]!);
      }),
      { seed: 35, numRuns: cases(30, 400) },
    );
  });

  it('are searched as well as by predicting every layout, each above its bounds', () => {
    fc.assert(
      fc.property(model, fc.constantFrom(2, 4), fc.constantFrom(4, 8), (of, gpusPerNode, perReplica) => {
        const base = at(of, { data: gpusPerNode }, { globalBatch: perReplica * gpusPerNode, microBatch: 1 });
        const cluster = { ...base.cluster, nodes: 1, gpusPerNode };
        const free = new Set(['tensor', 'pipeline', 'data']);
        const problem: SearchProblem = {
          request: { ...base, cluster, schedule: '1F1B' },
          fixed: new Set(searchKeys.filter((key) => !free.has(key))),
        };
        const evaluator = createEvaluator(problem.request);
        const points: SearchPoint[] = [...candidateGroups(problem)].flatMap((family) =>
          cutsFor(problem, family).map((stageLayers) => ({ ...family, stageLayers })),
        );
        const all = points.map((point) => {
          const predicted = evaluator.evaluate(point);
          assert.ok(typeof predicted === 'object');
          for (const bound of [evaluator.groupBound(point), evaluator.pointBound(point)]) {
            assert.ok(bound.iterationMs <= predicted.iterationMs, `time ${JSON.stringify(point)}`);
            assert.ok(bound.peakBytes <= predicted.peakBytes, `memory ${JSON.stringify(point)}`);
          }
          return predicted;
        });
        const best = Math.min(...all.filter(({ fits }) => fits).map(({ iterationMs }) => iterationMs));
        const found = bestFirst(problem, {}, evaluator);
        assert.equal(found.best?.iterationMs ?? Infinity, best);
      }),
      { seed: 36, numRuns: cases(8, 100) },
    );
  });

  it('are cut so that the slowest stage is as fast as in any cut', () => {
    const tried = cases(30, 240);
    let uneven = 0;
    fc.assert(
      fc.property(model, fc.integer({ min: 2, max: 4 }), (of, pipeline) => {
        fc.pre(pipeline <= of.layers);
        const asked = at(of, { pipeline });
        const cut = balancedCut(asked, asked.layout);
        assert.ok(cut !== null);
        const slowest = (stageLayers: readonly number[]): number =>
          Math.max(
            ...cutContents(stageLayers, of).map((shape) => {
              const { forwardMs, backwardMs } = stageCost(asked, shape.layers, shape)(asked.training.microBatch, 4096, 0);
              return forwardMs + backwardMs;
            }),
          );
        const least = Math.min(...compositions(of.layers, pipeline).map(slowest));
        assert.ok(slowest(cut) <= least * (1 + 1e-9));
        if (new Set(cut).size > 1) uneven++;
      }),
      { seed: 37, numRuns: tried },
    );
    assert.ok(uneven > tried / 6, `${uneven} of ${tried}`);
  });
});

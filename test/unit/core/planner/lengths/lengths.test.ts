import assert from 'node:assert/strict';
import fc from 'fast-check';
import { drawBatches, percentile } from '../../../../../src/core/planner/lengths/drawn-batches';
import { balancedSchedule, differencingSchedule, longestFirstSchedule, packBestFit } from '../../../../../src/core/planner/lengths/packing';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { splitLike, type SliceCost } from '../../../../../src/core/domain/slice-cost';
import { cases } from '../../../../property/cases';
import { llama3, request } from '../../../../golden/requests';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function isNear(a: number, b: number): void {
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(a, b), `${a} and ${b}`);
}

const wanted = request('H100-80GB', llama3('70b', 8), {
  training: { sequenceLength: 4096, globalBatch: 4, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true },
  layout: { tensor: 8, pipeline: 2 },
});

/** Every way to put items into numbered places. */
function* placings(items: number, places: number): Generator<number[]> {
  for (let code = 0; code < places ** items; code++)
    yield Array.from({ length: items }, (_, item) => Math.floor(code / places ** item) % places);
}

/** Sums of what lies in each place. */
function loadsOf(values: readonly number[], placing: readonly number[], places: number): number[] {
  const loads = Array.from({ length: places }, () => 0);
  placing.forEach((place, item) => (loads[place] = (loads[place] ?? 0) + (values[item] ?? 0)));
  return loads;
}

describe('packs of documents', () => {
  it('hold every document once, within the capacity, in not many more packs than the fewest', () => {
    const capacity = 12;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: capacity }), { minLength: 1, maxLength: 6 }), (tokens) => {
        const descending = tokens.toSorted((a, b) => b - a);
        const packs = packBestFit(descending, capacity);
        assert.deepEqual(
          packs.flat().toSorted((a, b) => b - a),
          descending,
        );
        for (const pack of packs) assert.ok(sum(pack) <= capacity);
        let fewest = 1;
        const fits = (places: number): boolean => {
          for (const placing of placings(tokens.length, places))
            if (loadsOf(tokens, placing, places).every((load) => load <= capacity)) return true;
          return false;
        };
        while (!fits(fewest)) fewest++;
        assert.ok(packs.length <= (11 * fewest) / 9 + 2 / 3, `${packs.length} packs, ${fewest} would do`);
      }),
      { numRuns: cases(60, 600) },
    );
  });

  it('are spread over replicas so that the fullest has at most 4/3 of the least possible', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 7 }), (weights) => {
        const workers = longestFirstSchedule(
          weights.map((weight) => ({ item: weight, weight })),
          3,
        );
        assert.deepEqual(workers.flat().toSorted(), weights.toSorted());
        let best = Infinity;
        for (const placing of placings(weights.length, 3)) best = Math.min(best, Math.max(...loadsOf(weights, placing, 3)));
        assert.ok(Math.max(...workers.map(sum)) <= (4 / 3) * best);
      }),
      { numRuns: cases(20, 300) },
    );
  });
});

describe('micro-batches over replicas', () => {
  const weighed = (weights: readonly number[]) => weights.map((weight, item) => ({ item, weight }));
  const loads = (weights: readonly number[], workers: readonly (readonly number[])[]): number[] =>
    workers.map((own) => sum(own.map((item) => weights[item] ?? 0)));

  it('are each on one replica, not above the other way, and within the stated share of the least possible', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 2, max: 3 }),
        (weights, places) => {
          const { workers, overBound } = balancedSchedule(weighed(weights), places);
          assert.deepEqual(workers.flat().toSorted((a, b) => a - b), [...weights.keys()]); // prettier-ignore
          const most = Math.max(...loads(weights, workers));
          for (const schedule of [longestFirstSchedule, differencingSchedule])
            assert.ok(most <= 1.001 * Math.max(...loads(weights, schedule(weighed(weights), places))));
          let best = Infinity;
          for (const placing of placings(weights.length, places)) best = Math.min(best, Math.max(...loadsOf(weights, placing, places)));
          assert.ok(most >= best && most <= overBound * best + 1e-9, `${most}, ${best}, ${overBound}`);
        },
      ),
      { numRuns: cases(30, 300) },
    );
  });

  it('have a bound of 1 where they are balanced, whatever rounding leaves', () => {
    assert.equal(balancedSchedule(weighed(Array.from({ length: 6 }, () => 0.1)), 2).overBound, 1);
  });

  it('differ by the published 2 where differencing takes 8, 7, 6, 5 and 4 on two', () => {
    const weights = [8, 7, 6, 5, 4];
    assert.deepEqual(loads(weights, differencingSchedule(weighed(weights), 2)).toSorted(), [14, 16]);
    assert.deepEqual(loads(weights, longestFirstSchedule(weighed(weights), 2)).toSorted(), [13, 17]);
  });

  it('are closer to balanced by differencing on many lengths', () => {
    const random = fc.sample(fc.integer({ min: 100, max: 1000 }), { seed: 7, numRuns: 40 });
    const most = (schedule: typeof differencingSchedule): number => Math.max(...loads(random, schedule(weighed(random), 2)));
    assert.ok(most(differencingSchedule) < most(longestFirstSchedule));
  });
});

describe('draws of a global batch', () => {
  const lengths = [
    { tokens: 1, count: 6 },
    { tokens: 2, count: 3 },
    { tokens: 5, count: 1 },
  ];

  it('are all there are, as likely as trying every sequence shows, where those are few', () => {
    const { draws, exact } = drawBatches(lengths, 4, 200);
    assert.ok(exact);
    const tried = new Map<string, number>();
    for (const placing of placings(4, 3)) {
      const counts = [0, 1, 2].map((kind) => placing.filter((each) => each === kind).length).join();
      const probability = placing.reduce((product, kind) => (product * (lengths[kind]?.count ?? 0)) / 10, 1);
      tried.set(counts, (tried.get(counts) ?? 0) + probability);
    }
    assert.equal(draws.length, tried.size);
    for (const { counts, probability } of draws) isNear(probability, tried.get([0, 1, 2].map((kind) => counts.get(kind) ?? 0).join()) ?? 0);
  });

  it('are a sample that repeats, with the mean of the lengths, where there are many', () => {
    const { draws, exact } = drawBatches(lengths, 1000, 50);
    assert.ok(!exact && draws.length === 50);
    assert.deepEqual(drawBatches(lengths, 1000, 50).draws, draws);
    const mean = sum(draws.map(({ counts }) => sum([...counts].map(([at, count]) => count * (lengths[at]?.tokens ?? 0))))) / 50_000;
    assert.ok(Math.abs(mean - 1.7) < 0.03, `mean of ${mean}`);
    for (const { counts } of draws) assert.equal(sum([...counts.values()]), 1000);
  });

  it('have the percentile that holds this much of the probability', () => {
    const values = [3, 1, 2].map((value) => ({ value, probability: value / 6 }));
    assert.deepEqual(
      [0.1, 0.5, 0.51, 1].map((share) => percentile(values, share)),
      [1, 2, 3, 3],
    );
  });
});

describe('the time of a pack', () => {
  it('is that of as many sequences where documents are as long, and of one where there is one', () => {
    for (const { cost } of buildPipeline(wanted).stages) {
      assert.deepEqual(cost(1, 4096, 0, [1024, 1024, 1024, 1024]), cost(4, 1024, 0));
      assert.deepEqual(cost(1, 4096, 0, [4096]), cost(1, 4096, 0));
      assert.ok(cost(1, 4096, 0, [4000, 96]).forwardMs > cost(1, 4096, 0, [2048, 2048]).forwardMs);
    }
  });

  it('leaves the keys of other documents out of measured times', () => {
    const measured = (batch: number, tokens: number, context: number) => {
      const forwardMs = batch * (tokens + 1e-3 * tokens * (context + tokens / 2));
      return { forwardMs, backwardMs: 2 * forwardMs };
    };
    const cost: SliceCost = splitLike(measured, () => ({ forwardMs: 1, backwardMs: 2, backwardWeightMs: 1 }));
    const separateMs = sum([500, 300, 200].map((tokens) => measured(1, tokens, 0).forwardMs));
    const { forwardMs, backwardMs } = cost(1, 1000, 0, [500, 300, 200]);
    isNear(forwardMs, separateMs);
    isNear(backwardMs, 2 * separateMs);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PassMemory, PassTimes, ScheduleKind, ScheduleProblem } from '../../src/core/schedules/kind';
import { scheduleKind, scheduleKinds } from '../../src/core/schedules/registry';
import { operationKind, type Timeline } from '../../src/core/schedules/schedule';
import { spanBoundMs } from '../../src/core/schedules/zero-bubble/span-bound';
import { anneal } from '../../src/core/schedules/zero-bubble/anneal';
import { fits, toPipeline, toOrderArray, type Pipeline } from '../../src/core/schedules/zero-bubble/pipeline';
import { automaticOrder } from '../../src/core/schedules/zero-bubble/automatic-order';
import { searchOrder } from '../../src/core/schedules/zero-bubble/automatic-search';
import { startingOrders, type OrderRecipe } from '../../src/core/schedules/zero-bubble/starting-orders';
import { timeOrder, timeTails, makeTimes } from '../../src/core/schedules/zero-bubble/order-times';
import { makeQueue, retimeAfterMove } from '../../src/core/schedules/zero-bubble/retime-after-move';
import { cases } from './cases';
import { equalTimes, longestSpanMs, peaks, rowMemory, timelineOf, wholeProblem } from './planned';

const seed = 20261121;
const names = ['ZeroBubble', 'ZeroBubbleV'] as const;
const slotsOf = (name: (typeof names)[number]): 1 | 2 => (name === 'ZeroBubble' ? 1 : 2);

interface Drawn {
  readonly name: (typeof names)[number];
  readonly problem: ScheduleProblem;
}

const passMs = fc.integer({ min: 0, max: 40 }).map((quarters) => quarters / 4);
const drawnTimes = (stages: number): fc.Arbitrary<PassTimes> => {
  const perStage = fc.array(passMs, { minLength: stages, maxLength: stages }).map((times) => Float64Array.from(times));
  return fc.record({ forwardMs: perStage, backwardInputMs: perStage, backwardWeightMs: perStage, sendMs: passMs });
};
const drawnMemory: fc.Arbitrary<PassMemory> = fc
  .record({ input: fc.integer({ min: -30, max: 5 }), held: fc.double({ min: 1.2, max: 9, noNaN: true }), limited: fc.boolean() })
  .map(({ input, held, limited }) => ({
    forward: 34,
    backwardInput: input,
    backwardWeight: -34 - input,
    limit: limited ? 34 * held : Infinity,
  }));

/** Small pipelines, stages unlike each other, any limit that one micro-batch fits under. */
const drawn: fc.Arbitrary<Drawn> = fc
  .tuple(fc.constantFrom(...names), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 14 }), drawnMemory)
  .chain(([name, stages, microBatches, memory]) =>
    drawnTimes(stages).map((times) => ({ name, problem: wholeProblem(name, microBatches, times, memory) })),
  );

/** Without input gradients that take memory, which planners count from the forward on. */
function givenBack({ forward, backwardInput }: PassMemory): Pick<PassMemory, 'backwardInput' | 'backwardWeight'> {
  const input = Math.min(0, backwardInput);
  return { backwardInput: input, backwardWeight: -forward - input };
}

function wordsPlanned({ name, problem }: Drawn): { readonly pipeline: Pipeline; readonly words: Uint8Array } {
  const pipeline = toPipeline(problem, slotsOf(name));
  return { pipeline, words: toOrderArray(pipeline, automaticOrder(problem, slotsOf(name))) };
}

function close(actual: number, expected: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${what}: ${actual} against ${expected}`);
}

describe('planned zero-bubble orders', () => {
  it('run, with every pass of every micro-batch once, and never hold more than the limit', () => {
    fc.assert(
      fc.property(drawn, ({ name, problem }) => {
        const timeline = timelineOf(name, problem);
        assert.ok(Math.max(...peaks(timeline, problem.memory)) <= problem.memory.limit * (1 + 1e-9));
      }),
      { seed, numRuns: cases(30, 600) },
    );
  });

  it('take as long in the planner as in the simulator, and no less than the bound', () => {
    fc.assert(
      fc.property(drawn, (case_) => {
        const { pipeline, words } = wordsPlanned(case_);
        const spanMs = timeOrder(pipeline, words, makeTimes(pipeline));
        close(spanMs, longestSpanMs(timelineOf(case_.name, case_.problem)), 'longest span');
        assert.ok(spanMs >= spanBoundMs(pipeline) * (1 - 1e-9), `${spanMs} ms below the bound of ${spanBoundMs(pipeline)} ms`);
      }),
      { seed: seed + 1, numRuns: cases(30, 600) },
    );
  });

  it('are never longer than any fixed order of the same placement that fits under the limit, by their longest span or their makespan', () => {
    const fixed = (name: Drawn['name']): readonly ScheduleKind[] =>
      scheduleKinds.filter(
        ({ placement, chunksPerStage, sliced, planned }) =>
          placement === scheduleKind(name).placement && chunksPerStage === slotsOf(name) && !sliced && !planned,
      );
    const compared = new Map<string, number>();
    fc.assert(
      fc.property(drawn, fc.constantFrom('span', 'makespan'), ({ name, problem: { memory, ...rest } }, objective) => {
        const problem = { ...rest, objective, memory: { ...memory, ...givenBack(memory) } };
        const lengthMs = (timeline: Timeline): number => (objective === 'span' ? longestSpanMs(timeline) : timeline.makespanMs);
        const planned = timelineOf(name, problem);
        for (const kind of fixed(name)) {
          if (kind.unmet(problem) !== null) continue;
          const timeline = timelineOf(kind.name, problem);
          if (Math.max(...peaks(timeline, problem.memory)) > problem.memory.limit) continue;
          compared.set(kind.name, (compared.get(kind.name) ?? 0) + 1);
          assert.ok(lengthMs(planned) <= lengthMs(timeline) * (1 + 1e-9), `${lengthMs(planned)}, ${kind.name} ${lengthMs(timeline)}`);
        }
      }),
      { seed: seed + 2, numRuns: cases(60, 600) },
    );
    for (const name of names)
      for (const kind of fixed(name)) assert.ok((compared.get(kind.name) ?? 0) >= 2, `${kind.name} ${compared.get(kind.name)}`);
  });
});

describe('the search for zero-bubble orders', () => {
  it('finds the same order where it gives up what takes too long as where it makes every order whole', () => {
    let givenUp = 0;
    fc.assert(
      fc.property(drawn, ({ name, problem }) => {
        const pipeline = toPipeline(problem, slotsOf(name));
        const { handcrafted, greedy } = startingOrders(pipeline);
        const whole = greedy.map(
          (recipe): OrderRecipe =>
            (short) =>
              recipe(short, Infinity),
        );
        const counted = greedy.map((recipe): OrderRecipe => (short, mostMs) => {
          const orders = recipe(short, mostMs);
          if (orders === 'too long') givenUp++;
          return orders;
        });
        const [one, other] = [counted, whole].map((each) => searchOrder(pipeline, { handcrafted, greedy: each }));
        assert.equal(one!.spanMs, other!.spanMs);
        assert.deepEqual(one!.orders, other!.orders);
      }),
      { seed: seed + 5, numRuns: cases(20, 300) },
    );
    assert.ok(givenUp >= 100, `${givenUp} given up`);
  });

  it('times a moved step again as a measurement of the whole does', () => {
    const tried = cases(60, 1200);
    let moved = 0;
    fc.assert(
      fc.property(drawn, fc.nat(), fc.integer({ min: -6, max: 6 }), (case_, at, distance) => {
        const { pipeline, words } = wordsPlanned(case_);
        const times = makeTimes(pipeline);
        timeOrder(pipeline, words, times);
        timeTails(pipeline, words, times);
        const from = at % words.length;
        const stage = Math.floor(from / pipeline.length);
        const to = Math.min(Math.max(from + distance, stage * pipeline.length), (stage + 1) * pipeline.length - 1);
        const letters = Array.from(words);
        letters.splice(to, 0, ...letters.splice(from, 1));
        const after = Uint8Array.from(letters);
        const wanted = makeTimes(pipeline);
        const runs = fits(pipeline, after, stage, new Int32Array(pipeline.operationCount)) && timeOrder(pipeline, after, wanted) < Infinity;
        if (!runs) return;
        timeTails(pipeline, after, wanted);
        const timed = retimeAfterMove(pipeline, after, times, makeQueue(pipeline), Math.min(from, to), Math.max(from, to));
        if (timed === Infinity) return;
        moved++;
        for (const column of ['endMs', 'tailMs', 'microBatch', 'linkEndMs', 'linkTailMs', 'linkStep'] as const)
          assert.deepEqual(times[column], wanted[column], column);
      }),
      { seed: seed + 3, numRuns: tried },
    );
    assert.ok(moved >= tried / 5, `${moved} of ${tried}`);
  });

  it('never makes an order longer, nor breaks it', () => {
    fc.assert(
      fc.property(drawn, ({ problem }) => {
        const pipeline = toPipeline({ ...problem, chunksPerStage: 1 }, 1);
        const start = toOrderArray(pipeline, (stage, emit) => {
          for (const kind of [operationKind.forward, operationKind.backwardInput, operationKind.backwardWeight])
            for (let unit = 0; unit < problem.microBatches; unit++) emit(kind, stage, unit);
        });
        const unlimited = { ...pipeline, limit: pipeline.limit.map(() => Infinity) };
        const spanMs = timeOrder(unlimited, start, makeTimes(unlimited));
        const better = anneal(unlimited, { orders: start, spanMs }, { work: 50_000, enoughMs: 0, toleranceMs: 1, seed: 1 });
        assert.ok(better.spanMs <= spanMs);
        close(timeOrder(unlimited, better.orders, makeTimes(unlimited)), better.spanMs, 'span');
      }),
      { seed: seed + 4, numRuns: cases(20, 300) },
    );
  });
});

describe('hand-made zero-bubble schedules', () => {
  const sizes = [2, 3, 4, 6, 8].flatMap((stages) => [2, 3, 5].map((times) => ({ stages, microBatches: times * stages })));

  it('have a bubble of (p - 1) (F + I - W) in ZB-H1 and hold p micro-batches', () => {
    for (const { stages, microBatches } of sizes)
      for (const [forward, input, weight] of [[1, 1, 1], [3, 4, 2], [10, 12, 6]] as const) {
        const problem = wholeProblem('ZB-H1', microBatches, equalTimes(stages, forward, input, weight, 0), rowMemory(stages));
        const timeline = timelineOf('ZB-H1', problem);
        const busy = microBatches * (forward + input + weight);
        close(longestSpanMs(timeline) - busy, (stages - 1) * (forward + input - weight), `${stages} stages, ${microBatches} micro-batches`);
        assert.equal(Math.max(...peaks(timeline, problem.memory)), 34 * stages);
      } // prettier-ignore
  });

  it('have a bubble of (p - 1) (F + I - 2 W) in ZB-H2, none where all take the same time, and hold 2 p - 1 micro-batches', () => {
    for (const { stages, microBatches } of sizes)
      for (const [forward, input, weight] of [[1, 1, 1], [3, 4, 2], [10, 12, 6]] as const) {
        const problem = wholeProblem('ZB-H2', microBatches, equalTimes(stages, forward, input, weight, 0), rowMemory(2 * stages - 1));
        const timeline = timelineOf('ZB-H2', problem);
        const busy = microBatches * (forward + input + weight);
        close(longestSpanMs(timeline) - busy, (stages - 1) * (forward + input - 2 * weight), `${stages} stages, ${microBatches} micro-batches`);
        assert.equal(Math.max(...peaks(timeline, problem.memory)), 34 * (2 * stages - 1));
      } // prettier-ignore
  });
});

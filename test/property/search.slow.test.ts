import { scheduleKind } from '../../src/core/schedules/registry';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { GpuPresetName } from '../../src/core/cluster/presets';
import type { ModelSpec } from '../../src/core/domain/model';
import { cutsFor } from '../../src/core/layout-search/cuts';
import { createEvaluator, type Evaluator, type Predicted } from '../../src/core/layout-search/evaluate';
import type { SearchPoint } from '../../src/core/layout-search/known';
import { scheduleKey, sizesKey } from '../../src/core/layout-search/candidate-group';
import { bestFirst, keptSizes } from '../../src/core/layout-search/search';
import { isDrained, planningAnyway, solvedAnyway } from '../../src/core/layout-search/search-budget';
import { candidateGroups } from '../../src/core/layout-search/space';
import { sameTime, type SearchProblem } from '../../src/core/layout-search/search-problem';
import { searchKeys, type SearchKey } from '../../src/core/domain/layout-choices';
import { workFor } from '../../src/core/schedules/zero-bubble/automatic-search';
import { runsStacks } from '../../src/core/planner/refusals';
import { namedSchedules as allSchedules, type ScheduleName } from '../../src/core/domain/schedule-names';
import { deepseek, gpt, llama3, mixtral, request } from '../golden/requests';
import { modelOf, whisper } from '../unit/core/planner/stacks';
import { cases } from './cases';

/** All but those that searches leave out. */
const searched = allSchedules.filter((name) => scheduleKind(name).exchangesAttention !== true);
const hasGroupsOrCopies = (name: ScheduleName): boolean => scheduleKind(name).grouped === true || scheduleKind(name).copies !== undefined;
const namedSchedules = searched.filter((name) => !hasGroupsOrCopies(name));
const problems = cases(24, 1000);
/** Larger spaces get more keys fixed. */
const mostPoints = 90;

const models: readonly ((layers: number) => ModelSpec)[] = [
  (layers) => gpt(layers, 1024, 16, 50304),
  (layers) => ({ ...llama3('70b', layers), hidden: 2048, heads: 16, kvHeads: 4, ffn: 5632, vocab: 128256 }),
  (layers) => ({ ...llama3('70b', layers), hidden: 4096, heads: 32, ffn: 14336, vocab: 0 }),
  (layers) => ({ ...mixtral(layers), hidden: 2048, heads: 16, ffn: 4096 }),
  (layers) => ({
    ...deepseek(2, layers),
    hidden: 1024,
    heads: 16,
    kvHeads: 16,
    ffn: 512,
    denseFfn: 4096,
    experts: { count: 8, active: 2, sharedFfn: 1024 },
  }),
  (layers) => whisper(Math.ceil(layers / 2), Math.floor(layers / 2)),
  (layers) =>
    modelOf({ model_type: 't5', d_model: 1024, d_ff: 8192, d_kv: 128, num_heads: 16, num_layers: 1, num_decoder_layers: layers - 1 }),
];

const problem = fc
  .record({
    model: fc.constantFrom(...models),
    layers: fc.integer({ min: 3, max: 9 }),
    gpu: fc.constantFrom<GpuPresetName>('A100-40GB', 'V100-16GB', 'H100-80GB', 'RTX4090'),
    memoryShare: fc.double({ min: 0.15, max: 1, noNaN: true }),
    nodes: fc.integer({ min: 1, max: 4 }),
    gpusPerNode: fc.constantFrom(1, 2, 4, 6),
    perReplica: fc.constantFrom(1, 2, 4, 6, 8, 12),
    sequenceLength: fc.constantFrom(512, 1024, 4096),
    attention: fc.constantFrom('flash' as const, 'unfused' as const),
    freeKeys: fc.shuffledSubarray([...searchKeys], { minLength: 2, maxLength: 7 }),
    microBatch: fc.constantFrom(1, 2),
    virtualStages: fc.constantFrom(1, 1, 2),
    schedule: fc.option(fc.constantFrom(...namedSchedules), { freq: 3 }),
  })
  .map(
    ({
      model,
      layers,
      gpu,
      memoryShare,
      nodes,
      gpusPerNode,
      perReplica,
      sequenceLength,
      attention,
      freeKeys,
      microBatch,
      virtualStages,
      schedule: asked,
    }): SearchProblem => {
      const drawn = model(layers);
      const hasStacks = drawn.stacks !== undefined;
      const globalBatch = perReplica * nodes * gpusPerNode;
      const lengths = { sequenceLength, ...(hasStacks ? { decoderSequenceLength: sequenceLength / 4 } : {}) };
      const base = request(gpu, drawn, {
        training: { ...lengths, globalBatch, attention, microBatch, zeroStage: 1 },
        layout: { data: nodes * gpusPerNode, virtualStages: hasStacks ? 1 : virtualStages },
      });
      const { cluster } = base;
      const memoryBytes = Math.round(memoryShare * cluster.gpu.memoryBytes);
      const fixed = new Set(searchKeys.filter((key) => !freeKeys.includes(key)));
      for (const key of ['pipeline', 'data', 'schedule'] as const) fixed.delete(key);
      const schedule = hasStacks && asked !== null && !runsStacks(asked) ? null : asked;
      if (schedule !== null) fixed.add('schedule');
      return {
        request: { ...base, schedule, cluster: { ...cluster, nodes, gpusPerNode, gpu: { ...cluster.gpu, memoryBytes } } },
        fixed,
        triesHost: true,
      };
    },
  );

function pointsOf(problem: SearchProblem): SearchPoint[] {
  return [...candidateGroups(problem)].flatMap((family) => cutsFor(problem, family).map((stageLayers) => ({ ...family, stageLayers })));
}

/** With more keys fixed until the space is small enough to look at every point. */
function small(problem: SearchProblem): SearchProblem {
  const order: readonly SearchKey[] = [
    'microBatch',
    'virtualStages',
    'recompute',
    'offloadOptimizer',
    'zeroStage',
    'expertTensor',
    'expert',
    'context',
    'tensor',
  ];
  const free = order.find((key) => !problem.fixed.has(key));
  return free === undefined || pointsOf(problem).length <= mostPoints
    ? problem
    : small({ ...problem, fixed: new Set([...problem.fixed, free]) });
}

/** Every point predicted, and held against its bounds; without those for which no order fits in memory. */
function predictAll(problem: SearchProblem, evaluator: Evaluator): Predicted[] {
  return pointsOf(problem).flatMap((point) => {
    const predicted = evaluator.evaluate(point);
    if (predicted === 'unmet') {
      // copies between stages need two of them on a node
      assert.ok(scheduleKind(point.schedule).planned || scheduleKind(point.schedule).copies !== undefined, point.schedule);
      return [];
    }
    assert.ok(predicted !== 'too-large' && predicted !== 'slower' && predicted !== 'bounded' && predicted !== 'overMemory');
    const bounds = [evaluator.groupBound(point), evaluator.pointBound(point)];
    for (const bound of [...bounds, ...(point.solved === true ? [evaluator.solvedBound(point)] : [])]) {
      const where = JSON.stringify({ ...point, bound, predicted });
      assert.ok(bound.iterationMs <= predicted.iterationMs, `time of ${where}`);
      assert.ok(bound.peakBytes <= predicted.peakBytes, `memory of ${where}`);
    }
    assert.equal(predicted.fits, predicted.peakBytes <= evaluator.usableBytes(point));
    return [predicted];
  });
}

const pair = ({ iterationMs, peakBytes }: Predicted) => [iterationMs, peakBytes] as const;
const byTime = (a: Predicted, b: Predicted): number => a.iterationMs - b.iterationMs || a.peakBytes - b.peakBytes;

function frontOf(predicted: readonly Predicted[]): (readonly [number, number])[] {
  let least = Infinity;
  return predicted.toSorted(byTime).flatMap((one) => {
    if (one.peakBytes >= least) return [];
    least = one.peakBytes;
    return [pair(one)];
  });
}

/** @throws AssertionError where one of `wanted` is neither faster nor smaller than all of a front. */
function assertReached(front: readonly (readonly [number, number])[], wanted: readonly (readonly [number, number])[]): void {
  for (const [iterationMs, peakBytes] of wanted)
    assert.ok(
      front.some(([ms, bytes]) => ms <= iterationMs && bytes <= peakBytes),
      `${iterationMs} ms in ${peakBytes} bytes`,
    );
}

function assertBetween(times: readonly number[], least: readonly number[], most: readonly number[]): void {
  assert.equal(times.length, least.length);
  for (const [index, ms] of times.entries()) assert.ok(ms >= (least[index] ?? 0) && ms <= (most[index] ?? Infinity), `${ms} ms, ${index}`);
}

/** The fastest of each group, as times by key. */
function fastest(predicted: readonly Predicted[], keyOf: (point: SearchPoint) => string): Map<string, number> {
  const times = new Map<string, number>();
  for (const { point, iterationMs } of predicted) times.set(keyOf(point), Math.min(iterationMs, times.get(keyOf(point)) ?? Infinity));
  return times;
}

describe('best-first search', () => {
  it(`finds what predicting every layout finds, on ${problems} small problems`, () => {
    let points = 0;
    let evaluated = 0;
    let withBest = 0;
    let exact = 0;
    let solved = 0;
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(problem, (drawn) => {
        const problem = small(drawn);
        fc.pre(!candidateGroups(problem).next().done);
        const evaluator = createEvaluator(problem.request);
        const all = predictAll(problem, evaluator);
        const fitting = all.filter(({ fits }) => fits);
        const found = bestFirst(problem, {}, evaluator);
        const [best] = fitting.toSorted(byTime);
        assert.deepEqual(found.best && pair(found.best), best === undefined ? null : pair(best));
        for (const { point } of all) seen.set(point.schedule, (seen.get(point.schedule) ?? 0) + 1);
        const planning = pointsOf(problem)
          .filter(({ schedule }) => scheduleKind(schedule).planned)
          .map((point) => workFor(evaluator.operations(point)));
        const withSolved = all.filter(({ point }) => point.solved === true).length;
        const isExact = planning.reduce((sum, work) => sum + work, 0) <= planningAnyway && withSolved <= solvedAnyway;
        solved += withSolved;
        exact += isExact ? 1 : 0;
        // Slices that are solved for by the makespan are only tried where they may be the fastest of their schedule.
        const others = fitting.filter(({ point }) => point.solved !== true || isDrained(point));
        const isWhole = others.length === fitting.length;
        if (isExact && isWhole) assert.deepEqual(found.paretoFront.map(pair), frontOf(fitting));
        else if (isExact) assertReached(found.paretoFront.map(pair), frontOf(others));
        const perSchedule = fastest(fitting, scheduleKey);
        assert.deepEqual(new Set(found.perSchedule.keys()), new Set(perSchedule.keys()));
        for (const [key, { point, iterationMs }] of found.perSchedule)
          if (isExact || !scheduleKind(point.schedule).planned) assert.equal(iterationMs, perSchedule.get(key), key);
        const sizes = (among: readonly Predicted[]) => [...fastest(among, sizesKey).values()].sort((a, b) => a - b).slice(0, keptSizes);
        const perSizes = found.perSizes.map(({ iterationMs }) => iterationMs);
        if (isExact && isWhole) assert.deepEqual(perSizes, sizes(fitting));
        else if (isExact) assertBetween(perSizes, sizes(fitting), sizes(others));
        if (best !== undefined) assert.equal(found.lowerBoundMs, best.iterationMs);
        points += all.length;
        evaluated += found.counts.evaluated;
        withBest += best === undefined ? 0 : 1;
      }),
      { numRuns: problems, seed: 15 },
    );
    console.log(
      `      ${points} points, ${solved} of them with slices solved for, ${evaluated} predicted by the search, ${withBest} problems with a layout that fits`,
    );
    console.log(`      ${[...seen].map(([schedule, count]) => `${schedule} ${count}`).join(', ')}`);
    assert.ok(withBest > problems / 2 && evaluated < points / 2 && solved > problems);
    assert.ok(exact > 0.9 * problems, `fronts of ${exact} problems`);
    const rare = namedSchedules.filter((schedule) => (seen.get(schedule) ?? 0) <= problems / 20);
    assert.deepEqual(rare, [], 'met too rarely: another list of schedules draws other problems, so draw with another seed');
  });

  it('finds the same best, bound and ties without tables, with fewer predictions', () => {
    const fixedOrders = namedSchedules.filter((name) => !scheduleKind(name).sliced && !scheduleKind(name).planned);
    let [evaluated, evaluatedShort] = [0, 0];
    fc.assert(
      fc.property(problem, (drawn) => {
        const problem = small(drawn);
        for (const asked of [problem, { ...problem, schedules: fixedOrders }]) {
          fc.pre(!candidateGroups(asked).next().done);
          const evaluator = createEvaluator(asked.request);
          const [whole, short] = [bestFirst(asked, {}, evaluator), bestFirst(asked, { tables: false }, evaluator)];
          assert.deepEqual(short.best && pair(short.best), whole.best && pair(whole.best));
          assert.deepEqual([short.lowerBoundMs, short.counts.families], [whole.lowerBoundMs, whole.counts.families]);
          const nearMs = sameTime * (whole.best?.iterationMs ?? Infinity);
          const near = (found: readonly Predicted[]) => found.filter(({ iterationMs }) => iterationMs <= nearMs).map(pair);
          assert.deepEqual(near(short.paretoFront), near(whole.paretoFront));
          assert.deepEqual(near([...short.perSchedule.values()]).sort(), near([...whole.perSchedule.values()]).sort());
          const sizes = ({ perSizes }: typeof whole) => perSizes.slice(0, 4).map(pair);
          assert.deepEqual(sizes(short), sizes(whole));
          if (asked === problem) continue;
          evaluated += whole.counts.evaluated;
          evaluatedShort += short.counts.evaluated;
        }
      }),
      { numRuns: problems, seed: 15 },
    );
    assert.ok(evaluatedShort < 0.9 * evaluated, `${evaluatedShort} predicted without tables, ${evaluated} with`);
  });

  for (const schedule of searched.filter(hasGroupsOrCopies))
    it(`finds what predicting every layout finds of ${schedule}`, () => {
      let points = 0;
      fc.assert(
        fc.property(problem, ({ request: wanted, fixed }) => {
          const { model, layout } = wanted;
          fc.pre(model.stacks === undefined && layout.virtualStages === 1);
          const asked = small({ request: { ...wanted, schedule }, fixed: new Set([...fixed, 'schedule' as const]), triesHost: true });
          fc.pre(!candidateGroups(asked).next().done);
          const evaluator = createEvaluator(asked.request);
          const all = predictAll(asked, evaluator);
          const found = bestFirst(asked, {}, evaluator);
          const [best] = all.filter(({ fits }) => fits).toSorted(byTime);
          assert.deepEqual(found.best && pair(found.best), best === undefined ? null : pair(best));
          points += all.length;
        }),
        { numRuns: cases(4, 100), seed: 3 },
      );
      assert.ok(points > 4, `${points} points`);
    });
});

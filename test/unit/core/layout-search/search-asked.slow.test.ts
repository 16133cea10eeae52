import assert from 'node:assert/strict';
import { toText } from '../../sentence-text';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { launchedAgainstBest } from '../../../../src/core/layout-search/launched';
import { stageCuts } from '../../../../src/core/layout-search/cuts';
import { freeNames } from '../../../../src/core/domain/layout-choices';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import type { SearchKey } from '../../../../src/core/domain/layout-choices';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../src/core/run/run';
import { scheduleKind } from '../../../../src/core/schedules/registry';
import type { ScheduleName } from '../../../../src/core/domain/schedule-names';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { toLayoutAnswer } from '../../../../src/protocol/layout';
import { loadObject } from '../config-files/files';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

const own = (more: object = {}, training: object = {}, layout: object = {}): Promise<Run> =>
  loadObject({
    model: { layers: 12, hidden: 3072, heads: 32, ffn: 12288, vocab: 50304 },
    cluster: { gpu: 'A100-80GB', nodes: 2, gpusPerNode: 8 },
    training: { sequenceLength: 2048, globalBatch: 64, microBatch: 1, recompute: 'none', ...training },
    slicing: { unit: 128 },
    layout: { tensor: 2, pipeline: 4, data: 2, ...layout },
    ...more,
  });

const problemOf = (run: Run, free: readonly SearchKey[] = freeNames.layout, face: object = {}) =>
  toSearchProblem(run, resolveRun(run, { ...defaults, ...face }), free);

const names = (run: Run, free?: readonly SearchKey[], face?: object): string[] =>
  [
    ...new Set(
      [...candidateGroups(problemOf(run, free, face))].map(({ schedule, layout }) =>
        layout.virtualStages > 1 && schedule === '1F1B' ? 'Interleaved1F1B' : schedule,
      ),
    ),
  ].sort();

describe('what a search may choose', () => {
  it('is the schedules that a file, the command line or the settings name, in this order, else those of the runtime', async () => {
    assert.deepEqual(names(await own()), ['1F1B', 'Interleaved1F1B']);
    assert.deepEqual(names(await own(), freeNames.layout, { runtime: 'terapipe' }), ['GPipe', 'TeraPipe']);
    const all = names(await own({ schedules: 'all' }));
    assert.deepEqual(names(await own(), freeNames.layout, { schedules: 'all' }), all);
    assert.ok(all.includes('ZBVZeroBubble') && all.includes('TeraPipe') && all.includes('1F1B') && all.length > 10);
    const named = await own({ schedules: ['ZBVZeroBubble', 'GPipe'] });
    assert.deepEqual(names(named), ['GPipe', 'ZBVZeroBubble']);
    assert.deepEqual(names(applyOverrides(named, ['schedules=["Seq1F1B"]'])), ['Seq1F1B']);
    assert.deepEqual(names(named, freeNames.layout, { schedules: ['1F1B'] }), ['GPipe', 'ZBVZeroBubble']);
    assert.deepEqual(names(await own(), freeNames.layout, { schedules: ['ZB-H1'] }), ['ZB-H1']);
    // of the runtime too: naming a schedule that it has no setting for is asking for it
    assert.deepEqual(names(await own({}, { runtime: 'megatron' })), ['1F1B', 'Interleaved1F1B']);
    assert.deepEqual(names(await own({ schedules: ['ZB-H2'] }, { runtime: 'megatron' })), ['ZB-H2']);
  });

  it('is 1F1B with interleaved 1F1B, or that by itself', async () => {
    assert.deepEqual(names(await own({ schedules: ['1F1B'] })), ['1F1B', 'Interleaved1F1B']);
    assert.deepEqual(names(await own({ schedules: ['Interleaved1F1B'] })), ['Interleaved1F1B']);
    assert.deepEqual(names(await own({ schedules: ['Interleaved1F1B', '1F1B', 'GPipe'] })), ['1F1B', 'GPipe', 'Interleaved1F1B']);
  });

  it('is, of all schedules, one that keeps activations on the host where nothing else fits', async () => {
    const config = {
      model: { layers: 16, hidden: 3072, heads: 24, ffn: 12288, vocab: 50304 },
      cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 },
    };
    const run = await own(config, { sequenceLength: 32768, globalBatch: 16, zeroStage: 0 }, { tensor: 1, data: 1 });
    const best = (face: object): { schedule: string; fits: boolean } => {
      const { request, ...problem } = problemOf(run, freeNames.layout, face);
      const { cluster } = request;
      const small = { ...request, cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: 20 * 2 ** 30 } } };
      const { point, fits } = searchLayouts({ ...problem, request: small }).best;
      return { schedule: point.schedule, fits };
    };
    assert.equal(best({}).fits, false);
    assert.deepEqual(best({ schedules: 'all' }), { schedule: 'PO-F', fits: true });
    assert.equal(best({ schedules: ['1F1B', 'V-Min'] }).fits, false);
  });

  it('is the plan of the file where nothing that is searched fits and that does', async () => {
    const config = {
      model: { layers: 16, hidden: 3072, heads: 32, ffn: 12288, vocab: 50304 },
      cluster: { gpu: { preset: 'A100-80GB', memoryGB: 18 }, nodes: 2, gpusPerNode: 2 },
      schedules: 'all',
    };
    // tensor parallelism across nodes is in no search
    const run = await own(config, { sequenceLength: 16384, globalBatch: 2, zeroStage: 0 }, { tensor: 4, pipeline: 1, data: 1 });
    const { best, launched } = searchLayouts(problemOf(run, ['tensor', 'pipeline', 'data', 'schedule']));
    assert.ok(best.fits && best.point.layout.tensor === 4, best.point.schedule);
    assert.ok(launched !== null);
  });

  it('holds for a plan as well, where no schedule is given', async () => {
    const chosen = async (more: object, sets: readonly string[] = []): Promise<string> =>
      chosenCandidate(makePlan(resolveRun(applyOverrides(await own(more), sets), defaults))).schedule;
    assert.equal(await chosen({ schedules: ['ZB-H2'] }), 'ZB-H2');
    assert.equal(await chosen({ schedules: ['ZB-H2'], schedule: 'GPipe' }), 'GPipe');
    assert.equal(await chosen({ schedule: 'GPipe' }, ['schedules=["LoopedBFS"]']), 'LoopedBFS');
    assert.equal(await chosen({ schedule: 'GPipe' }, ['schedules=["LoopedBFS","GPipe"]']), 'GPipe');
    await assert.rejects(own({ schedules: ['1F1', 'GPipe'] }), /schedules/);
    await assert.rejects(own({ schedules: [] }), /schedules/);
  });

  it('shows what each schedule needs that the runtime does not run', async () => {
    const { needs } = toLayoutAnswer(searchLayouts(problemOf(await own({ schedules: ['1F1B', 'ZB-H1', 'GPipe'] }))), 'a');
    assert.deepEqual(needs.map(toText).sort(), [
      "GPipe needs TorchTitan, nanotron or TeraPipe's runtime",
      "ZB-H1 needs sail-sg's zero-bubble Megatron-LM",
    ]);
  });

  it('leaves out schedules whose runtimes do not have what a file sets, unless they are asked for, and reports it', async () => {
    const split = async (training: object, more: object = {}): Promise<string[]> =>
      names(await own({ schedules: 'all', ...more }, training)).filter((name) => scheduleKind(name as ScheduleName).splitsBackward);
    const pytorch = ['DualPipeV', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'ZeroBubble', 'ZeroBubbleV'];
    const megatron = ['V-Half', 'V-Min', 'ZB-H1', 'ZB-H2', 'ZBVZeroBubble', 'ZeroBubble', 'ZeroBubbleV'];
    assert.deepEqual(await split({}), [...new Set([...pytorch, ...megatron])].sort());
    for (const overlap of ['overlapGradReduce', 'overlapParamGather']) assert.deepEqual(await split({ [overlap]: true }), pytorch);
    assert.deepEqual(await split({ recompute: 'full' }), megatron);
    assert.deepEqual(await split({ overlapGradReduce: true, recompute: 'full' }), []);
    assert.deepEqual(await split({ overlapGradReduce: true, recompute: 'full' }, { schedules: ['ZB-H1', 'GPipe'] }), ['ZB-H1']);
    const { needs } = toLayoutAnswer(
      searchLayouts({ ...problemOf(await own({ schedules: 'all' }, { overlapGradReduce: true })), withoutPlanned: true }),
      'a',
    );
    const notTried = needs.map(toText).filter((need) => need.includes('not tried'));
    assert.deepEqual(notTried, [
      'V-Half, V-Min, ZB-H1, ZB-H2: not tried, since no runtime runs it with overlapGradReduce; add it to schedules to try it',
    ]);
    const recomputed = [...candidateGroups(problemOf(await own({ schedules: 'all' }, { overlapGradReduce: true }), freeNames.all))];
    assert.deepEqual(
      recomputed.filter(({ schedule, training }) => schedule === 'InterleavedZeroBubble' && training.recompute !== 'none'),
      [],
    );
  });

  it('leaves sequence parallelism and the exchange of context parallelism as a file sets them', async () => {
    const run = await own({}, { sequenceParallel: false, contextParallelComm: 'ring' });
    for (const { training } of candidateGroups(problemOf(run))) assert.ok(!training.sequenceParallel);
    assert.ok([...candidateGroups(problemOf(await own()))].some(({ training }) => training.sequenceParallel));
    const { fixed } = problemOf(run);
    assert.ok(fixed.has('sequenceParallel') && fixed.has('contextParallelComm'));
    assert.ok(!problemOf(run, freeNames.all).fixed.has('sequenceParallel'));
  });

  it('has the optimizer on the host only where that is asked for', async () => {
    const offloads = async (training: object, free: readonly SearchKey[]): Promise<string> => {
      const groups = [...candidateGroups(problemOf(await own({}, training), free))];
      return [...new Set(groups.map(({ training: { offloadOptimizer } }) => offloadOptimizer === true))].sort().join();
    };
    assert.equal(await offloads({}, freeNames.layout), 'false');
    assert.equal(await offloads({}, freeNames.all), 'false');
    assert.equal(await offloads({}, [...freeNames.layout, 'offloadOptimizer']), 'false,true');
    assert.equal(await offloads({ zeroStage: 1, offloadOptimizer: true }, freeNames.layout), 'true');
    assert.equal(await offloads({ zeroStage: 1, offloadOptimizer: true }, freeNames.all), 'false,true');
  });

  it('is one stage where gradients are sharded in every micro-batch', async () => {
    const stages = async (training: object, layout: object): Promise<number> =>
      Math.max(
        ...[...candidateGroups(problemOf(await own({ schedules: ['1F1B'] }, training, layout)))].map((group) => group.layout.pipeline),
      );
    const one = { tensor: 8, pipeline: 1, data: 2 };
    assert.equal(await stages({ zeroStage: 3 }, one), 1);
    assert.ok((await stages({ zeroStage: 1 }, one)) > 1);
    assert.equal(await stages({ zeroStage: 2 }, {}), 1);
    assert.ok((await stages({ zeroStage: 3, runtime: 'torchtitan' }, one)) > 1);
  });

  it('is all-to-all or a ring for context parallelism, inside a node and across nodes, where the heads divide', async () => {
    const comms = async (training: object): Promise<string[]> => {
      const problem = problemOf(await own({ schedules: ['1F1B'] }, { sequenceLength: 65_536, ...training }));
      const groups = [...candidateGroups(problem)].filter(({ layout }) => layout.context > 1);
      return [
        ...new Set(
          groups.map(({ layout: { tensor, context }, training: { contextParallelComm } }) => `${contextParallelComm} ${tensor * context}`),
        ),
      ].sort();
    };
    assert.deepEqual(await comms({}), [
      'all-to-all 16',
      'all-to-all 2',
      'all-to-all 4',
      'all-to-all 8',
      'ring 16',
      'ring 2',
      'ring 4',
      'ring 8',
    ]);
    assert.deepEqual(await comms({ contextParallelComm: 'ring' }), ['ring 16', 'ring 2', 'ring 4', 'ring 8']);
  });

  it('is replicas rather than context ranks that take the same time', async () => {
    const run = await loadObject({
      model: { layers: 80, hidden: 8192, heads: 64, kvHeads: 8, ffn: 28672, gatedMlp: true, vocab: 128256, tiedEmbeddings: false },
      cluster: { gpu: 'GB200', nodes: 16 },
      training: { sequenceLength: 8192, globalBatch: 256, precision: 'bf16', recompute: 'none', zeroStage: 1, contextParallelComm: 'ring' },
      layout: { tensor: 2, pipeline: 4, virtualStages: 10 },
      schedules: ['1F1B'],
    });
    const { request, ...problem } = problemOf(run, []);
    const found = (layout: object, fixed: readonly SearchKey[]) =>
      searchLayouts({
        ...problem,
        request: { ...request, layout: { ...request.layout, ...layout } },
        fixed: new Set([...problem.fixed, ...fixed]),
      });
    const [free, ring] = [found({}, []), found({ context: 2, data: 4 }, ['context', 'data'])];
    assert.ok(Math.abs(ring.best.iterationMs / free.best.iterationMs - 1) < 1e-9, 'a ring of two hides behind attention');
    assert.deepEqual(
      [free.best, free.paretoFront[0]].map((plan) => plan?.point.layout.context),
      [1, 1],
    );
  });

  it('leaves each rank of a context 4,096 tokens', async () => {
    const contexts = async (sequenceLength: number): Promise<number> =>
      Math.max(
        ...[...candidateGroups(problemOf(await own({ schedules: ['1F1B'] }, { sequenceLength })))].map((group) => group.layout.context),
      );
    assert.deepEqual([await contexts(4096), await contexts(8192), await contexts(32_768)], [1, 2, 8]);
  });
});

describe('chunks with only the embedding or the head', () => {
  it('are in the space, as published interleaved layouts have them', () => {
    assert.deepEqual(stageCuts(126, 16, 8), [[7, ...Array.from({ length: 14 }, () => 8), 7]]);
    assert.deepEqual(stageCuts(7, 4, 2), [
      [1, 2, 2, 2],
      [2, 2, 2, 1],
    ]);
    assert.deepEqual(stageCuts(6, 4, 2), [[1, 2, 2, 1]]);
    // in a V both are on the first stage, which has a layer all the same
    assert.deepEqual(stageCuts(7, 4, 2, 'v'), [[1, 2, 2, 2]]);
    assert.deepEqual(stageCuts(6, 4, 2, 'v'), []);
    assert.deepEqual(stageCuts(5, 4, 2), []);
  });

  it('are never beaten by their own search', async () => {
    const cut = { virtualStages: 2, stageLayers: [0, 1, 1, 1, 1, 1, 1, 0], tensor: 2, pipeline: 4, data: 2 };
    const run = await own(
      { model: { layers: 6, hidden: 3072, heads: 32, ffn: 12288, vocab: 50304 }, schedule: 'Interleaved1F1B' },
      {},
      cut,
    );
    for (const free of [freeNames.layout, [] as const]) {
      const { best, launched, proved } = searchLayouts(problemOf(run, free));
      assert.ok(launched?.fits === true && proved);
      assert.ok(best.iterationMs <= launched.iterationMs, `${best.iterationMs} against ${launched.iterationMs}`);
    }
    const against = launchedAgainstBest(searchLayouts(problemOf(run, ['pipeline', 'virtualStages'])));
    assert.ok(against && against.speedup >= 1);
    const free = problemOf(run, ['pipeline', 'virtualStages', 'tensor', 'data']);
    assert.ok([...candidateGroups(free)].some(({ layout }) => layout.pipeline === 4 && layout.virtualStages === 2));
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { keptFreeText } from '../../../../src/core/layout-search/labels';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import type { SearchResult } from '../../../../src/core/layout-search/result';
import type { SearchProblem } from '../../../../src/core/layout-search/search-problem';
import type { SearchKey } from '../../../../src/core/domain/layout-choices';
import { memoryVerdict } from '../../../../src/core/memory-model/verdict';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { keepsFree, keptFreeFor } from '../../../../src/core/memory-model/search-margin';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { sentence } from '../../../../src/core/sentence';
import { cases } from '../../../property/cases';
import { llama3, request } from '../../../golden/requests';
import { loadObject } from '../config-files/files';
import { toText } from '../../sentence-text';

const because = sentence`runs took more than predicted`;
const keeping = (share: number) => ({ keptFree: { share, because } });

/** Sizes of groups, micro-batch and stages of a Llama on 16 GPUs, of which each has this many GiB. */
function problemOf(memoryGiB: number, changed: Partial<SearchProblem> = {}): SearchProblem {
  const wanted = request('A100-80GB', llama3('70b', 16), {
    training: { sequenceLength: 4096, microBatch: 1, globalBatch: 64, precision: 'bf16', zeroStage: 1, attention: 'flash', dropout: false },
    layout: { tensor: 4, pipeline: 2, data: 2 },
  });
  const gpu = { ...wanted.cluster.gpu, memoryBytes: memoryGiB * 2 ** 30 };
  const fixed = new Set<SearchKey>(['recompute', 'zeroStage', 'context', 'sequenceParallel', 'contextParallelComm', 'offloadOptimizer']);
  return { request: { ...wanted, cluster: { ...wanted.cluster, gpu } }, fixed, schedules: ['1F1B'], strict: true, ...changed };
}

const allOf = ({ best, perSchedule, paretoFront, runnersUp }: SearchResult) => [
  best,
  ...perSchedule,
  ...paretoFront,
  ...runnersUp.map(({ plan }) => plan),
];

/** Memory of which the best takes `used`, or all that is usable. */
function memoryFor(used = 1): number {
  const { verdict } = searchLayouts(problemOf(400)).best;
  return (1.05 * verdict.peakBytes) / used / 2 ** 30 + 1.001;
}

describe('memory that a search keeps free', () => {
  it('is what one in ten measured runs of the runtime took more than predicted, or of all runs where it was not measured', () => {
    const shares = (['megatron', 'deepspeed', 'torchtitan', 'fsdp1', 'terapipe'] as const).map((runtime) => keptFreeFor({ runtime }));
    assert.ok(shares.every(({ share }) => share >= 0 && share < 0.2));
    assert.equal(keptFreeFor({}).share, shares[0]?.share);
    assert.equal(shares[3]?.share, shares[4]?.share);
    assert.match(toText(shares[1]?.because), /^\d+ of \d+ measured runs of DeepSpeed took over [\d.]+ % more than predicted$/);
    assert.match(toText(shares[3]?.because), /of other runtimes/);
  });

  it('changes no answer where memory is plentiful', () => {
    const runs = cases(6, 60);
    fc.assert(
      fc.property(fc.constantFrom(200, 400, 4000), fc.double({ min: 0, max: 0.2, noNaN: true }), (memory, share) => {
        const { keptFree: none, ...plain } = searchLayouts(problemOf(10 * memory));
        const { keptFree, ...kept } = searchLayouts(problemOf(10 * memory, keeping(share)));
        assert.equal(none, null);
        assert.ok(share === 0 ? keptFree === null : keptFree?.best === 'keeps');
        assert.deepEqual(kept, plain);
      }),
      { numRuns: runs },
    );
  });

  it('is left by every layout of an answer, and what is faster but leaves less is named', () => {
    const memory = memoryFor();
    const tight = searchLayouts(problemOf(memory));
    assert.ok(!keepsFree(tight.best.verdict, 0.05));
    const kept = searchLayouts(problemOf(memory, keeping(0.05)));
    assert.equal(kept.keptFree?.best, 'keeps');
    assert.ok(allOf(kept).every(({ fits, verdict }) => fits && keepsFree(verdict, 0.05)));
    assert.ok(kept.best.iterationMs > tight.best.iterationMs);
    // verdicts are on the GPU as it is
    assert.equal(kept.best.verdict.capacityBytes, memory * 2 ** 30);
    assert.equal(kept.best.verdict.usableBytes, tight.best.verdict.usableBytes);
    assert.ok(kept.notFitting.some(({ why }) => toText(why).includes(' with 5 % of GPU memory kept free')));
    assert.equal(toText(keptFreeText(kept)), 'layouts keep 5 % of GPU memory free: runs took more than predicted');
    assert.equal(keptFreeText(tight), null);
  });

  it('is given up where no layout leaves it, or only ones that are slower by more than times are known', () => {
    const least = Math.min(...searchLayouts(problemOf(400)).paretoFront.map(({ peakBytes }) => peakBytes));
    const { keptFree, ...tight } = searchLayouts(problemOf((1.05 * least) / 2 ** 30 + 1.001, keeping(0.05)));
    assert.ok(tight.best.fits && keptFree?.best === 'tight' && keptFree.slowdown === null);
    assert.match(toText(keptFreeText({ keptFree, ...tight })), /^no layout keeps 5 % of GPU memory free, and the best fits tightly/);

    const { paretoFront, cost } = searchLayouts(problemOf(400));
    const step = 1 + cost.errorPercent / 100;
    const slower = paretoFront.findLast(({ iterationMs }) => iterationMs > 1.01 * step * (paretoFront[0]?.iterationMs ?? Infinity));
    const [fast] = paretoFront.filter(({ iterationMs }) => (slower?.iterationMs ?? 0) > 1.01 * step * iterationMs).slice(-1);
    assert.ok(slower !== undefined && fast !== undefined, 'layouts with less memory are slower by more than errors');
    const memory = (1.05 * fast.peakBytes) / 2 ** 30 + 1.001;
    // what keeps as much free as this takes the memory of the slower one at most
    const share = (1.05 * (fast.peakBytes - slower.peakBytes)) / 2 ** 30 / memory - 1e-3;
    const costly = searchLayouts(problemOf(memory, keeping(share)));
    assert.equal(costly.best.iterationMs, fast.iterationMs);
    assert.ok(costly.keptFree?.best === 'tight' && (costly.keptFree.slowdown ?? 0) > step);
    assert.match(toText(keptFreeText(costly)), /^the best fits tightly: layouts with [\d.]+ % of GPU memory free take [\d.]+x the time/);
  });

  it('is not asked of the layout that a file launches: it keeps its verdict, and is the best where none is faster', async () => {
    const best = searchLayouts(problemOf(400)).best.point;
    const { tensor, pipeline, data, virtualStages } = best.layout;
    const memory = memoryFor();
    const own = problemOf(memory, { ...keeping(0.05), launched: true });
    const launching = { ...own.request, layout: { ...own.request.layout, tensor, pipeline, data, virtualStages }, training: best.training };
    const { launched, best: found, keptFree } = searchLayouts({ ...own, request: { ...launching, schedule: '1F1B' } });
    assert.ok(launched?.fits === true && launched.verdict.fits);
    assert.ok(found.iterationMs <= launched.iterationMs);
    assert.equal(keptFree?.best, 'launched');

    const run = await loadObject({
      model: { layers: 12, hidden: 3072, heads: 32, ffn: 12288, vocab: 50304 },
      training: { runtime: 'deepspeed', sequenceLength: 2048, globalBatch: 32 },
    });
    const problem = toSearchProblem(run, resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: null }));
    assert.equal(problem.keptFree?.share, keptFreeFor({ runtime: 'deepspeed' }).share);
  });

  it('leaves the doubt about cached blocks to the GPU as it is: as the plan of the layout', async () => {
    const doubts = new Set<boolean>();
    for (const memoryGB of [24, 26, 28, 30, 32]) {
      const run = await loadObject({
        model: { layers: 64, hidden: 10480, heads: 80, vocab: 50257, tiedEmbeddings: true, maxPositions: 2048 },
        cluster: { gpu: 'V100-32GB', nodes: 32, gpusPerNode: 4 },
        training: { sequenceLength: 2048, microBatch: 1, globalBatch: 512, precision: 'fp16', zeroStage: 1, recompute: 'full', runtime: 'deepspeed', gradAccumulationFp32: false, optimizer: 'adam-8bit', attention: 'unfused', sequenceParallel: false, fusedCrossEntropy: false, dropout: true }, // prettier-ignore
        layout: { tensor: 1, pipeline: 64, data: 2, context: 1 },
        schedule: '1F1B',
      });
      const given = resolveRun(run, { gpu: 'V100-32GB', nodes: 32, gpusPerNode: 4 });
      const gpu = { ...given.cluster.gpu, memoryBytes: memoryGB * 2 ** 30 };
      const asked = { ...given, cluster: { ...given.cluster, gpu } };
      const planned = memoryVerdict(chosenCandidate(makePlan(asked, { isCompared: false, drawnOperations: 0 })).memory);
      const { fits, tight, crowdedBytes } = searchLayouts(toSearchProblem(run, asked)).best.verdict;
      assert.deepEqual([fits, tight], [planned.fits, planned.tight], `${memoryGB} GiB`);
      assert.ok(Math.abs(crowdedBytes - planned.crowdedBytes) < 1, `${memoryGB} GiB`);
      doubts.add(tight);
    }
    assert.equal(doubts.size, 2);
  });
});

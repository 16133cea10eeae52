import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Run } from '../../../../src/core/run/run';
import { ExpectedError } from '../../../../src/core/errors';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { launchedAgainstBest } from '../../../../src/core/layout-search/launched';
import { freeNames } from '../../../../src/core/domain/layout-choices';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import type { SearchResult } from '../../../../src/core/layout-search/result';
import { searchKeys, type SearchKey } from '../../../../src/core/domain/layout-choices';
import { loadObject } from '../config-files/files';
import { sentence } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

async function launcher(name: string, edited: (text: string) => string = (text) => text): Promise<Run> {
  const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers', name), 'utf8');
  const reading = {
    read: () => Promise.reject(new ExpectedError('config-not-found', sentence`There is no such file`, sentence`create it`)),
    shell: () => Promise.reject(new Error('no shell')),
  };
  const { run } = await loadConfig(name, edited(text), reading);
  assert.ok(run);
  return run;
}

function searched(run: Run, free: readonly SearchKey[] = searchKeys): SearchResult {
  return searchLayouts(toSearchProblem(run, resolveRun(run, defaults), free));
}

/** What is searched for where the schedule does not matter. */
const sizes: readonly SearchKey[] = ['tensor', 'pipeline', 'data', 'microBatch'];

/** 40 GPUs in nodes of 8; 18 heads, of which tensor parallelism takes the half. */
const nemo = (globalBatch = 80): Promise<Run> =>
  launcher('nemo.yaml', (text) =>
    text
      .replace('tensor_model_parallel_size: 4', 'tensor_model_parallel_size: 2')
      .replace('num_layers: 32', 'num_layers: 30')
      .replace('global_batch_size: 72', `global_batch_size: ${globalBatch}`),
  );

const own = (layout: object, more: object = {}): Promise<Run> =>
  loadObject({
    model: { layers: 12, hidden: 3072, heads: 32, ffn: 12288, vocab: 50304 },
    cluster: { gpu: 'A100-80GB', nodes: 2, gpusPerNode: 8 },
    training: { sequenceLength: 2048, globalBatch: 32, microBatch: 1, recompute: 'none' },
    slicing: { unit: 128 },
    layout,
    ...more,
  });

describe('a launched layout against the best', () => {
  it('takes from a launcher what stays, and what may be freed', async () => {
    const run = await nemo();
    const request = resolveRun(run, defaults);
    const kept = toSearchProblem(run, request, freeNames.none);
    for (const key of ['tensor', 'pipeline', 'virtualStages', 'microBatch', 'recompute'] as const) assert.ok(kept.fixed.has(key), key);
    assert.deepEqual(toSearchProblem(run, request, freeNames.layout).fixed, new Set(['recompute', 'zeroStage']));
    assert.equal(toSearchProblem(run, request, freeNames.all).fixed.size, 0);
    assert.deepEqual(toSearchProblem(run, request), toSearchProblem(run, request, freeNames.all));
    assert.deepEqual(toSearchProblem(run, request, ['tensor']).fixed, new Set([...kept.fixed].filter((key) => key !== 'tensor')));
  });

  it('chooses of a terapipe.json what its runtime runs, as of the files of that launcher', async () => {
    for (const [runtime, schedules, kept] of [
      ['megatron', ['1F1B'], false],
      ['deepspeed', ['1F1B'], true],
    ] as const) {
      const run = await own({ tensor: 2 }, { training: { sequenceLength: 2048, globalBatch: 32, runtime } });
      const problem = toSearchProblem(run, resolveRun(run, defaults));
      assert.deepEqual(problem.schedules, schedules);
      assert.deepEqual(problem.request.runs, schedules);
      assert.equal(problem.fixed.has('virtualStages'), kept);
    }
    const run = await own({ tensor: 2 });
    assert.deepEqual(toSearchProblem(run, resolveRun(run, defaults)).schedules, ['1F1B'], 'Megatron-LM is assumed');
    const all = await own({ tensor: 2 }, { schedules: 'all' });
    assert.equal(toSearchProblem(all, resolveRun(all, defaults)).schedules, undefined);
  });

  it('predicts the launched layout as its plan does', async () => {
    for (const run of [
      await nemo(),
      await own({ tensor: 2, pipeline: 4, data: 2 }, { schedule: 'GPipe' }),
      await own({ tensor: 4, pipeline: 2, data: 2, virtualStages: 2 }),
      await own({ tensor: 8, pipeline: 1, data: 2 }),
      await own({ tensor: 2, pipeline: 4, data: 2, stageLayers: [1, 5, 4, 2] }, { schedule: '1F1B' }),
    ]) {
      const { launched } = searched(run, []);
      const chosen = chosenCandidate(makePlan(resolveRun(run, defaults)));
      assert.ok(launched, run.file);
      const near = Math.abs(launched.iterationMs / chosen.iterationMs - 1);
      assert.ok(near < 1e-9, `${launched.iterationMs} against ${chosen.iterationMs}`);
      assert.equal(launched.peakBytes, candidatePeakBytes(chosen));
      assert.equal(launched.fits, chosen.fits);
    }
  });

  it('plans no schedule where a launcher has one stage, and none that needs more memory where nothing fits', async () => {
    const run = await launcher('../traits/torchtitan/interleaved-one-stage.toml');
    assert.equal(run.schedule?.value, 'Interleaved1F1B');
    const request = resolveRun(run, defaults);
    assert.equal(request.schedule, null);
    const plan = makePlan(request);
    const chosen = chosenCandidate(plan);
    assert.equal(chosen.name, '1F1B');
    assert.deepEqual(
      plan.reasons.filter((reason) => /interleaved ?1F1B needs/i.test(toText(reason))),
      [],
    );
    const { best, launched, proved } = searched(run, []);
    assert.equal(best.point.layout.virtualStages, 1);
    assert.ok(!best.fits && !chosen.fits && !proved && best.peakBytes <= candidatePeakBytes(chosen));
    assert.equal(launched?.iterationMs, chosen.iterationMs);
  });

  it('finds a launcher the best of what it can run, on the same GPUs', async () => {
    const run = await nemo();
    const result = searched(run);
    assert.equal(result.gpus, 40);
    for (const { point } of [result.best, ...result.paretoFront, ...result.runnersUp.map(({ plan }) => plan)]) {
      assert.equal(point.schedule, '1F1B');
      const { tensor, pipeline, data, context } = point.layout;
      assert.equal(tensor * pipeline * data * context, 40);
    }
    const against = launchedAgainstBest(result);
    assert.ok(against && against.speedup >= 1);
    assert.match(toText(against.title), /^as launched [\d.]+ m?s, best [\d.]+ m?s, [\d.]+(?: % faster|x as fast)$/);
    assert.match(toText(against.summary), /more .*; compared with TP\d/);
  });

  it('reports that tensor parallelism crosses nodes, and what does not fit', async () => {
    const across = launchedAgainstBest(searched(await own({ tensor: 16, pipeline: 1, data: 1 }), sizes));
    assert.ok(across && across.speedup > 1.5);
    assert.match(
      toText(across.summary),
      /^tensor 16 crosses nodes of 8 GPUs: [\d.]+(?: % slower|x the time): .* more collectives inside layers/,
    );
    const large = await own({ tensor: 1, pipeline: 1, data: 16 }, { training: { sequenceLength: 8192, globalBatch: 256, microBatch: 16 } });
    const against = launchedAgainstBest(searched(large, sizes));
    assert.ok(against && !against.launched.fits && against.best.fits);
    assert.match(toText(against.title), /^launched layout does not fit; best that fits: [\d.]+ m?s$/);
    assert.match(toText(against.summary), /^does not fit, .* GiB over: /);
  });

  it('shows what launchers refuse of it, though it would be faster', async () => {
    const against = launchedAgainstBest(searched(await nemo(72)));
    assert.ok(against && against.speedup < 1);
    assert.match(
      toText(against.summary),
      /^interleaving needs a multiple of 5 micro-batches, not 9: the best that launchers accept is TP\d/,
    );
  });

  it('cuts the layers again where the stages are free', async () => {
    const uneven = await own({ tensor: 2, pipeline: 4, data: 2, virtualStages: 1, stageLayers: [1, 1, 9, 1] }, { schedule: '1F1B' });
    const keys = ['tensor', 'context', 'data', 'schedule', 'microBatch'] as const;
    const problem = toSearchProblem(uneven, resolveRun(uneven, defaults), ['pipeline', 'virtualStages']);
    const { best, launched } = searchLayouts({ ...problem, fixed: new Set([...problem.fixed, ...keys]) });
    assert.deepEqual(launched?.point.stageLayers, [1, 1, 9, 1]);
    assert.ok(best.iterationMs < 0.8 * launched.iterationMs);
  });

  it('reports it when the launched layout is the best', async () => {
    const run = await own({ tensor: 2, pipeline: 4, data: 2 }, { schedule: 'GPipe' });
    const request = resolveRun(run, defaults);
    const result = searchLayouts({ ...toSearchProblem(run, request), fixed: new Set(searchKeys) });
    assert.equal(launchedAgainstBest(result)?.speedup, 1);
    assert.equal(toText(launchedAgainstBest(result)?.summary), 'this is the best layout');
  });

  it('has none where the files give no whole layout, or one whose batch does not divide', async () => {
    const open = searched(await own({ tensor: 2 }), []);
    assert.equal(open.launched, null);
    assert.equal(launchedAgainstBest(open), null);
    const odd = await own({ tensor: 1, pipeline: 2, data: 8 }, { training: { sequenceLength: 2048, globalBatch: 24, microBatch: 2 } });
    assert.equal(searched(odd, ['microBatch']).launched, null);
  });

  it('leaves ZeRO 3 as it is, whose exchanges are not timed', async () => {
    const run = await own({ tensor: 2, pipeline: 1, data: 8 }, { training: { sequenceLength: 2048, globalBatch: 32, zeroStage: 3 } });
    assert.equal(searched(run, ['zeroStage', ...sizes]).best.point.training.zeroStage, 3);
  });
});

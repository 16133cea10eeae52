import assert from 'node:assert/strict';
import { presetNamed } from '../../../../src/core/terapipe/cluster-section';
import { applyOverrides, overrideKeys } from '../../../../src/core/terapipe/overrides';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { terapipeKeys } from '../../../../src/core/terapipe/terapipe';
import { loadFixture, loadObject } from '../config-files/files';
import { say } from '../../../../src/core/sentence';
import type { ExpectedError } from '../../../../src/core/errors';

describe('applyOverrides', () => {
  it('replaces what the files set and marks it', async () => {
    const run = applyOverrides(await loadFixture('pipeline/terapipe.json'), [
      'training.microBatch=2',
      'layout.tensor = 8',
      'schedule=1F1B',
      'training.sequenceParallel=true',
      'slicing.unit=128',
      'slicing.scheme=[[1,[64,64]]]',
      'cost.gemmHalfSize=1000',
      'cluster.nodes=4',
    ]);
    assert.deepEqual(run.training.microBatch, { value: 2, source: { kind: 'override' } });
    assert.equal(run.layout.tensor?.value, 8);
    assert.equal(run.layout.pipeline?.value, 4);
    assert.equal(run.schedule?.value, '1F1B');
    assert.equal(run.training.sequenceParallel?.value, true);
    assert.equal(run.unit?.value, 128);
    assert.deepEqual(run.scheme?.value, [{ batch: 1, tokens: [64, 64] }]);
    assert.equal(run.constants.gemmHalfSize?.value, 1000);
    assert.equal(run.nodes?.value, 4);
  });

  it('lets derived sizes of the model follow', async () => {
    const run = applyOverrides(await loadFixture('gpt2-tiny/config.json'), ['model.hidden=512', 'model.vocab=0']);
    assert.deepEqual([run.model.headDim.value, run.model.ffn.value, run.model.vocab.value], [128, 2048, 0]);
    const inline = applyOverrides(await loadObject({ model: { layers: 2, hidden: 64, heads: 4 } }), ['model.heads=8']);
    assert.deepEqual([inline.model.kvHeads.value, inline.model.headDim.value], [8, 8]);
  });

  it('makes a dense model one of experts, one key after the other', async () => {
    const run = applyOverrides(await loadFixture('llama-tiny/config.json'), [
      'model.activeExperts=2',
      'model.experts=4',
      'model.expertFfn=96',
    ]);
    const { experts, ffn } = toModelSpec(run.model);
    assert.deepEqual([experts, ffn], [{ count: 4, active: 2 }, 96]);
    assert.equal(toModelSpec(applyOverrides(run, ['model.experts=null']).model).experts, null);
  });

  it('sets the GPU and its figures', async () => {
    const run = applyOverrides(await loadFixture('gpt2-tiny/config.json'), ['cluster.gpu=H200', 'cluster.gpu.memoryGB=64']);
    assert.equal(run.gpu?.value.memoryBytes, 64 * 2 ** 30);
    assert.ok(run.links !== undefined);
  });

  it('judges values by the rules of terapipe.json', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    const codeOf = (set: string) => {
      try {
        applyOverrides(run, [set]);
        return null;
      } catch (error) {
        return (error as { code: unknown }).code;
      }
    };
    assert.equal(codeOf('training.microBatch=0'), 'config-out-of-range');
    assert.equal(codeOf('training.microBatch=1e308'), 'config-out-of-range');
    assert.equal(codeOf('training.microBatch=lots'), 'config-wrong-type');
    assert.equal(codeOf('training.microBatch='), 'config-wrong-type');
    assert.equal(codeOf('training.microBatch'), 'override-syntax');
    assert.equal(codeOf('=1'), 'override-syntax');
    assert.equal(codeOf('training.microBatchs=1'), 'override-unknown-key');
    assert.equal(codeOf('__proto__=1'), 'override-unknown-key');
    assert.equal(codeOf('cluster.gpu=H2000'), 'config-unknown-preset');
    const meant = presetNamed('A100');
    assert.match(typeof meant === 'string' ? meant : say(meant.remedy), /did you mean "A100-40GB"/);
    assert.throws(
      () => applyOverrides(run, ['trainng.microBatch=1']),
      (error: ExpectedError) => say(error.remedy) === 'did you mean training.microBatch?',
    );
  });

  it('takes a GPU by its usual name and as nvidia-smi prints it', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    const names = {
      h100: 'H100-80GB',
      'NVIDIA A100-SXM4-80GB': 'A100-80GB',
      'NVIDIA H100 80GB HBM3': 'H100-80GB',
      'A100 40GB': 'A100-40GB',
    };
    for (const [written, name] of Object.entries(names))
      assert.equal(applyOverrides(run, [`cluster.gpu=${written}`]).gpu?.value.name, name);
    for (const unclear of ['A100', 'H100 PCIe', 'V100', 'H100-94GB', 'NVIDIA RTX A6000 Ada'])
      assert.throws(() => applyOverrides(run, [`cluster.gpu=${unclear}`]), unclear);
  });

  it("takes the field's names of keys, and keys without their section", async () => {
    const run = applyOverrides(await loadFixture('pipeline/terapipe.json'), [
      'layout.tp=8',
      'PP=2',
      'data_parallel_size=3',
      'globalBatch=24',
      'seq=8k',
      'mbs=1',
      'cluster.nodes=1e1',
    ]);
    const { layout, training } = run;
    assert.deepEqual([layout.tensor?.value, layout.pipeline?.value, layout.data?.value, run.nodes?.value], [8, 2, 3, 10]);
    assert.deepEqual([training.globalBatch?.value, training.sequenceLength?.value, training.microBatch?.value], [24, 8192, 1]);
  });

  it('suggests keys by what a name means, where it is of none or of several', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    for (const [written, meant] of [
      ['batchSize', 'training.globalBatch or training.microBatch'],
      ['cluster.gpus', 'cluster.nodes or cluster.gpusPerNode'],
      ['layout.tpp', 'layout.tensor'],
    ] as const)
      assert.throws(
        () => applyOverrides(run, [`${written}=8`]),
        (error: ExpectedError) => say(error.remedy) === `did you mean ${meant}?`,
        written,
      );
    assert.equal(applyOverrides(run, ['recomputation=full']).training.recompute?.value, 'full');
  });

  it('suggests the key of a name in another section', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    assert.throws(
      () => applyOverrides(run, ['layout.gbs=8']),
      (error: ExpectedError) => say(error.remedy) === 'did you mean training.globalBatch?',
    );
  });

  it("takes words in any case, and PyTorch's names of precisions", async () => {
    const set = async (...sets: string[]) => applyOverrides(await loadFixture('pipeline/terapipe.json'), sets);
    assert.equal((await set('schedule=zb_h1')).schedule?.value, 'ZB-H1');
    assert.equal((await set('precision=float16')).training.precision?.value, 'fp16');
    assert.deepEqual((await set('schedules=1f1b,gpipe')).schedules?.value, ['1F1B', 'GPipe']);
    await assert.rejects(set('training.precision=fp8'), (error: ExpectedError) => say(error.remedy).includes('training.gemmPrecision'));
  });

  it('takes the rate of a network with its unit, of the GPU that is assumed', async () => {
    const run = applyOverrides(
      await loadObject({ model: { layers: 2, hidden: 64, heads: 4 } }),
      ['cluster.links.nicGBps=100Gb/s'],
      'A100-40GB',
    );
    assert.equal(run.links?.value.nicGBps, 12.5);
  });

  it('can set every key of terapipe.json that holds a single value', () => {
    const leaves = Object.entries(terapipeKeys).flatMap(([path, keys]) => keys.map((key) => (path === '' ? key : `${path}.${key}`)));
    const objects = new Set([...Object.keys(terapipeKeys), '$schema', 'model.from', 'cluster.gpu']);
    const missing = leaves.filter(
      (key) => !objects.has(key) && !key.startsWith('cost.table.') && !key.startsWith('cluster.groups.') && !overrideKeys().includes(key),
    );
    assert.deepEqual(missing, []);
  });
});

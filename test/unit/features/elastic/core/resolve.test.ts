import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { applyOverrides } from '../../../../../src/core/terapipe/overrides';
import { countModelParameters } from '../../../../../src/core/huggingface/count';
import type { Run } from '../../../../../src/core/run/run';
import { readGradientNorms } from '../../../../../src/features/elastic/core/gradient-norms';
import { resolveElastic } from '../../../../../src/features/elastic/core/resolve';
import { elasticUnits } from '../../../../../src/features/elastic/core/units';
import { ExpectedError } from '../../../../../src/core/errors';
import { golden } from '../../../../golden/data';
import { load } from '../../../core/config-files/files';
import { say } from '../../../../../src/core/sentence';

const sample = path.join(import.meta.dirname, '../../../../../media/samples/vit-elastic');
const vit = readFileSync(path.join(sample, 'config.json'), 'utf8');
const face = { gpu: 'V100-16GB', nodes: null, gpusPerNode: null } as const;

function withVit(elastic: object, rest: object = {}): Promise<Run> {
  const config = { model: 'config.json', cluster: { gpu: 'V100-16GB', nodes: 2, gpusPerNode: 8 }, elastic, ...rest };
  return load({ 'terapipe.json': JSON.stringify(config), 'config.json': vit });
}

/** Code, and what the error points at. */
function refusal(run: Run, log: string | null = null): readonly [string, string | undefined] {
  try {
    resolveElastic(run, face, log === null ? null : readGradientNorms(log, 'norms.json'));
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const text = error.place === undefined ? undefined : run.texts?.get(error.place.file);
    return [error.code, text?.slice(error.place?.range.start, error.place?.range.end)];
  }
  return ['resolved', undefined];
}

describe('units of a config', () => {
  it('have the sizes that the log of ViT-B/16 prints', async () => {
    const log = golden('pipetransformer-cifar10') as { readonly vitB16Params: readonly number[] };
    const { model } = resolveElastic(await withVit({}), face, null);
    assert.deepEqual(elasticUnits(model).map(({ parameters }) => parameters / 1e6), log.vitB16Params); // prettier-ignore
  });

  it('have those of ViT-L/32 and ViT-H/14 in the partition logs', async () => {
    const { models } = golden('pipetransformer-partitions') as {
      readonly models: readonly { readonly layers: number; readonly params: readonly number[] }[];
    };
    const ten = Object.fromEntries(Array.from({ length: 10 }, (_, label) => [label, String(label)]));
    for (const [layers, hidden, heads, patch] of [
      [24, 1024, 16, 32],
      [32, 1280, 16, 14],
    ] as const) {
      // prettier-ignore
      const config = { model_type: 'vit', num_hidden_layers: layers, hidden_size: hidden, num_attention_heads: heads, patch_size: patch };
      const run = await load({ 'config.json': JSON.stringify({ ...config, intermediate_size: 4 * hidden, id2label: ten }) });
      const units = elasticUnits(resolveElastic(run, face, null).model);
      const logged = models.find((model) => model.layers === layers)?.params;
      assert.deepEqual(units.map(({ parameters }) => parameters / 1e6), logged); // prettier-ignore
    }
  });

  it('add up to the parameters of the classes of transformers', async () => {
    const count = async (config: object): Promise<number> => {
      const run = await load({ 'config.json': JSON.stringify(config) });
      const units = elasticUnits(resolveElastic(run, face, null).model).reduce((sum, { parameters }) => sum + parameters, 0);
      assert.equal(units, countModelParameters(run));
      return units;
    };
    const large = { model_type: 'bert', hidden_size: 1024, num_hidden_layers: 24, num_attention_heads: 16, intermediate_size: 4096 };
    assert.equal(await count(large), 335_141_888);
    assert.equal(await count({ ...large, architectures: ['BertForMaskedLM'] }), 335_174_458);
    assert.equal(await count({ ...large, architectures: ['BertForQuestionAnswering'] }), 334_094_338);
    assert.equal(await count({ model_type: 'bert', architectures: ['BertForMaskedLM'] }), 109_514_298);
    assert.equal(await count({ model_type: 'bert', architectures: ['BertForSequenceClassification'] }), 109_483_778);
    assert.equal(await count({ model_type: 'distilbert' }), 66_362_880);
    assert.equal(await count({ model_type: 'roberta', type_vocab_size: 1, max_position_embeddings: 514 }), 124_645_632);
    const thousand = Object.fromEntries(Array.from({ length: 1000 }, (_, label) => [label, 'x']));
    assert.equal(await count({ model_type: 'vit', architectures: ['ViTForImageClassification'], id2label: thousand }), 86_567_656);
    assert.equal(await count({ model_type: 'gpt2' }), 124_439_808);
  });
});

describe('an elastic section', () => {
  it('takes what the files set, and reports what it assumes', async () => {
    const run = await withVit({ alpha: 0.25, epochs: 4, batch: 64, hostMemoryGB: 2, classes: 100, transitionSeconds: 3 });
    const { freezing, epochs, batch, cache, model, transitionMs, training, assumptions, firstLength } = resolveElastic(run, face, null);
    assert.deepEqual(freezing, { kind: 'alpha', alpha: 0.25 });
    assert.deepEqual([epochs, batch, cache.hostMemoryBytes, transitionMs, firstLength], [4, 64, 2 ** 31, 3000, 8]);
    assert.equal(model.ends.headParameters, 769 * 100);
    assert.equal(training.sequenceLength, 197);
    const assumed = assumptions.map(({ key }) => key);
    assert.ok(assumed.includes('elastic.datasetSize') && assumed.includes('elastic.pipelineLength') && !assumed.includes('elastic.epochs'));
  });

  it('freezes by a log when it names one, for the epochs that the log covers', async () => {
    const run = await withVit({ gradientNorms: 'norms.json' });
    const log = readGradientNorms('{"norms": [[1, 2], [1, 2]]}', 'norms.json');
    const { freezing, epochs } = resolveElastic(run, face, log);
    assert.deepEqual([freezing.kind, epochs], ['gradients', 3]);
    assert.deepEqual(refusal(await withVit({ freezing: 'gradients' })), ['elastic-norms', '"gradients"']);
  });

  it('can be set from the command line', async () => {
    const run = applyOverrides(await withVit({ alpha: 0.5 }), [
      'elastic.alpha=0.2',
      'elastic.pipelineLength=4',
      'elastic.throughputs=[[0,4,400]]',
    ]);
    const { freezing, firstLength, throughputs } = resolveElastic(run, face, null);
    assert.deepEqual([freezing, firstLength], [{ kind: 'alpha', alpha: 0.2 }, 4]);
    assert.deepEqual(throughputs, [{ frozenLayers: 0, pipelineLength: 4, samplesPerSecond: 400 }]);
    assert.throws(
      () => applyOverrides(run, ['elastic.alpha=1']),
      (error: ExpectedError) => error.code === 'config-out-of-range' && say(error.remedy) === 'give it a number above 0 and below 1',
    );
  });

  it('refuses nonsense where it is', async () => {
    for (const alpha of [0, 1, 1.5, -0.5])
      await assert.rejects(withVit({ alpha }), { code: 'config-out-of-range', message: `elastic.alpha is ${alpha}` });
    assert.deepEqual(refusal(await withVit({ pipelineLength: 16 })), ['elastic-pipeline-length', '16']);
    assert.deepEqual(refusal(await withVit({ frozenLayers: [0, 13] })), ['elastic-frozen-layers', '[0,13]']);
    assert.deepEqual(refusal(await withVit({ freezing: 'given' })), ['elastic-frozen-layers', '"given"']);
    assert.deepEqual(refusal(await withVit({ throughputs: [[0, 16, 5]] })), ['elastic-throughputs', '[[0,16,5]]']);
    assert.deepEqual(refusal(await withVit({}, { layout: { tensor: 2 } })), ['elastic-training', '2']);
    assert.deepEqual(refusal(await withVit({}, { training: { recompute: 'selective' } })), ['elastic-training', '"selective"']);
  });

  it('takes schedules of either seed, and refuses slices of encoders in words', async () => {
    const { schedule, tokenSlices, shrink } = resolveElastic(await withVit({ schedule: '1F1B', shrink: 'fastest' }), face, null);
    assert.deepEqual([schedule, tokenSlices, shrink], ['1F1B', 1, 'fastest']);
    assert.deepEqual(refusal(await withVit({ tokenSlices: 4 })), ['elastic-slices', '4']);
    assert.deepEqual(refusal(await withVit({ tokenSlices: 1 })), ['resolved', undefined]);
  });

  it('knows data sets by name, and prefers what other keys set', async () => {
    const named = resolveElastic(await withVit({ dataset: 'imagenet-1k' }), face, null);
    assert.deepEqual([named.datasetSize, named.evaluation.samples, named.model.ends.headParameters], [1_281_167, 50_000, 769_000]);
    const changed = resolveElastic(await withVit({ dataset: 'imagenet-1k', datasetSize: 7, evaluationSamples: 0, classes: 2 }), face, null);
    assert.deepEqual([changed.datasetSize, changed.evaluation.every, changed.model.ends.headParameters], [7, 0, 1538]);
  });

  it('refuses models whose layers cannot freeze one by one', async () => {
    const refused = async (config: object) => refusal(await load({ 'config.json': JSON.stringify(config) }));
    assert.equal((await refused({ model_type: 'mixtral' }))[0], 'elastic-model');
    assert.deepEqual(await refused({ model_type: 't5' }), ['elastic-model', '"t5"']);
    assert.deepEqual(await refused({ model_type: 'llama' }), ['resolved', undefined]);
  });

  it("balances by parameters by default where PipeTransformer's rule would leave GPUs empty", async () => {
    const balance = async (config: object) => resolveElastic(await load({ 'config.json': JSON.stringify(config) }), face, null).balance;
    assert.equal(await balance({ model_type: 'vit' }), 'greedy');
    assert.equal(await balance({ model_type: 'llama' }), 'parameters');
  });
});

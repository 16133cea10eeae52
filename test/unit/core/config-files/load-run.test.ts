import assert from 'node:assert/strict';
import path from 'node:path';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { loadRun } from '../../../load-run';
import { maximumConfigNodes } from '../../../../src/core/languages/json/document';
import { recogniseJson } from '../../../../src/core/config-files/readers';
import { plainValues } from '../../../../src/core/domain/located';
import { errorOf, fixtures, load, loadFixture, loadObject, pointedAt, readerOf } from './files';
import { say } from '../../../../src/core/sentence';

const llama = JSON.stringify({ model_type: 'llama', num_hidden_layers: 8 });

describe('loadRun', () => {
  it('ties terapipe.json to the model config it names, overriding single sizes', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    assert.equal(run.format, 'terapipe');
    assert.equal(run.title, 'pipeline');
    assert.equal(run.model.layers.value, 8);
    assert.equal(run.model.vocab.value, 0);
    assert.deepEqual(run.files, [run.file, path.join(fixtures, 'llama-tiny/config.json')]);
    assert.equal(run.model.vocab.source.kind === 'file' && run.model.vocab.source.key, 'model.vocab');
    assert.equal(run.model.layers.source.kind === 'file' && run.model.layers.source.place.file, run.files[1]);
    assert.equal(run.gpu?.value.name, 'A100-80GB');
    assert.deepEqual([run.nodes?.value, run.gpusPerNode?.value, run.unit?.value], [1, 8, 64]);
    assert.deepEqual(
      [run.layout.tensor?.value, run.layout.pipeline?.value, run.layout.data?.value, run.layout.context],
      [2, 4, 1, undefined],
    );
    assert.equal(run.training.sequenceLength?.value, 1024);
    assert.deepEqual(run.remarks, []);
  });

  it('opens a lone model config', async () => {
    const run = await loadFixture('gpt2-tiny/config.json');
    assert.equal(run.format, 'huggingface');
    assert.equal(run.title, 'gpt2-tiny');
    assert.deepEqual([run.training, run.layout, run.gpu], [{}, {}, undefined]);
  });

  it('reads the infinities that Python writes', async () => {
    const written =
      '{"model_type": "mamba2", "note": "Infinity and \\" -Infinity", "time_step_limit": [0.0, Infinity], "num_hidden_layers": 24}';
    const run = await load({ 'config.json': written.replace('"num', '"low": -Infinity, "num') });
    assert.equal(run.model.layers.value, 24);
    const { code } = await errorOf(load({ 'config.json': written.replace('24', 'Infinity') }));
    assert.equal(code, 'config-out-of-range');
  });

  it('takes the numbers of an inline model and fills the rest by kind', async () => {
    const gpt = plainValues((await loadObject({ model: { layers: 2, hidden: 128, heads: 4 } })).model);
    assert.deepEqual([gpt.ffn, gpt.kvHeads, gpt.headDim, gpt.vocab, gpt.norm, gpt.positions], [512, 4, 32, 0, 'layernorm', 'none']);
    const gated = plainValues((await loadObject({ model: { layers: 2, hidden: 4096, heads: 32, gatedMlp: true, kvHeads: 8 } })).model);
    assert.deepEqual(
      [gated.ffn, gated.norm, gated.positions, gated.mlpBias, gated.modelType],
      [10880, 'rmsnorm', 'rotary', false, 'custom'],
    );
  });

  it('derives again what followed from an overridden size', async () => {
    const config = { model: { from: 'config.json', hidden: 1024 } };
    const run = await load({ 'terapipe.json': JSON.stringify(config), 'config.json': llama });
    assert.deepEqual([run.model.hidden.value, run.model.headDim.value, run.model.ffn.value], [1024, 32, 11008]);
  });

  it('takes the model of another terapipe.json', async () => {
    const files = {
      'a.terapipe.json': '{"model": "b.terapipe.json"}',
      'b.terapipe.json': '{"model": "config.json"}',
      'config.json': llama,
    };
    const run = await load(files);
    assert.equal(run.model.layers.value, 8);
    assert.deepEqual(run.files, ['a.terapipe.json', 'b.terapipe.json', 'config.json']);
  });

  it('replaces single figures of a GPU and its links', async () => {
    const run = await loadObject({
      model: { layers: 1, hidden: 8, heads: 1 },
      cluster: { gpu: { preset: 'h200', memoryGB: 100, peakTflops: { bf16: 900 } }, links: { nicGBps: 50, intraNodeBusGBps: { 8: 300 } } },
    });
    assert.equal(run.gpu?.value.memoryBytes, 100 * 2 ** 30);
    assert.deepEqual(run.gpu.value.peakTflops, { ...gpuPresets.H200.gpu.peakTflops, bf16: 900 });
    assert.equal(run.gpu.value.memoryTBps, gpuPresets.H200.gpu.memoryTBps);
    assert.equal(run.links?.value.nicGBps, 50);
    assert.deepEqual(run.links.value.intraNodeBusGBps, { ...gpuPresets.H200.links.intraNodeBusGBps, 8: 300 });
  });

  it('reads a scheme in the notation of the paper', async () => {
    const run = await loadObject({ model: { layers: 1, hidden: 8, heads: 1 }, slicing: { scheme: [[2, [96, 32]], [1, [128]]] } }); // prettier-ignore
    assert.deepEqual(run.scheme?.value, [
      { batch: 2, tokens: [96, 32] },
      { batch: 1, tokens: [128] },
    ]);
  });

  it('splits a table of whole times and reports it', async () => {
    const table = { tokens: [64, 128], contexts: [0], ms: [[3], [6]] };
    const run = await loadObject({ model: { layers: 1, hidden: 8, heads: 1 }, cost: { issueFloorUs: 0, table } });
    assert.deepEqual(run.costTable?.value.forwardMs, [[1], [2]]);
    assert.deepEqual(run.costTable.value.backwardMs, [[2], [4]]);
    assert.equal(run.constants.issueFloorUs?.value, 0);
    assert.deepEqual(run.remarks?.map(({ code, severity }) => [code, severity]), [['cost-table-split', 'information']]); // prettier-ignore
  });

  it('remarks on unknown keys with the fix that renames them', async () => {
    const text = '{ "model": {"layers": 1, "hidden": 8, "heads": 1}, "trainning": {}, "layout": { "tensr": 2 } }';
    const run = await load({ 'terapipe.json': text });
    const [first, second] = run.remarks ?? [];
    assert.deepEqual([say(first!.remedy), say(second!.remedy)], ['did you mean "training"?', 'did you mean "tensor"?']);
    const rename = second!.fixes[0]?.edits[0];
    assert.equal(text.slice(rename?.place.range.start, rename?.place.range.end), '"tensr"');
    assert.equal(rename?.newText, '"tensor"');
  });
});

describe('recognise', () => {
  it('goes by name for terapipe.json, even broken or empty', () => {
    for (const file of ['terapipe.json', '/a/b/terapipe.json', 'C:\\x\\terapipe.json', 'file:///a/gpt3.terapipe.json'])
      assert.equal(recogniseJson(file, '{"mod'), 'terapipe');
    assert.equal(recogniseJson('myterapipe.json', ''), null);
  });

  it('goes by content for everything else, even cut off', () => {
    assert.equal(recogniseJson('x.json', llama.slice(0, 25)), 'huggingface');
    assert.equal(recogniseJson('x.json', '{ // c\n "model": {}, "layout": {}'), 'terapipe');
    assert.equal(recogniseJson('x.json', '{"hidden_size": 8, "num_hidden_layers": 2}'), 'huggingface');
    // settings of another program under names of ours, and a slip in ours
    const foreign = '{"model": {"name": "llama", "vocab": 32000}, "training": {"lr": 1e-4, "epochs": 3}, "cluster": "slurm", "seed": 1}';
    assert.equal(recogniseJson('base_config.json', foreign, 'named'), null);
    assert.equal(recogniseJson('x.json', '{"model": "config.json", "training": {"microBach": 1}}', 'named'), 'terapipe');
    assert.equal(recogniseJson('terapipe.json', foreign), 'terapipe');
  });

  it('does not take other files', () => {
    const others = ['', '[]', '"model"', 'model_type', '{"name": "x", "model": "gpt-4"}', '{"nested": {"model_type": "gpt2"}}', '\0\0'];
    for (const text of others) assert.equal(recogniseJson('package.json', text), null, text);
  });
});

describe('bad configs', () => {
  const at = async (files: Readonly<Record<string, string>>) => {
    const error = await errorOf(load(files));
    const text = files[error.place?.file ?? ''] ?? '';
    return [error.code, pointedAt(error, text)];
  };
  const terapipe = (text: string) => at({ 'terapipe.json': text });
  const model = '"model": {"layers": 4, "hidden": 64, "heads": 4}';

  it('refuses what is not a config at all', async () => {
    assert.deepEqual(await at({ 'config.json': '' }), ['config-empty', '']);
    assert.deepEqual(await at({ 'config.json': ' \n\t ' }), ['config-empty', '']);
    assert.deepEqual(await at({ 'config.json': '\u0001\0PK\u0003' }), ['config-binary', '']);
    assert.deepEqual(await at({ 'config.json': '\uFFFD\uFFFDELF\uFFFD' }), ['config-binary', '']);
    assert.deepEqual(await at({ 'config.json': '[1]' }), ['config-wrong-type', '[1]']);
    assert.deepEqual(await at({ 'config.json': '{"name": 1}' }), ['config-unknown-format', '{']);
    assert.deepEqual(await at({ 'config.json': `{"model_type": "llama", "x": "${'x'.repeat(5 * 2 ** 20)}"}` }), ['config-too-large', '']);
  });

  it('stays inside the file where a comment is not closed', async () => {
    const text = '{"model_type": 1/* no';
    const { place } = await errorOf(load({ 'config.json': text }));
    assert.deepEqual(place?.range, { start: text.indexOf('/*'), end: text.length });
  });

  it('points at the syntax error', async () => {
    assert.deepEqual(await at({ 'config.json': llama.slice(0, -1) }), ['config-json-syntax', '8']);
    assert.deepEqual(await at({ 'config.json': '{"model_type": "llama",}' }), ['config-json-syntax', '}']);
    assert.deepEqual(await at({ 'config.json': '{"model_type": "llama" // no\n}' }), ['config-json-syntax', '// no']);
    assert.deepEqual(await at({ 'config.json': '{"model_type": NaN}' }), ['config-json-syntax', 'NaN']);
    assert.deepEqual(await terapipe('{"model": Infinity}'), ['config-json-syntax', 'Infinity']);
    assert.deepEqual(await terapipe('{"model": "unfinished'), ['config-json-syntax', '"unfinished']);
  });

  it('refuses deep nesting before parsing it', async () => {
    const [code] = await terapipe(`{"model": ${'['.repeat(100_000)}`);
    assert.equal(code, 'config-too-deep');
  });

  it('refuses more values than a config can have before parsing it', async () => {
    const values = (count: number): string => `{${model}, "notes": [${Array.from({ length: count }, () => 0).join()}]}`;
    const [code] = await terapipe(values(maximumConfigNodes));
    assert.equal(code, 'config-too-large');
  });

  it('points at values of the wrong type or size', async () => {
    assert.deepEqual(await at({ 'config.json': '{"model_type": "gpt2", "n_layer": 0}' }), ['config-out-of-range', '0']);
    assert.deepEqual(await at({ 'config.json': '{"model_type": "gpt2", "n_layer": "12"}' }), ['config-wrong-type', '"12"']);
    assert.deepEqual(await at({ 'config.json': '{"model_type": 3}' }), ['config-wrong-type', '3']);
    for (const bad of ['-1', '1.5', '1e308', '1e999', '9223372036854775808', '10001', '-0.0'])
      assert.deepEqual(await terapipe(`{"model": {"layers": ${bad}, "hidden": 8, "heads": 1}}`), ['config-out-of-range', bad]);
    for (const bad of ['null', 'true', '"x"', '[1]', '{}'])
      assert.deepEqual(await terapipe(`{${model}, "training": {"microBatch": ${bad}}}`), ['config-wrong-type', bad]);
    assert.deepEqual(await terapipe(`{${model}, "layout": 8}`), ['config-wrong-type', '8']);
    assert.deepEqual(await terapipe(`{${model}, "schedule": "2F2B"}`), ['config-out-of-range', '"2F2B"']);
    assert.deepEqual(await terapipe(`{${model}, "training": {"zeroStage": 4}}`), ['config-out-of-range', '4']);
    assert.deepEqual(await terapipe(`{${model}, "slicing": {"scheme": [[1, [0]]]}}`), ['config-out-of-range', '[[1, [0]]]']);
    assert.deepEqual(await terapipe(`{${model}, "slicing": {"scheme": [[1, {"__proto__": 1}]]}}`), [
      'config-out-of-range',
      '[[1, {"__proto__": 1}]]',
    ]);
  });

  it('refuses duplicate and forbidden keys', async () => {
    assert.deepEqual(await at({ 'config.json': '{"model_type": "gpt2", "n_layer": 1, "n_layer": 2}' }), [
      'config-duplicate-key',
      '"n_layer"',
    ]);
    assert.deepEqual(await terapipe(`{${model}, "__proto__": {"layers": 1}}`), ['config-forbidden-key', '"__proto__"']);
  });

  it('shows what to do about a model type it does not read', async () => {
    const files = { 'config.json': '{"model_type": "bert\\u001b[31m"}' };
    assert.deepEqual(await at(files), ['config-unknown-model-type', '"bert\\u001b[31m"']);
    const error = await errorOf(load(files));
    assert.equal(error.message, 'The model type "bert\\u{1b}[31m" is not one that is read yet');
    assert.match(say(error.remedy), /num_hidden_layers, hidden_size, num_attention_heads, or .* terapipe\.json/);
    assert.deepEqual(await at({ 'config.json': '{"hidden_size": 8, "num_hidden_layers": 2}' }), [
      'config-unknown-model-type',
      '{"hidden_size": 8, "num_hidden_layers": 2}',
    ]);
  });

  it('wants a model', async () => {
    assert.deepEqual(await terapipe('{"layout": {}}'), ['config-model-missing', '"layout"']);
    assert.deepEqual(await terapipe('{}'), ['config-model-missing', '']);
    assert.deepEqual(await terapipe('{"model": {"layers": 4}}'), ['config-model-incomplete', '{"layers": 4}']);
    assert.deepEqual(await terapipe('{"model": []}'), ['config-wrong-type', '[]']);
  });

  it('places trouble with a referenced file at the value that names it', async () => {
    assert.deepEqual(await terapipe('{"model": "missing.json"}'), ['config-not-found', '"missing.json"']);
    assert.deepEqual(await terapipe('{"model": {"from": "missing.json"}}'), ['config-not-found', '"missing.json"']);
    assert.deepEqual(await at({ 'terapipe.json': '{"model": "config.json"}', 'config.json': '{"model_type": ' }), [
      'config-json-syntax',
      ':',
    ]);
  });

  it('detects configs that refer to each other in a cycle', async () => {
    assert.deepEqual(await terapipe('{"model": "terapipe.json"}'), ['config-cycle', '"terapipe.json"']);
    const error = await errorOf(
      load({ 'a.terapipe.json': '{"model": "b.terapipe.json"}', 'b.terapipe.json': '{"model": "a.terapipe.json"}' }),
    );
    assert.deepEqual([error.code, error.place?.file], ['config-cycle', 'a.terapipe.json']);
  });

  it('refuses presets it does not know, figures without a preset, and tables that do not match', async () => {
    assert.deepEqual(await terapipe(`{${model}, "cluster": {"gpu": "A100"}}`), ['config-unknown-preset', '"A100"']);
    assert.deepEqual(await terapipe(`{${model}, "cluster": {"gpu": {"memoryGB": 8}}}`), ['config-inconsistent', '{"memoryGB": 8}']);
    assert.deepEqual(await terapipe(`{${model}, "cluster": {"links": {}}}`), ['config-inconsistent', '{}']);
    const table = (text: string) => terapipe(`{${model}, "cost": {"table": {${text}}}}`);
    assert.deepEqual(await table('"tokens": [2, 1], "contexts": [0], "ms": [[1], [1]]'), ['config-inconsistent', '[2, 1]']);
    assert.deepEqual(await table('"tokens": [1, 2], "contexts": [0], "ms": [[1], [1, 2]]'), ['config-inconsistent', '[[1], [1, 2]]']);
    assert.equal((await table('"tokens": [1], "contexts": [0]'))[0], 'config-inconsistent');
    assert.deepEqual(await table('"tokens": [1], "contexts": [0], "ms": [[-1]]'), ['config-out-of-range', '[[-1]]']);
  });

  it('lets bugs of the reading face through', async () => {
    const read = () => Promise.reject(new TypeError('bug'));
    await assert.rejects(loadRun('terapipe.json', '{"model": "x"}', read), TypeError);
    assert.equal(typeof readerOf({}), 'function');
  });
});

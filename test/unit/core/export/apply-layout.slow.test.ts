import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import { applyLayout } from '../../../../src/core/export/apply-layout';
import { searchFindings } from '../../../../src/core/rules/plan/search-findings';
import { layoutText } from '../../../../src/core/layout-search/labels';
import { wideScript } from '../../../vscode/wide-script';
import { searched } from './searched';
import { say } from '../../../../src/core/sentence';

const isCode = (code: string) => (error: unknown) => error instanceof ExpectedError && error.code === code;

describe('a launched layout that is not the best', () => {
  it('is marked at the value that costs most, and no longer once the best was applied', async () => {
    const before = await searched('train.sh', wideScript);
    const [finding] = searchFindings(before.run, before.result.launched, before.result);
    assert.equal(finding?.code, 'layout-slower');
    assert.equal(finding.severity, 'warning');
    assert.equal(wideScript.slice(finding.place.range.start, finding.place.range.end), '16');
    assert.match(say(finding.message), /^Tensor 16 crosses nodes of 8 GPUs: [\d.]+x slower than TP\d/);

    const applied = applyLayout(before, before.result, before.result.best, before.result.launched);
    assert.match(applied.text, /# too wide/);
    assert.match(applied.text, /^# A Llama of 7B on two nodes\.$/m);
    const after = await searched('train.sh', applied.text);
    assert.ok(after.result.launched !== null);
    assert.deepEqual(layoutText(after.result.launched.point), layoutText(before.result.best.point));
    assert.deepEqual(searchFindings(after.run, after.result.launched, after.result), []);
  });
});

describe('a layout written into a config', () => {
  it('is refused where other settings take the variable, and where the launcher has no word for it', async () => {
    const shared = await searched('train.sh', wideScript.replace('--num-attention-heads 32', '--num-attention-heads $((TP * 2))'));
    assert.throws(() => applyLayout(shared, shared.result, shared.result.best, shared.result.launched), isCode('apply-shared'));
    const { result } = await searched('train.sh', wideScript);
    const { best } = result;
    const sliced = { ...best, point: { ...best.point, schedule: 'TeraPipe' as const }, scheme: [{ batch: 1, tokens: [2048, 2048] }] };
    const script = await searched('train.sh', wideScript);
    assert.throws(() => applyLayout(script, result, sliced, result.launched), isCode('apply-no-place'));
  });

  it('keeps the comments of a terapipe.json, and is read back as it was found', async () => {
    const config = JSON.stringify({ model_type: 'gpt2', n_layer: 12, n_embd: 1024, n_head: 16, n_positions: 1024, vocab_size: 50257 });
    const text = `{
  // ours
  "model": "config.json",
  "cluster": { "gpu": "A100-40GB", "nodes": 1, "gpusPerNode": 8 },
  "training": { "sequenceLength": 1024, "globalBatch": 32 }, // a week
  "layout": { "pipeline": 4 }
}
`;
    const before = await searched('terapipe.json', text, { 'config.json': config });
    const { result } = before;
    for (const { plan } of [{ plan: result.best }, ...result.runnersUp.slice(0, 2)]) {
      const applied = applyLayout(before, result, plan, null);
      assert.match(applied.text, /\/\/ ours\n/);
      assert.match(applied.text, /\/\/ a week\n/);
      const after = await searched('terapipe.json', applied.text, { 'config.json': config });
      assert.ok(after.result.launched !== null);
      assert.deepEqual(layoutText(after.result.launched.point), layoutText(plan.point));
      assert.equal(after.result.launched.iterationMs, plan.iterationMs);
    }
  });

  it('takes an overlapped gather of weights for none where one replica has nothing to gather', async () => {
    const nemo = `trainer:
  num_nodes: 1
  devices: 8
  precision: bf16-mixed
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 1
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  encoder_seq_length: 2048
  num_layers: 16
  hidden_size: 2048
  ffn_hidden_size: 8192
  num_attention_heads: 16
  optim:
    name: distributed_fused_adam
    overlap_grad_sync: true
    overlap_param_sync: true
`;
    const before = await searched('nemo.yaml', nemo);
    const { best, runnersUp, launched } = before.result;
    const plans = [best, ...runnersUp.map(({ plan }) => plan)];
    assert.ok(plans.length > 1);
    for (const plan of plans) {
      assert.equal(plan.point.layout.data, 1);
      const { text } = applyLayout(before, before.result, plan, launched);
      assert.match(text, /overlap_param_sync: true\n/);
      const { result } = await searched('nemo.yaml', text);
      assert.deepEqual(result.launched?.point.layout, plan.point.layout);
    }
  });

  it('is not written into a model', async () => {
    const config = JSON.stringify({ model_type: 'gpt2', n_layer: 4, n_embd: 256, n_head: 4, n_positions: 256, vocab_size: 1000 });
    const model = await searched('config.json', config);
    assert.throws(() => applyLayout(model, model.result, model.result.best, null), isCode('apply-not-this-file'));
  });
});

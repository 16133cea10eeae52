import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { readLlmFoundry } from '../../../../src/core/launchers/llm-foundry/llm-foundry';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { LauncherFile } from '../../../../src/core/run/facts';
import { load } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/llm-foundry.yaml'), 'utf8');
const values = ({ facts }: LauncherFile, ...names: readonly string[]): unknown[] =>
  names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);
const node = { gpu: 'A100-80GB', nodes: 2, gpusPerNode: 8 } as const;

describe('an LLM Foundry YAML', () => {
  it('gives MPT with what MPTConfig has without a key', () => {
    const read = readLlmFoundry('mpt-7b.yaml', text);
    assert.deepEqual(values(read, 'layers', 'hidden', 'ffn', 'vocab', 'positions', 'bias', 'norm', 'tiedEmbeddings', 'gatedMlp'), [32, 4096, 16384, 50368, 'learned', true, 'layernorm', true, false]); // prettier-ignore
    const rope = readLlmFoundry('m.yaml', text.replace('attn_impl: flash', 'attn_impl: torch\n    rope: true\n    kv_n_heads: 8'));
    assert.deepEqual(values(rope, 'positions', 'kvHeads', 'attention'), ['rotary', 8, 'unfused']);
    const alibi = readLlmFoundry('m.yaml', text.replace('attn_impl: flash', 'alibi: true').replace('d_model', 'no_bias: true\n  d_model'));
    assert.deepEqual(values(alibi, 'positions', 'alibi', 'bias'), ['none', true, false]);
  });

  it('is planned as FSDP of fp32 shards, which gathers and reduces in bf16', async () => {
    const { model, training, layout } = resolveRun(await load({ 'mpt-7b.yaml': text }), node);
    assert.deepEqual([model.layers, layout.data, training.globalBatch, training.microBatch], [32, 16, 1024, 8]);
    assert.deepEqual([training.runtime, training.zeroStage, training.recompute, training.sequenceLength], ['fsdp1', 3, 'full', 2048]);
  });

  it('is DDP without fsdp_config', async () => {
    const { training } = resolveRun(await load({ 'a.yaml': text.slice(0, text.indexOf('fsdp_config')) }), node);
    assert.deepEqual([training.runtime, training.zeroStage, training.recompute], ['ddp', 0, 'none']);
  });

  // calculate_batch_size_info of llmfoundry/utils/config_utils.py
  it('has micro-batches lowered to the share of a rank, where Composer lowers them', async () => {
    const { training, assumptions } = resolveRun(await load({ 'a.yaml': text.replace('size: 1024', 'size: 64') }), node);
    assert.equal(training.microBatch, 4);
    assert.ok(assumptions.some(({ key, value }) => key === 'training.microBatch' && value === '4'));
  });

  it('is found under parameters on the platform, with its GPUs and the published model', async () => {
    const inner = text.replace(/ {2}name: mpt_causal_lm[^]*?attn_impl: flash\n/, '  name: hf_causal_lm\n  pretrained_model_name_or_path: meta-llama/Llama-3.1-70B-Instruct\n  use_flash_attention_2: true\n'); // prettier-ignore
    const platform = `compute:\n  gpus: 16\nparameters:\n${inner.replaceAll(/^(?=.)/gm, '  ')}`;
    const run = await load({ 'mcli.yaml': platform });
    const { model, layout, training } = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
    assert.deepEqual([model.layers, layout.data, training.sequenceLength], [80, 16, 2048]);
  });

  it('replaces sizes of a published model by any of the names that Transformers has for them', async () => {
    const hub = (overrides: string): string => text.replace(/ {2}name: mpt_causal_lm[^]*?attn_impl: flash\n/, `  name: hf_causal_lm\n  pretrained_model_name_or_path: gpt2\n  config_overrides:\n${overrides}`); // prettier-ignore
    const gpt2 = await load({ 'a.yaml': hub('    n_layer: 24\n    n_embd: 2048\n    n_head: 16\n    n_positions: 2048\n') });
    const { layers, hidden, heads, kvHeads, headDim, ffn, maxPositions } = resolveRun(gpt2, node).model;
    assert.deepEqual([layers, hidden, heads, kvHeads, headDim, ffn, maxPositions], [24, 2048, 16, 16, 128, 8192, 2048]); // prettier-ignore
    const neo = readLlmFoundry('a.yaml', hub('    num_layers: 6\n    num_heads: 8\n    n_inner: 512\n    max_position_embeddings: 4096\n'));
    assert.deepEqual(values(neo, 'layers', 'heads', 'ffn', 'maxPositions'), [6, 8, 512, 4096]);
  });

  it('has heads of a width of their own, and names blocks and biases that are not planned', () => {
    const model = (written: string): LauncherFile => readLlmFoundry('a.yaml', text.replace('d_model', `${written}\n  d_model`));
    assert.deepEqual(values(model('head_dim: 256'), 'headDim'), [256]);
    assert.deepEqual(model('attention_bias: false').leftOut, ['model.attention_bias: false']);
    assert.equal(model('attention_bias: true').leftOut, undefined);
    assert.deepEqual(values(model('no_bias: true\n  attention_bias: true'), 'bias', 'qkvBias'), [false, true]);
    assert.deepEqual(model('block_overrides:\n    order:\n    - name: default').leftOut, ['model.block_overrides']);
  });

  it('names the adapters of peft', () => {
    const lora = 'n_layers: 32\n  peft_config:\n    r: 64\n    peft_type: LORA\n    target_modules:\n    - Wqkv\n';
    const { adapters } = readLlmFoundry('lora.yaml', text.replace('n_layers: 32\n', lora));
    assert.deepEqual([adapters?.rank?.value, adapters?.targets?.value, adapters?.unlike], [64, ['Wqkv'], undefined]);
  });
});

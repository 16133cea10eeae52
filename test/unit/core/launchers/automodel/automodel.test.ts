import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';
import type { FactName } from '../../../../../src/core/run/facts';
import { readAutomodel } from '../../../../../src/core/launchers/automodel/automodel';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { load } from '../../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../../fixtures/launchers/automodel.yaml'), 'utf8');
const nodes = (count: number) => ({ gpu: 'H100-80GB', nodes: count, gpusPerNode: 8 }) as const;

const factsOf = (written: string, ...names: readonly FactName[]): unknown[] => {
  const { facts } = readAutomodel('a.yaml', written);
  return names.map((name) => facts[name]?.value);
};

/** Reduced from examples/llm_finetune/glm/glm_5.1_lora.yaml of the same commit. */
const glm = `recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler:
  global_batch_size: 512
  local_batch_size: 8
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: zai-org/GLM-5.1
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  match_all_linear: True
  dim: 8
distributed:
  strategy: fsdp2
  pp_size: 4
  ep_size: 32
  pipeline:
    pp_schedule: interleaved1f1b
    pp_microbatch_size: 1
    round_virtual_stages_to_pp_multiple: up
    layers_per_stage: 2
dataset:
  seq_length: 1024
optimizer:
  _target_: torch.optim.Adam
`;

describe('a recipe of NeMo AutoModel', () => {
  it('gives batches, sizes, length, checkpointing, attention and the types of its optimizer', () => {
    const sizes = factsOf(text, 'globalBatch', 'microBatch', 'sequenceLength', 'tensor', 'pipeline', 'context', 'expert');
    assert.deepEqual(sizes, [128, 4, 2048, 1, 1, 1, 8]);
    assert.deepEqual(factsOf(text, 'recomputeGranularity', 'attentionKernel', 'zeroStage', 'schedule'), ['full', 'cudnn', 3, undefined]);
    assert.deepEqual(factsOf(text, 'optimizer', 'masterWeightBytes', 'firstMomentBytes', 'secondMomentBytes'), ['fused_adam', 4, 2, 2]);
  });

  it('trains weights in the type of the checkpoint unless it asks for fp32', () => {
    const plain = text.replace(/ {2}(?:master_weights|exp_avg|store).*\n/g, '');
    assert.deepEqual(factsOf(plain, 'masterWeightBytes', 'gradAccumulationFp32'), [0, false]);
    const whole = plain.replace('  trust_remote_code', '  torch_dtype: float32\n  trust_remote_code');
    assert.deepEqual(factsOf(whole, 'masterWeightBytes', 'gradAccumulationFp32'), [undefined, true]);
  });

  it('cuts stages by the layers of each and rounds them as it is asked to', () => {
    assert.deepEqual(factsOf(glm, 'pipeline', 'schedule', 'microBatch', 'virtualStages'), [4, 'interleaved1f1b', 1, 10]);
    assert.deepEqual(factsOf(glm.replace(': up', ': down'), 'virtualStages'), [9]);
    assert.deepEqual(factsOf(glm.replace(/ {4}layers_per_stage.*\n/, ''), 'virtualStages'), [2]);
  });

  it('is planned on the GPUs that it is started on', async () => {
    const { layout, training, model } = resolveRun(await load({ 'moonlight.yaml': text }), nodes(1));
    assert.deepEqual([layout.data, layout.expert, training.runtime, training.zeroStage, model.layers], [8, 8, 'torchtitan', 3, 27]);
    const large = resolveRun(await load({ 'glm.yaml': glm }), nodes(16));
    assert.deepEqual([large.layout.pipeline, large.layout.data, large.layout.expert, large.training.adapter?.rank], [4, 32, 32, 8]);
  });

  // examples/llm_pretrain/nanogpt_pretrain.yaml
  it('takes what its own GPT-2 has', () => {
    const model = 'model:\n  _target_: nemo_automodel.components.models.gpt2.build_gpt2_model\n  vocab_size: 50258\n  n_layer: 24\n';
    const { facts } = readAutomodel('a.yaml', `step_scheduler:\n  global_batch_size: 32\n${model}`);
    const { layers, hidden, heads, vocab, ffn, positions, tiedEmbeddings } = facts;
    const values = [layers, hidden, heads, vocab, ffn, positions, tiedEmbeddings].map((fact) => fact?.value);
    assert.deepEqual(values, [24, 768, 12, 50_258, 3072, 'learned', true]);
    const longest = (more: string): unknown => readAutomodel('a.yaml', `${model}${more}`).facts.maxPositions?.value;
    assert.deepEqual([longest(''), longest('  n_ctx: 512\n')], [2048, 512]);
  });

  it('runs under the strategy that it names', () => {
    assert.equal(readAutomodel('a.yaml', text.replace('fsdp2', 'megatron_fsdp')).program?.traits.runtime, 'fsdp1');
    const ddp = readAutomodel('a.yaml', text.replace('fsdp2', 'ddp'));
    assert.deepEqual([ddp.program?.traits.runtime, ddp.facts.zeroStage?.value], ['ddp', 0]);
  });

  // examples/speculative/dspark/glm_5.2_dspark.yaml
  it('is not planned as the model that a draft learns from', () => {
    const draft = 'recipe: TrainDSparkRecipe\nrecipe_args:\n  target_model_name_or_path: zai-org/GLM-5.2\n  draft_num_hidden_layers: 3\n';
    assert.equal(readAutomodel('a.yaml', draft).adapters?.unlike, 'a draft');
  });

  it('is known by its step scheduler', () => {
    assert.equal(recogniseConfig('a.yaml', glm), 'automodel');
    assert.equal(recogniseConfig('a.yaml', glm.replace('step_scheduler', 'scheduler')), null);
  });
});

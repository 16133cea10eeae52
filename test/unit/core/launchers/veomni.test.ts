import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { readVeomni } from '../../../../src/core/launchers/veomni/veomni';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say } from '../../../../src/core/sentence';
import { load } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/veomni.yaml'), 'utf8');
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

describe('a VeOmni YAML', () => {
  it('gives model, batches, checkpointing and optimizer; FSDP2 shards where nothing is set', () => {
    const { flavor, sequenceLength, microBatch, globalBatch, context, recomputeGranularity, optimizer, zeroStage } = readVeomni('a.yaml', text).facts; // prettier-ignore
    assert.deepEqual(
      [flavor, sequenceLength, microBatch, globalBatch, context, recomputeGranularity, optimizer, zeroStage].map((fact) => fact?.value),
      ['Qwen3-30B-A3B-merge', 2048, 1, 8, 1, 'full', 'adamw', 3],
    );
  });

  it('is planned with the published model of that name, and gradients in fp32', async () => {
    const run = await load({ 'qwen3-moe.yaml': text });
    const { model, layout, training } = resolveRun(run, node);
    assert.deepEqual([model.layers, model.hidden, layout.data, training.recompute], [48, 2048, 8, 'full']);
    assert.deepEqual([training.gradAccumulationFp32, training.zeroStage, training.runtime], [true, 3, 'fsdp1']);
  });

  it('has Ulysses, experts, replicas and offloading by their keys', () => {
    const sizes = 'ulysses_size: 4\n    ep_size: 2\n    dp_replicate_size: 2\n    dp_shard_size: -1';
    const { facts } = readVeomni('a.yaml', text.replace('ulysses_size: 1', sizes).replace('fsdp_mode: fsdp2', 'offload: true'));
    const { context, contextCommunication, expert, dataReplicate, dataShard, offloadOptimizer } = facts;
    assert.deepEqual(
      [context, contextCommunication, expert, dataReplicate, dataShard, offloadOptimizer].map((fact) => fact?.value),
      [4, 'ulysses', 2, 2, undefined, 'cpu'],
    );
  });

  it('keeps gathered weights without resharding, and shards nothing under DDP', () => {
    const stageWith = (line: string): unknown => readVeomni('a.yaml', text.replace('fsdp_mode: fsdp2', line)).facts.zeroStage?.value;
    assert.equal(stageWith('reshard_after_forward: false'), 2);
    assert.equal(stageWith('fsdp_mode: ddp'), 0);
  });

  // configs/multimodal/qwen3_5_moe/qwen3_5_moe_vl_lora.yaml
  it('trains LoRA by its section, of what sees and of experts by patterns', () => {
    const lora = '  lora_config:\n    rank: 16\n    lora_modules: [q_proj, v_proj]\n';
    const { adapters } = readVeomni('a.yaml', text.replace('  ops_impl', `${lora}  ops_impl`));
    assert.deepEqual([adapters?.rank?.value, adapters?.targets?.value, adapters?.unlike], [16, ['q_proj', 'v_proj'], undefined]);
    const more = `${lora.replace('v_proj]', 'v_proj, qkv, proj]')}    target_parameters: ['model.*.experts.gate_up_proj']\n    share_expert_lora: true\n`;
    const experts = readVeomni('a.yaml', text.replace('  ops_impl', `${more}  ops_impl`)).adapters;
    assert.deepEqual([experts?.targets?.value, experts?.sharedByExperts], [['q_proj', 'v_proj', 'experts.gate_up_proj'], true]);
  });

  it('keeps adapters of shared experts apart from those of routed ones', () => {
    const of = (pattern: string): unknown => {
      const lora = `  lora_config:\n    rank: 16\n    target_parameters: ['${pattern}']\n`;
      return readVeomni('a.yaml', text.replace('  ops_impl', `${lora}  ops_impl`)).adapters?.targets?.value;
    };
    assert.deepEqual(of('model.*.shared_experts.down_proj'), ['shared_experts.down_proj']);
    assert.deepEqual(of('*experts.down_proj'), ['experts.down_proj']);
  });

  it('is one of images by the name of its model, not by a folder or a longer name', () => {
    const isRefused = (name: string): boolean =>
      readVeomni('a.yaml', text.replace('Qwen3-30B-A3B-merge', name)).remarks.some(({ message }) => say(message).includes('by diffusion'));
    assert.deepEqual(['/models/Wan2.1-T2V-14B/', 'flux', 'Qwen-Image', '/x/LTX-Video'].map(isRefused), [true, true, true, true]);
    assert.deepEqual(['/home/wang/Qwen3-8B', '/wan/Qwen3-8B', 'wanda-7b', 'fluxional'].map(isRefused), [false, false, false, false]);
  });

  // configs/dit/wan_sft.yaml
  it('of images or video is not planned, and the reason is shown', () => {
    const { remarks } = readVeomni('a.yaml', text.replace('data_type: conversation', 'data_type: diffusion'));
    assert.ok(remarks.some(({ message }) => say(message).includes('images or video by diffusion')));
  });

  // configs/text/qwen3_dpo.yaml
  it('of DPO names the reference, which is not planned', () => {
    const { remarks } = readVeomni('a.yaml', text.replace('data_type: conversation', 'data_type: dpo'));
    assert.deepEqual(
      remarks.map(({ code }) => code),
      ['policy-alone'],
    );
    assert.ok(remarks.every(({ message }) => say(message).includes('without reference')));
  });
});

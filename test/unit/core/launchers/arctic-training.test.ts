import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { readArcticTraining } from '../../../../src/core/launchers/arctic-training/arctic-training';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say } from '../../../../src/core/sentence';
import { errorOf, load } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/arctic-training.yml'), 'utf8');
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

describe('an ArcticTraining YAML', () => {
  it('gives model, sharding, offloading, Ulysses, length and a fused loss', () => {
    const { flavor, zeroStage, offloadOptimizer, context, contextCommunication, sequenceLength, optimizer, fusedCrossEntropy } = readArcticTraining('a.yml', text).facts; // prettier-ignore
    const facts = [flavor, zeroStage, offloadOptimizer, context, contextCommunication, sequenceLength, optimizer, fusedCrossEntropy];
    assert.deepEqual(
      facts.map((fact) => fact?.value),
      ['meta-llama/Llama-3.1-70B-Instruct', 3, 'cpu', 8, 'ulysses', 200_000, 'cpu_adam', true],
    ); // prettier-ignore
    assert.deepEqual(readArcticTraining('a.yml', text).leftOut, ['tiled_mlp_compute']);
  });

  it('is planned with checkpointing, bf16 and one accumulation step, which it takes by itself', async () => {
    const { layout, training, model } = resolveRun(await load({ 'run.yml': text }), node);
    assert.deepEqual([model.layers, layout.context, layout.data, training.recompute], [80, 8, 1, 'full']);
    assert.deepEqual([training.globalBatch, training.precision, training.zeroStage], [1, 'bf16', 3]);
  });

  it('takes ZeRO 2 without a section of ZeRO, and no checkpointing where it is disabled', async () => {
    const plain = text.replace(/deepspeed:[\s\S]*?\n\n/, '').replace('  attn_impl', '  disable_activation_checkpoint: true\n  attn_impl');
    const { training } = resolveRun(await load({ 'run.yml': plain.replace('sequence_parallel_size: 8', '') }), node);
    assert.deepEqual([training.zeroStage, training.recompute, training.globalBatch], [2, 'none', 8]);
  });

  // projects/swiftkv/configs/qwen2.5-swiftkv-7b-instruct.yaml
  it('refuses to plan what a trainer of a project trains instead of the model', async () => {
    const { code, what } = await errorOf(load({ 'run.yml': text.replace('type: sft', 'type: swiftkv') }));
    assert.equal(code, 'model-not-planned');
    assert.ok(say(what).includes('swiftkv'));
  });

  it('reads LoRA of peft', () => {
    const peft = '  peft_config:\n    peft_type: LORA\n    r: 16\n    target_modules: [q_proj]\n';
    const { adapters } = readArcticTraining('a.yml', text.replace('  attn_impl', `${peft}  attn_impl`));
    assert.deepEqual([adapters?.rank?.value, adapters?.targets?.value, adapters?.unlike], [16, ['q_proj'], undefined]);
  });
});

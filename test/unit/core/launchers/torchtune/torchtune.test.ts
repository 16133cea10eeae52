import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';
import { modelOfTorchtune } from '../../../../../src/core/launchers/torchtune/builders';
import { readTorchtune } from '../../../../../src/core/launchers/torchtune/torchtune';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { load } from '../../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../../fixtures/launchers/torchtune.yaml'), 'utf8');
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

const sizesOf = (builder: string): unknown[] => {
  const { config } = modelOfTorchtune(builder);
  const { num_hidden_layers, hidden_size, vocab_size } = JSON.parse(config ?? '{}') as Record<string, unknown>;
  return [num_hidden_layers, hidden_size, vocab_size];
};

describe('a recipe of torchtune', () => {
  it('gives its batch, precision, checkpointing, loss and LoRA', () => {
    const { facts, adapters } = readTorchtune('70B_lora.yaml', text);
    const names = ['flavor', 'microBatch', 'gradientAccumulation', 'precision', 'recomputeGranularity', 'recomputeLayers'] as const;
    const { zeroStage, optimizer, sequenceLength } = facts;
    assert.deepEqual(names.map((name) => facts[name]?.value), ['lora_llama3_1_70b', 2, 1, 'bf16', 'full', 1]); // prettier-ignore
    assert.deepEqual([zeroStage?.value, optimizer?.value], [3, 'adamw']);
    assert.equal(sequenceLength, undefined, 'null sets no length');
    assert.equal(facts.fusedCrossEntropy?.value, true);
    assert.equal(adapters?.rank?.value, 16);
    assert.deepEqual(adapters.targets?.value, ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']);
    assert.equal(adapters.baseBits, undefined);
  });

  it('is planned with FSDP2 over all GPUs, and weights, gradients and moments in bf16', async () => {
    const full = text.replace('lora_llama3_1_70b', 'llama3_1_8b');
    const { training, layout, model } = resolveRun(await load({ '8B_full.yaml': full }), node);
    assert.deepEqual([layout.tensor, layout.data, training.zeroStage, training.globalBatch], [1, 8, 3, 16]);
    assert.deepEqual([training.masterWeightBytes, training.gradAccumulationFp32, training.recompute], [0, false, 'full']);
    assert.deepEqual([model.layers, model.hidden], [32, 4096]);
  });

  it('of a single device has one GPU and no shards', async () => {
    const { cluster, training } = resolveRun(await load({ '8B_lora_single_device.yaml': text }), {
      ...node,
      nodes: null,
      gpusPerNode: null,
    });
    assert.deepEqual([cluster.nodes * cluster.gpusPerNode, training.zeroStage], [1, 0]);
  });

  it('divides tensors and sequences as its keys have it', () => {
    const more = 'tensor_parallel_dim: 4\ncontext_parallel_dim: 2\ndata_parallel_replicate_dim: 2\nfsdp_cpu_offload: True\n';
    const { facts } = readTorchtune('a.yaml', text + more);
    const { tensor, context, dataReplicate, offloadOptimizer } = facts;
    assert.deepEqual([tensor, context, dataReplicate, offloadOptimizer].map((fact) => fact?.value), [4, 2, 2, 'cpu']); // prettier-ignore
  });

  it('reads QLoRA as 4 bits, DoRA with its magnitudes, and leaves out what is not planned', () => {
    const quantised = readTorchtune('a.yaml', text.replace('lora_llama3_1_70b', 'qlora_llama3_1_8b'));
    assert.deepEqual([quantised.adapters?.baseBits?.value, quantised.adapters?.doubleQuantised], [4, true]);
    const dora = readTorchtune('a.yaml', text.replace('  lora_alpha', '  use_dora: True\n  lora_alpha'));
    assert.deepEqual([dora.adapters?.decomposed, dora.adapters?.unlike], [true, undefined]);
    assert.equal(dora.adapters?.frozenTwice, undefined, "its DoRALinear's own product is the only one with the frozen matrix");
    assert.deepEqual(readTorchtune('a.yaml', `${text}optimizer_in_bwd: True\n`).leftOut, ['optimizer_in_bwd']);
    const teacher = 'teacher_model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n';
    assert.deepEqual(readTorchtune('a.yaml', text + teacher).leftOut, ['teacher_model']);
  });

  it('names models by builders', () => {
    assert.deepEqual(sizesOf('llama3_2_1b'), [16, 2048, 128256]);
    assert.deepEqual(sizesOf('llama3_8b'), [32, 4096, 128256]);
    assert.deepEqual(sizesOf('qlora_llama2_7b'), [32, 4096, 32000]);
    assert.deepEqual(sizesOf('lora_qwen2_1_5b'), [28, 1536, 151936]);
    assert.deepEqual(sizesOf('qwen2_5_1_5b_instruct'), [28, 1536, 151936]);
    assert.deepEqual(sizesOf('qwen3_0_6b_base'), [28, 1024, 151936]);
    assert.deepEqual(sizesOf('mistral_7b'), [32, 4096, 32000]);
    assert.deepEqual(sizesOf('qlora_phi4_14b'), [40, 5120, 100352]);
    assert.equal(modelOfTorchtune('llama9_7b').config, null);
  });

  it('is none without a batch: generation and evaluation', () => {
    const generation = 'model:\n  _component_: torchtune.models.llama2.llama2_7b\ntokenizer:\n  _component_: a.b\ntemperature: 0.6\n';
    assert.equal(recogniseConfig('generation.yaml', generation), null);
    assert.equal(recogniseConfig('70B_lora.yaml', text), 'torchtune');
  });
});

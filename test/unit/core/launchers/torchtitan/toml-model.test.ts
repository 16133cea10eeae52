import assert from 'node:assert/strict';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { findNamedModel } from '../../../../../src/core/launchers/named-models';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { plannedModel } from '../../../../corpus/round-trip';
import { toText } from '../../../sentence-text';
import { writerOf } from '../../export/launchers/editors';
import { planWith } from '../../export/launchers/plans';

const llama3 = {
  model_type: 'llama',
  num_hidden_layers: 32,
  hidden_size: 4096,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  intermediate_size: 14336,
  vocab_size: 128256,
  max_position_embeddings: 8192,
  rms_norm_eps: 1e-5,
  rope_theta: 500_000,
};

function written(config: object) {
  const model: ModelSpec = plannedModel(JSON.stringify(config))!;
  const { text, fileName, modelGaps } = newLauncher(planWith({ model, stageLayers: [model.layers] }), writerOf('torchtitan'));
  return { text, launcher: readTorchTitan(fileName, text), reasons: modelGaps.map(({ reason }) => toText(reason)) };
}

describe('a new TOML of TorchTitan', () => {
  it('names the flavor with the sizes of the model, and in what it differs from it', () => {
    const { text, launcher, reasons } = written(llama3);
    assert.match(text, /\n\[model\]\nname = "llama3"\nflavor = "8B"\n/);
    assert.equal(findNamedModel(launcher)?.config.model.ffn.value, 14336);
    // every version of Llama 3 has the scaling of 3.1 there
    const other = 'rotary.scaling llama3 instead of none';
    assert.deepEqual(reasons, [`TorchTitan's llama3 8B is another model: ${other}`]);
    assert.ok(text.includes(`\n# Error: TorchTitan's llama3 8B is another model: ${other}.\n`));
  });

  it('has no model where no flavor has its sizes, and lists what to register', () => {
    const { text, reasons } = written({ ...llama3, intermediate_size: 14337 });
    assert.doesNotMatch(text, /\[model\]\n/);
    assert.equal(reasons.length, 1);
    assert.match(reasons[0]!, /^TorchTitan has no flavor of this model: register one and name it in \[model\] \(layers 32, hidden 4096, /);
    assert.match(reasons[0]!, /ffn 14337, .*rotary\.base 500000/);
  });

  it('does not differ for rotating neighbours, as its adapter permutes the heads of the weights', () => {
    const scaling = { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
    assert.deepEqual(written({ ...llama3, rope_scaling: scaling }).reasons, []);
  });

  it('does not have ZeRO where each group of HSDP is one GPU, which TorchTitan runs under DDP', () => {
    const model = plannedModel(JSON.stringify(llama3))!;
    const plan = planWith({ model, stageLayers: [model.layers], zeroStage: 3, data: 4, dataReplicate: 4 });
    const { text, gaps } = newLauncher(plan, writerOf('torchtitan'));
    assert.match(text, /\ndata_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 1\n/);
    const ofData = gaps.map(({ reason }) => toText(reason)).filter((reason) => reason.includes('DDP'));
    assert.deepEqual(ofData, Array(2).fill('TorchTitan runs groups of one GPU under DDP'));
  });
});

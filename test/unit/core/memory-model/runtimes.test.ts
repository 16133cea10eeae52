import assert from 'node:assert/strict';
import { countMemory } from '../../../../src/core/memory-model/count';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { savedBytes } from '../../../../src/core/memory-model/activation-memory';
import { layerParameters, rankMatrixParameters } from '../../../../src/core/model/parameters';
import { generateSchedule, problemOf } from '../../../../src/core/schedules/registry';
import type { TrainingSpec } from '../../../../src/core/spec/request';
import { llama3, request } from '../../../golden/requests';

const model = llama3('70b', 4);
const stage = { layers: 4, first: false, last: false };
const layer = rankMatrixParameters(model, { tensor: 1, expert: 1 });
const parameters = 4 * (layer + layerParameters(model).normsAndBiases);

function at(training: Partial<TrainingSpec>, layout: object) {
  return request('H100-80GB', model, { training: { attention: 'flash', dropout: false, precision: 'bf16', ...training }, layout });
}

describe('memory by the framework', () => {
  it('shards everything with TorchTitan and gathers the layer in use and the next', () => {
    const { weights, gradients, optimizer, dummyGradients, workspaces } = staticBytes(at({ runtime: 'torchtitan' }, { data: 8 }), stage);
    assert.deepEqual([weights, gradients, optimizer], [(4 * parameters) / 8, (4 * parameters) / 8, (8 * parameters) / 8]);
    assert.equal(dummyGradients, 0);
    assert.equal(workspaces, (2 * 2 + 2 + 4) * layer);
  });

  it('keeps all of a stage gathered with TorchTitan on a pipeline', () => {
    assert.equal(staticBytes(at({ runtime: 'torchtitan' }, { data: 8, pipeline: 2 }), stage).workspaces, 6 * parameters);
  });

  it('shards by the ZeRO stage with DeepSpeed, beside its buckets', () => {
    const bytes = (zeroStage: 0 | 1 | 2 | 3) => staticBytes(at({ runtime: 'deepspeed', zeroStage }, { data: 8 }), stage);
    const whole = bytes(0);
    assert.deepEqual(
      [whole.weights, whole.gradients, whole.optimizer, whole.workspaces],
      [2, 2, 12, 0].map((each) => each * parameters),
    );
    assert.equal(bytes(1).optimizer, (16 * parameters) / 8);
    assert.equal(bytes(1).workspaces, 2 * 3 * 5e8);
    assert.equal(bytes(2).gradients, (2 * parameters) / 8);
    assert.equal(bytes(3).weights, (2 * parameters) / 8);
    assert.equal(bytes(3).workspaces - bytes(2).workspaces, 2 * 1e9);
  });

  it('keeps the activated gate apart where no kernel joins it to the product', () => {
    const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 1024, context: 0 };
    const saved = (runtime: 'megatron' | 'torchtitan') => savedBytes(at({ runtime }, {}), stage, unit, false).activations;
    assert.equal(saved('torchtitan') - saved('megatron'), 4 * 1024 * 2 * 28672);
  });

  it('names the framework', () => {
    const named = (training: Partial<TrainingSpec>) =>
      countMemory(
        at(training, {}),
        generateSchedule('1F1B', problemOf([{ batch: 1, tokens: [1024] }], 1)),
        [{ ...stage, first: true, last: true }],
        1,
      ).runtime;
    assert.equal(named({}), 'Megatron-LM with Transformer Engine');
    assert.equal(named({ runtime: 'torchtitan' }), 'TorchTitan (FSDP2)');
  });
});

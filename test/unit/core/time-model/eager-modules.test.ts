import assert from 'node:assert/strict';
import { deviceRates } from '../../../../src/core/time-model/rates';
import type { ModelSpec } from '../../../../src/core/domain/model';
import type { Layout, TrainingSpec } from '../../../../src/core/domain/request';
import { llama3, request } from '../../../golden/requests';

describe('element-wise work of eager modules', () => {
  const ratios = (training: Partial<TrainingSpec>, model: Partial<ModelSpec> = {}, layout: Partial<Layout> = {}): [number, number] => {
    const inputs = request('H100-80GB', { ...llama3('70b', 8), modelType: 'llama', ...model }, { training, layout });
    const { layerTraffic, traffic, moved } = deviceRates(inputs);
    return [layerTraffic(1e9), traffic(1e9)].map((seconds) => Number((seconds / moved(1e9)).toFixed(3))) as [number, number];
  };

  it('moves 4.2 times the bytes of fused kernels in layers of Transformers with RMSNorm, and in its loss what the runtime does', () => {
    assert.deepEqual(ratios({ runtime: 'ddp' }), [4.2, 2.2]);
    assert.deepEqual(ratios({ runtime: 'deepspeed' }), [4.2, 2]);
    assert.deepEqual(ratios({ runtime: 'ddp' }, { norm: 'layernorm' }), [2.2, 2.2]);
  });

  it('is fused by torch.compile, and in a model that is not of Transformers as the runtime does', () => {
    assert.deepEqual(ratios({ runtime: 'ddp', compile: true }), [1, 1]);
    assert.deepEqual(ratios({ runtime: 'deepspeed', compile: true }), [1, 1]);
    assert.deepEqual(ratios({ runtime: 'deepspeed' }, { modelType: 'custom' }), [1, 1]);
    assert.deepEqual(ratios({ runtime: 'deepspeed' }, {}, { tensor: 2 }), [1, 1]);
    assert.deepEqual(ratios({ runtime: 'megatron' }), [1, 1]);
  });

  it('moves 2.1 times as much under nanotron', () => {
    assert.deepEqual(ratios({ runtime: 'nanotron' }), [2.1, 2.1]);
  });
});

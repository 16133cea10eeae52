import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { masterBytes, optimizerNamed, optimizers, stateBytes, stepBytes } from '../../../../src/core/domain/optimizer';

type Optimizer = (typeof optimizers)[number];

const bytesOf = (optimizer: Optimizer, masterWeightBytes?: 0 | 2 | 4) => {
  const training = { optimizer, precision: 'bf16', ...(masterWeightBytes === undefined ? {} : { masterWeightBytes }) };
  return [masterBytes(training), Number(stateBytes(training).toFixed(2))];
};

describe('optimizers', () => {
  it('are known by the names of their libraries, in any case and with their classes', () => {
    const names = {
      'torch.optim.AdamW': 'adamw',
      'bitsandbytes.optim.PagedAdamW8bit': 'paged_adamw_8bit',
      'transformer_engine.pytorch.optimizers.fused_adam.FusedAdam': 'fused_adam',
      CPU_Adam: 'cpu_adam',
      DeepSpeedCPUAdam: 'deepspeed_cpu_adam',
      adamW: 'adamw',
      Lion: 'lion',
      mcore_distributed_optim: 'mcore_distributed_optim',
      'adam-8bit': 'adam-8bit',
    };
    for (const [written, name] of Object.entries(names)) assert.equal(optimizerNamed(written), name);
    assert.equal(optimizerNamed('my_own_optimizer'), null);
    assert.equal(optimizerNamed(''), null);
  });

  it('have each name once', () => {
    assert.equal(new Set(optimizers).size, optimizers.length);
    for (const name of optimizers) assert.equal(optimizerNamed(name), name);
  });

  it('keep states with an fp32 copy of 16-bit weights', () => {
    assert.deepEqual(bytesOf('adamw_torch_fused'), [4, 8]);
    assert.deepEqual(bytesOf('adamw_bnb_8bit'), [4, 2.03]);
    assert.deepEqual(bytesOf('paged_adamw_32bit'), [4, 8]);
    assert.deepEqual(bytesOf('lion'), [4, 4]);
    assert.deepEqual(bytesOf('ademamix'), [4, 12]);
    assert.deepEqual(bytesOf('adafactor'), [4, 0]);
    assert.deepEqual(bytesOf('none'), [0, 0]);
  });

  it('make states in the type of the weights that they update, except for those in 32 bits', () => {
    assert.deepEqual(bytesOf('adamw_torch', 0), [0, 4]);
    assert.deepEqual(bytesOf('paged_adamw_32bit', 0), [0, 8]);
    assert.deepEqual(bytesOf('adamw_bnb_8bit', 0), [0, 2.03]);
  });

  it('have no master copy of fp32 weights', () => {
    assert.equal(masterBytes({ optimizer: 'adam', precision: 'fp32' }), 0);
    assert.equal(stateBytes({ optimizer: 'adam', precision: 'fp32', masterWeightBytes: 0 }), 8);
  });

  it('keep what a file sets of their types', () => {
    const training = { optimizer: 'adam', precision: 'bf16', optimizerStateBytes: 3, masterWeightBytes: 2 } as const;
    assert.equal(stateBytes(training), 3);
    assert.equal(masterBytes(training), 2);
    assert.equal(stepBytes(training), 4 + 6 + 2 * 3);
  });

  it('read and write more in a step, the more they keep', () => {
    const step = (optimizer: Optimizer) => stepBytes({ optimizer, precision: 'bf16' });
    assert.deepEqual([step('adam'), step('adam-bf16'), step('adam-8bit'), step('lion'), step('none')], [30, 22, 18, 22, 0]);
    assert.equal(stepBytes({ optimizer: 'adamw', precision: 'bf16', masterWeightBytes: 0 }), 4 + 4 + 8);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { optimizerTime } from '../../../../src/core/time-model/optimizer-time';
import type { TrainingSpec } from '../../../../src/core/domain/request';
import { llama3, request } from '../../../golden/requests';

const layers = 4;
const ends = { layers, first: true, last: true };
const of = (training: Partial<TrainingSpec>) =>
  request('B200', llama3('70b', layers), {
    training: { precision: 'bf16', gradAccumulationFp32: false, ...training },
    layout: {},
  });
const bytes = (training: Partial<TrainingSpec>) => staticBytes(of(training), ends);
/** Of Llama-3 70B: 8192 wide, 64 heads, 8 of keys and values, 28672, and 128,256 words. */
const words = 128_256 * 8192;
const matrices = layers * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28_672);
const norms = (2 * layers + 1) * 8192;
const all = matrices + norms + 2 * words;

describe('states of optimizers', () => {
  it('are those of Adam for each parameter', () => {
    assert.equal(bytes({ optimizer: 'adamw_torch_fused' }).optimizer, 12 * all);
    assert.equal(bytes({ optimizer: 'adafactor' }).optimizer, 4 * all);
  });

  it('are of 32 bits for the embedding where bitsandbytes updates the rest in 8', () => {
    const state = 2 + 8 / 256;
    assert.equal(bytes({ optimizer: 'adamw_bnb_8bit' }).optimizer, (4 + state) * all + (8 - state) * words);
  });

  it('are of one momentum for the matrices of layers under Muon, of Adam for the rest', () => {
    assert.equal(bytes({ optimizer: 'muon' }).optimizer, 4 * all + 4 * matrices + 8 * (all - matrices));
  });

  it('are of a projection for the matrices under GaLore, which keeps its matrix and APOLLO draws again', () => {
    const rank = 128;
    const sides = [[8192, 8192], [1024, 8192], [1024, 8192], [8192, 8192], ...Array.from({ length: 3 }, () => [8192, 28_672])] as const; // prettier-ignore
    const projected = layers * sides.reduce((sum, [, long = 0]) => sum + rank * 8 * long, 0);
    const kept = layers * sides.reduce((sum, [short = 0]) => sum + rank * 2 * short, 0);
    const rest = 4 * all + 8 * (all - matrices);
    assert.equal(bytes({ optimizer: 'apollo_adamw' }).optimizer, rest + projected);
    assert.equal(bytes({ optimizer: 'galore_adamw' }).optimizer, rest + projected + kept);
    assert.ok(bytes({ optimizer: 'galore_adamw', optimizerRank: 1024 }).optimizer > rest + projected + kept);
  });

  it('have no gradients with them where each is dropped at once', () => {
    assert.equal(bytes({ optimizer: 'lomo' }).gradients, 0);
    assert.equal(bytes({ optimizer: 'adafactor' }).gradients, 2 * all);
  });

  it('are half as large on 16-bit weights without a master copy, which FSDP keeps as they are', () => {
    const fsdp = { runtime: 'fsdp1', optimizer: 'adamw_torch', masterWeightBytes: 0 } as const;
    const { weights, gradients, optimizer } = bytes(fsdp);
    assert.deepEqual([weights, gradients, optimizer], [2 * all, 2 * all, 4 * all]);
  });

  it('take 18 bytes a parameter in all on Megatron-LM, and fewer where its optimizer has types of its own', () => {
    const perParameter = (training: Partial<TrainingSpec>) => {
      const { weights, gradients, optimizer } = bytes(training);
      return (weights + gradients + optimizer) / all;
    };
    assert.equal(perParameter({ optimizer: 'adam', gradAccumulationFp32: true }), 18);
    assert.equal(perParameter({ optimizer: 'adam', optimizerStateBytes: 4, masterWeightBytes: 2 }), 2 + 2 + 2 + 4);
  });
});

describe('the step of an optimizer', () => {
  const ms = (training: Partial<TrainingSpec>) => optimizerTime(of(training), ends);

  it('takes longer the more it reads and writes', () => {
    assert.ok(ms({ optimizer: 'adafactor' }) < ms({ optimizer: 'lion' }) && ms({ optimizer: 'lion' }) < ms({ optimizer: 'adamw' }));
  });

  it('is longest under Muon, which multiplies matrices', () => {
    assert.ok(ms({ optimizer: 'muon' }) > 2 * ms({ optimizer: 'adamw' }));
  });
});

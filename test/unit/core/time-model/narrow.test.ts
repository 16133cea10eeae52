import { gpuPresets } from '../../../../src/core/cluster/presets';
import { narrowBytes, narrowWeightBytes, type Fp8Recipe, type NarrowFormat } from '../../../../src/core/domain/number-formats';
import assert from 'node:assert/strict';
import { deviceRates, linearPeak } from '../../../../src/core/time-model/rates';
import { layerKeptBytes } from '../../../../src/core/memory-model/layer-tensors';
import { usualKind } from '../../../../src/core/model/layers';
import type { PlanRequest, TrainingSpec } from '../../../../src/core/domain/request';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { layerTime } from '../../../../src/core/time-model/layer-time';
import { predictOneF1B } from '../../../golden/rows';
import { llama3, mixtral, request } from '../../../golden/requests';

const training = { sequenceLength: 8192, precision: 'bf16', attention: 'flash', dropout: false, fusedCrossEntropy: true } as const;

function llama(changed: Partial<TrainingSpec> = {}, tensor = 1): PlanRequest {
  return request('B200', llama3('70b', 4), { training: { ...training, ...changed }, layout: { tensor } });
}

function layerSavedBytesOf(inputs: PlanRequest, tokens: number): number {
  const unit = { microBatch: 0, slice: 0, batch: 1, tokens, context: 0 };
  return layerKeptBytes(inputs, unit, { kind: usualKind(inputs.model), whole: false, groupSize: 1, inputs: 1, offloaded: false });
}

const narrow: readonly NarrowFormat[] = ['fp8', 'nvfp4'];

describe('GEMMs in a narrow format', () => {
  it('run at its data sheet rate, the head, router and attention at that of the training precision', () => {
    for (const gemmPrecision of narrow) {
      const { cluster, training: wanted } = llama({ gemmPrecision });
      assert.equal(linearPeak(cluster, wanted), 1e12 * { fp8: 4500, nvfp4: 9000 }[gemmPrecision]);
      const inputs = llama({ gemmPrecision });
      const rates = deviceRates(inputs);
      const ratio = rates.gemm(1e5, 1e5, 1e5) / rates.linear(1e5, 1e5, 1e5);
      const factor = gpuPresets.B200.gpu.gemmFactors?.[gemmPrecision === 'fp8' ? 'fp8Tensorwise' : gemmPrecision] ?? 1;
      assert.ok(Math.abs(ratio / factor - { fp8: 2, nvfp4: 4 }[gemmPrecision]) < 1e-9);
      assert.equal(rates.fused(1), deviceRates(llama()).fused(1));
    }
  });

  it('run faster in FP8 with one scale a tensor, as where no recipe is named, than with one of 32 elements, where both were measured', () => {
    const rate = (gpu: 'B200' | 'H100-80GB', fp8Recipe?: Fp8Recipe): number => {
      const { cluster } = request(gpu, llama().model, { training: {}, layout: {} });
      const { training: wanted, ...others } = llama({ gemmPrecision: 'fp8', ...(fp8Recipe === undefined ? {} : { fp8Recipe }) });
      return 1 / deviceRates({ ...others, cluster, training: wanted }).linear(1e5, 1e5, 1e5);
    };
    const { fp8 = NaN, fp8Tensorwise = NaN } = gpuPresets.B200.gpu.gemmFactors ?? {};
    for (const recipe of ['tensorwise', 'delayed', undefined] as const)
      assert.ok(Math.abs(rate('B200', recipe) / rate('B200', 'mxfp8') - fp8Tensorwise / fp8) < 1e-9, recipe);
    assert.equal(rate('H100-80GB', 'tensorwise'), rate('H100-80GB', 'blockwise'));
  });

  it('run on H100 as fast as they were measured under torchao, and in bf16 as under the runtime', () => {
    const rates = (runtime: 'megatron' | 'torchtitan') => {
      const { cluster } = request('H100-80GB', llama().model, { training: {}, layout: {} });
      const { linear, gemm } = deviceRates({ ...llama({ gemmPrecision: 'fp8', runtime }), cluster });
      return { fp8: 1 / linear(1e5, 1e5, 1e5), bf16: 1 / gemm(1e5, 1e5, 1e5) };
    };
    const { fp8 = NaN, fp8Torchao = NaN, torchtitan = NaN } = gpuPresets['H100-80GB'].gpu.gemmFactors ?? {};
    const [own, other] = [rates('megatron'), rates('torchtitan')];
    assert.ok(Math.abs(other.bf16 / own.bf16 / torchtitan - 1) < 1e-9);
    assert.ok(Math.abs(other.fp8 / own.fp8 / ((torchtitan * fp8Torchao) / fp8) - 1) < 1e-9);
  });

  it('make a layer faster, but less than by their rate: attention, norms and casts stay', () => {
    const seconds = (changed: Partial<TrainingSpec>): number => {
      const { forward, backward } = layerTime(llama(changed))(1, 8192, 0);
      return forward + backward;
    };
    const [wide, fp8, nvfp4] = [seconds({}), seconds({ gemmPrecision: 'fp8' }), seconds({ gemmPrecision: 'nvfp4' })];
    assert.ok(wide > fp8 && fp8 > nvfp4);
    const faster = (gemmPrecision: NarrowFormat): number => {
      const rates = deviceRates(llama({ gemmPrecision }));
      return rates.gemm(1e5, 1e5, 1e5) / rates.linear(1e5, 1e5, 1e5);
    };
    assert.ok(wide / fp8 < faster('fp8') && wide / nvfp4 < faster('nvfp4'));
  });

  it('keep inputs of products narrow under Transformer Engine, byte by byte, and not elsewhere', () => {
    const { hidden, heads, headDim, ffn } = llama().model;
    const tokens = 8192;
    const wide = layerSavedBytesOf(llama(), tokens);
    for (const gemmPrecision of narrow) {
      const bytes = narrowBytes(gemmPrecision);
      // two norms' outputs and the activated width get narrow, the attention's output a narrow copy
      const less = tokens * ((2 - bytes) * (2 * hidden + ffn) - bytes * heads * headDim);
      assert.equal(wide - layerSavedBytesOf(llama({ gemmPrecision }), tokens), less);
      const titan = { runtime: 'torchtitan' } as const;
      assert.equal(layerSavedBytesOf(llama({ ...titan, gemmPrecision }), tokens), layerSavedBytesOf(llama(titan), tokens));
    }
  });

  it('have the scales of their blocks: a byte for 16 of NVFP4 and for 32 of MXFP8, four for 128 of FP8 by blocks, none that counts elsewhere', () => {
    const recipes = ['tensorwise', 'delayed', 'rowwise', 'mxfp8', 'blockwise'] as const;
    assert.deepEqual(
      recipes.map((recipe) => narrowBytes('fp8', recipe)),
      [1, 1, 1, 33 / 32, 132 / 128],
    );
    assert.deepEqual([narrowBytes('fp8'), narrowBytes('nvfp4', 'mxfp8')], [1, 9 / 16]);
    assert.deepEqual(
      recipes.map((recipe) => narrowWeightBytes('fp8', recipe)),
      [1, 1, 1, 33 / 32, 1 + 4 / (128 * 128)],
      'one scale for 128 x 128 weights',
    );
    const kept = (fp8Recipe: Fp8Recipe) => layerSavedBytesOf(llama({ gemmPrecision: 'fp8', fp8Recipe }), 8192);
    const { hidden, heads, headDim, ffn } = llama().model;
    assert.equal(kept('mxfp8') - kept('tensorwise'), (8192 * (2 * hidden + ffn + heads * headDim)) / 32);
    const stage = { layers: 4, first: false, last: false };
    const held = (fp8Recipe: Fp8Recipe) => staticBytes(llama({ gemmPrecision: 'fp8', fp8Recipe }), stage).weights;
    const matrices = 4 * (8192 * (8192 + 2 * 1024) + 8192 * 8192 + 3 * 8192 * 28672);
    assert.equal(held('mxfp8') - held('tensorwise'), (2 * matrices) / 32);
    assert.equal(held('blockwise') - held('tensorwise'), (2 * 4 * matrices) / 128 ** 2);
  });

  it('keep two narrow copies of every layer matrix but the router', () => {
    const stage = { layers: 4, first: false, last: false };
    const inputs = request('B200', mixtral(4), { training, layout: {} });
    const { weights } = staticBytes(inputs, stage);
    const cast = staticBytes({ ...inputs, training: { ...inputs.training, gemmPrecision: 'fp8' } }, stage).weights - weights;
    assert.equal(cast, 4 * 2 * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 8 * 3 * 4096 * 14336));
  });

  it('gather half as much between tensor-parallel ranks', () => {
    const wanted = llama({ sequenceParallel: true, gemmPrecision: 'fp8' }, 4);
    const slow = { ...wanted.cluster, links: { ...wanted.cluster.links, intraNodeBusGBps: { 2: 1, 4: 1, 8: 1 } } };
    const forward = (training: TrainingSpec): number => layerTime({ ...wanted, cluster: slow, training })(1, 8192, 0).forward;
    const wide = llama({ sequenceParallel: true }, 4).training;
    assert.ok(Math.abs(forward(wanted.training) / forward(wide) - 0.75) < 0.01);
  });

  it('count utilisation against the rate of that format', () => {
    const { mfu, tokensPerSecond } = predictOneF1B(llama({ gemmPrecision: 'fp8' }));
    const wide = predictOneF1B(llama());
    assert.ok(Math.abs(mfu / wide.mfu - tokensPerSecond / wide.tokensPerSecond / 2) < 1e-12);
  });
});

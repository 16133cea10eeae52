import assert from 'node:assert/strict';
import { layerOperations, savedBytes } from '../../../../src/core/memory-model/activation-memory';
import type { MemoryInputs, TrainingSpec } from '../../../../src/core/domain/request';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { optimizerTime } from '../../../../src/core/time-model/optimizer-time';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { layerTime } from '../../../../src/core/time-model/layer-time';
import type { RecomputeModule } from '../../../../src/core/domain/recompute';
import { deepseek, llama3, request } from '../../../golden/requests';

const whole = { microBatch: 0, slice: 0, batch: 1, tokens: 4096, context: 0 };
const flash = { attention: 'flash', dropout: false, precision: 'bf16', sequenceLength: 4096 } as const;
const ends = { first: false, last: false };

function llama(training: Partial<TrainingSpec> = {}, layout = {}) {
  return request('B200', llama3('70b', 4), { training: { ...flash, ...training }, layout });
}

function saved(inputs: MemoryInputs, layers = 4): number {
  return savedBytes(inputs, { layers, ...ends }, whole, false).activations;
}

describe('recompute of some layers', () => {
  it('keeps the inputs of those and everything of the others', () => {
    const none = saved(llama());
    const all = saved(llama({ recompute: 'full' }));
    assert.equal(saved(llama({ recompute: 'full', recomputeLayers: 1 })), (3 * none + all) / 4);
    assert.equal(saved(llama({ recompute: 'full', recomputeLayers: 0 })), none);
    assert.equal(saved(llama({ recompute: 'full', recomputeLayers: 9 })), all);
  });

  it('repeats the forward only of those', () => {
    const backward = (training: Partial<TrainingSpec>) => stageCost(llama(training), 4, ends)(1, 4096, 0).backwardMs;
    const none = backward({});
    const all = backward({ recompute: 'full' });
    assert.ok(Math.abs(backward({ recompute: 'full', recomputeLayers: 1 }) - (3 * none + all) / 4) < 1e-9 * all);
  });
});

describe('recompute in groups of layers', () => {
  const grouped = (recomputeGroup: number) => llama({ recompute: 'full', recomputeGroup });
  const working = (inputs: MemoryInputs) => layerOperations(inputs, { layers: 4, ...ends }, whole).backward[0]!.bytes;

  it('keeps the input of each group, the last of which may be smaller', () => {
    const one = saved(grouped(1)) / 4;
    assert.deepEqual(
      [1, 2, 3, 4, 9].map((group) => saved(grouped(group)) / one),
      [4, 2, 2, 1, 1],
    );
  });

  it('has the activations of a whole group at once in backward', () => {
    const set = saved(llama({}), 1);
    assert.equal(working(grouped(2)) - working(grouped(1)), set);
    assert.equal(working(grouped(4)) - working(grouped(1)), 3 * set);
    assert.equal(working(grouped(9)), working(grouped(4)));
  });

  it('takes as long as layer by layer', () => {
    const backward = (inputs: ReturnType<typeof llama>) => stageCost(inputs, 4, ends)(1, 4096, 0).backwardMs;
    assert.equal(backward(grouped(3)), backward(grouped(1)));
  });
});

describe('recompute of modules', () => {
  const mixture = request('B200', deepseek(2, 4), { training: flash, layout: {} });
  const with_ = (...modules: RecomputeModule[]) => ({
    ...mixture,
    training: { ...mixture.training, recompute: 'selective' as const, recomputeModules: modules },
  });
  const dropped = (...modules: RecomputeModule[]) => (saved(mixture, 1) - saved(with_(...modules), 1)) / 4096;

  it('drops what the module saves, and nothing twice', () => {
    assert.equal(dropped('layernorm'), 2 * 2 * 5120);
    assert.equal(dropped('mla_up_proj'), 2 * (2 * 128 * 192 + 128 * 128));
    assert.equal(dropped('moe_act'), 2 * 6 * 1536);
    assert.equal(dropped('shared_experts'), 2 * 3 * 3072);
    assert.equal(dropped('mlp'), 0, 'a layer of experts has none');
    assert.equal(dropped('moe', 'moe_act', 'shared_experts'), dropped('moe'));
    assert.equal((saved(llama(), 1) - saved(llama({ recompute: 'selective', recomputeModules: ['mlp'] }), 1)) / 4096, 2 * 3 * 28672);
  });

  it('repeats the forward of the module', () => {
    const again = (...modules: RecomputeModule[]) => layerTime(with_(...modules))(1, 4096, 0).selective;
    const { forward } = layerTime(mixture)(1, 4096, 0);
    assert.ok(again('core_attn') > 0);
    const titan = { ...with_('core_attn'), training: { ...with_('core_attn').training, runtime: 'torchtitan' as const } };
    assert.equal(layerTime(titan)(1, 4096, 0).selective, 0, 'TorchTitan saves what fused attention gives');
    for (const module of ['layernorm', 'mla_up_proj', 'moe_act', 'shared_experts'] as const) assert.ok(again(module) > 0, module);
    assert.ok(again('moe') > again('moe_act') + again('shared_experts'));
    assert.ok(again('moe', 'mla_up_proj') < forward);
    assert.equal(again('moe', 'moe_act'), again('moe'));
  });
});

describe('context parallelism round a ring', () => {
  it('keeps the output of attention once, and hides behind attention where sequences are long', () => {
    const at = (contextParallelComm: 'ring' | 'all-to-all') => llama({ contextParallelComm, sequenceLength: 131072 }, { context: 4 });
    assert.equal((saved(at('all-to-all'), 1) - saved(at('ring'), 1)) / 1024, 2 * 8192);
    const forward = (inputs: ReturnType<typeof llama>, tokens: number) => layerTime(inputs)(1, tokens, 0).forward;
    const local = (inputs: ReturnType<typeof llama>) => ({
      ...inputs,
      cluster: { ...inputs.cluster, links: { ...inputs.cluster.links, intraNodeBusGBps: { 2: 1e12, 4: 1e12, 8: 1e12 } } },
    });
    assert.equal(forward(at('ring'), 131072), forward(local(at('ring')), 131072));
    assert.ok(forward(at('all-to-all'), 131072) > forward(local(at('all-to-all')), 131072));
  });
});

describe('optimizer states', () => {
  const bytes = (training: Partial<TrainingSpec>) => staticBytes(llama({ zeroStage: 0, ...training }), { layers: 1, ...ends });

  it('take 12 bytes a parameter with fp32 moments, 8 in bf16, 6 in 8 bits, none on the GPU when they are on the host', () => {
    const parameters = bytes({}).weights / 2;
    const per = (training: Partial<TrainingSpec>) => bytes(training).optimizer / parameters;
    assert.deepEqual(
      [
        per({}),
        per({ optimizer: 'adam-bf16' }),
        per({ optimizer: 'adam-8bit' }),
        per({ offloadOptimizer: true }),
        per({ optimizer: 'none' }),
      ],
      [12, 8, 6, 0, 0],
    );
  });

  it('are slower to update on the host', () => {
    const ms = (training: Partial<TrainingSpec>) => optimizerTime(llama(training), { layers: 4 });
    assert.ok(ms({ offloadOptimizer: true }) > 5 * ms({}));
    assert.ok(ms({ optimizer: 'adam-8bit' }) < ms({}));
  });
});

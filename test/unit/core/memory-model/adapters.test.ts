import assert from 'node:assert/strict';
import { headBackward, savedBytes } from '../../../../src/core/memory-model/activation-memory';
import { momentBytes, unitMemory } from '../../../../src/core/memory-model/chunk-memory';
import { layerExchangeBytes } from '../../../../src/core/memory-model/fsdp';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { adapterParameters } from '../../../../src/core/model/adapters';
import { usualKind } from '../../../../src/core/model/layers';
import { layerMatrixParameters, layerParameters, parameterCount } from '../../../../src/core/model/parameters';
import { frozenBytes, type Adapter, type AdapterTarget } from '../../../../src/core/domain/adapter';
import type { TrainingSpec } from '../../../../src/core/domain/request';
import { deepseek, llama3, mixtral, request } from '../../../golden/requests';

/** Two layers of Llama 3 8B: hidden 4096, keys and values of 1024, feed-forward 14336. */
const model = { ...llama3('70b', 2), hidden: 4096, heads: 32, ffn: 14_336 };
const kind = usualKind(model);
const attention: Adapter = { rank: 16, targets: ['query', 'value'] };
const all: Adapter = { rank: 16, targets: ['query', 'key', 'value', 'output', 'gate', 'up', 'down'] };
const stage = { layers: 2, first: true, last: true };
const middle = { layers: 2, first: false, last: false };
const unit = { batch: 1, tokens: 1024, context: 0, microBatch: 0, slice: 0 };

function parametersOf(one: typeof model, adapter: Adapter, tensor = 1): number {
  return adapterParameters(one, adapter, kind, { tensor, expert: 1 }).shared;
}

function at(training: Partial<TrainingSpec>, layout: object = {}) {
  return request('A100-80GB', model, { training: { attention: 'flash', dropout: false, precision: 'bf16', ...training }, layout });
}

describe('adapters', () => {
  it('have rank x (input + output) parameters for each matrix', () => {
    assert.equal(parametersOf(model, attention), 16 * (4096 + 4096 + (4096 + 1024)));
    const whole = 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14_336));
    assert.equal(parametersOf(model, all), whole);
    assert.equal(parametersOf(model, all, 4), whole / 4, 'ranks share both matrices');
    assert.equal(parametersOf(model, { rank: 16, targets: ['qkv'] }), 16 * (4096 + 6144), 'one for a joined matrix');
    assert.equal(parametersOf({ ...model, gatedMlp: false }, { rank: 1, targets: ['gate', 'down'] }), 14_336 + 4096);
  });

  it('are on the head, too, where they are asked for: what it reads is kept with its low-rank output', () => {
    const onHead: Adapter = { ...attention, onHead: true };
    const parameters = 16 * (4096 + model.vocab);
    const weights = (adapter: Adapter, where = stage): number =>
      staticBytes(at({ runtime: 'deepspeed', gradAccumulationFp32: false, zeroStage: 0, adapter }), where).weights;
    assert.equal(weights(onHead) - weights(attention), 2 * parameters);
    assert.equal(weights(onHead, middle), weights(attention, middle));
    const kept = (adapter: Adapter): number => savedBytes(at({ adapter }), stage, unit, false).logits;
    assert.equal(kept(onHead) - kept(attention), 2 * 1024 * (4096 + 16));
    assert.equal(kept({ ...onHead, dropout: true }) - kept({ ...attention, dropout: true }), 1024 * (3 * 4096 + 2 * 16));
  });

  it('on the head make as many logits twice again, and have a gradient of their own to exchange', () => {
    const onHead: Adapter = { ...attention, onHead: true };
    const more = (of: (adapter: Adapter, where: typeof stage) => number, where = stage): number => of(onHead, where) - of(attention, where);
    const head = (adapter: Adapter, where: typeof stage): number => headBackward(at({ adapter }), where, unit).bytes;
    assert.equal(more(head), 2 * 2 * 1024 * model.vocab);
    const divided = (adapter: Adapter, where: typeof stage): number => headBackward(at({ adapter }, { tensor: 2 }), where, unit).bytes;
    assert.equal(more(divided), 2 * 2 * 1024 * (model.vocab / 2));
    const busiest = (adapter: Adapter): number => momentBytes(unitMemory(at({ adapter }), stage, unit, false, 1).backward);
    assert.ok(busiest(onHead) - busiest(attention) >= 2 * 2 * 1024 * model.vocab);
    const exchanged = (adapter: Adapter, where: typeof stage): number =>
      layerExchangeBytes(at({ runtime: 'fsdp1', zeroStage: 3, adapter }, { data: 8 }), where);
    assert.equal(more(exchanged), 2 * 16 * (4096 + model.vocab));
    const saved: Adapter = { ...attention, saved: ['head'] };
    assert.equal(exchanged(saved, stage) - exchanged(attention, stage), 2 * 4096 * model.vocab, 'a head that is trained whole waits');
    assert.equal(exchanged(saved, middle), exchanged(attention, middle));
    const waits = (adapter: Adapter, where: typeof stage): number => unitMemory(at({ adapter }), where, unit, false, 1).keptForWeights;
    assert.equal(more(waits), 2 * 1024 * (4096 + 2 * 16 + model.vocab));
    for (const of of [head, exchanged, waits]) assert.equal(more(of, middle), 0);
  });

  it('have three tensors of importance where their ranks adapt, but what is saved whole has none', () => {
    const ofRuntime = (training: Partial<TrainingSpec>) => (adapter: Adapter) =>
      staticBytes(at({ gradAccumulationFp32: false, ...training, adapter }, { data: 8 }), stage);
    const parameters = 2 * parametersOf(model, attention);
    const replicated = ofRuntime({ runtime: 'deepspeed', zeroStage: 1 });
    const sharded = ofRuntime({ runtime: 'fsdp1', zeroStage: 3 });
    const saved: Adapter = { ...attention, saved: ['head'] };
    for (const adapter of [attention, saved]) {
      const more = (of: typeof sharded): number => of({ ...adapter, adaptive: true }).optimizer - of(adapter).optimizer;
      assert.ok(Math.abs(more(replicated) - 3 * 2 * parameters) < 1);
      assert.ok(Math.abs(more(sharded) - (3 * 4 * parameters) / 8) < 1);
    }
    assert.equal(replicated({ ...attention, adaptive: true }).weights, replicated(attention).weights);
  });

  it('have a magnitude for each column where they are decomposed', () => {
    const plain = parametersOf(model, attention);
    assert.equal(parametersOf(model, { ...attention, decomposed: true }), plain + 4096 + 1024);
    const saved = (adapter: Adapter): number => savedBytes(at({ adapter }), middle, unit, false).activations;
    // both outputs of queries and values, of two layers
    assert.equal(saved({ ...attention, decomposed: true }) - saved(attention), 2 * 2 * 2 * 1024 * (4096 + 1024));
    const workspaces = (adapter: Adapter): number => staticBytes(at({ adapter }), stage).workspaces;
    assert.ok(workspaces({ ...attention, decomposed: true }) - workspaces(attention) >= 4 * 2 * 4096 * 4096);
  });

  it('make Llama 2 7B 4,194,304 parameters larger at rank 8 with queries and values, as peft prints', () => {
    const llama2 = { ...model, layers: 32, kvHeads: 32, ffn: 11_008 };
    assert.equal(32 * parametersOf(llama2, { rank: 8, targets: ['query', 'value'] }), 4_194_304);
  });

  it('are all that has gradients and optimizer states; frozen weights are 2 bytes each', () => {
    const trained = 2 * parametersOf(model, attention);
    const padding = 0;
    const zero = staticBytes(at({ runtime: 'deepspeed', gradAccumulationFp32: false, zeroStage: 0, adapter: attention }), stage);
    assert.deepEqual(zero, {
      weights: 2 * (parameterCount(model) + padding) + 2 * trained,
      gradients: 2 * trained,
      optimizer: 12 * trained,
      dummyGradients: 0,
      workspaces: 0,
    });
    const megatron = staticBytes(at({ adapter: attention, zeroStage: 0 }), middle);
    assert.deepEqual([megatron.gradients, megatron.optimizer, megatron.dummyGradients], [4 * trained, 12 * trained, 0]);
  });

  it('are sharded as the runtime shards, and frozen weights with them', () => {
    const bytes = (zeroStage: 0 | 1 | 2 | 3) =>
      staticBytes(at({ runtime: 'deepspeed', gradAccumulationFp32: false, zeroStage, adapter: attention }, { data: 8 }), stage);
    const whole = bytes(0);
    assert.equal(bytes(1).optimizer, whole.optimizer / 8);
    assert.equal(bytes(2).gradients, whole.gradients / 8);
    assert.equal(bytes(2).weights, whole.weights);
    assert.equal(bytes(3).weights, whole.weights / 8);
    const sharded = staticBytes(at({ runtime: 'fsdp1', zeroStage: 3, adapter: attention }, { data: 8 }), middle);
    const frozen = 2 * (layerMatrixParameters(model) + layerParameters(model).normsAndBiases);
    assert.equal(sharded.weights, (2 * frozen + 4 * 2 * parametersOf(model, attention)) / 8);
  });

  it('extend matrices of 4 or 8 bits, with scales of their blocks; embedding and head stay as they are', () => {
    assert.equal(frozenBytes({ ...attention, baseBits: 4 }, 2), 0.5 + 4 / 64);
    assert.equal(frozenBytes({ ...attention, baseBits: 4, doubleQuantised: true }, 2), 0.5 + (1 + 4 / 256) / 64);
    const weights = (adapter: Adapter): number => staticBytes(at({ runtime: 'deepspeed', zeroStage: 0, adapter }), stage).weights;
    const matrices = 2 * layerMatrixParameters(model);
    assert.equal(weights(attention) - weights({ ...attention, baseBits: 8 }), matrices);
    assert.equal(weights(attention) - weights({ ...attention, baseBits: 4 }), (2 - 0.5625) * matrices);
  });

  it('train copies of what is saved whole', () => {
    const bytes = (adapter: Adapter) =>
      staticBytes(at({ runtime: 'deepspeed', gradAccumulationFp32: false, zeroStage: 0, adapter }), stage);
    const words = model.vocab * model.hidden;
    const [plain, saved] = [bytes(attention), bytes({ ...attention, saved: ['embedding', 'head'] })];
    assert.deepEqual([saved.weights - plain.weights, saved.gradients - plain.gradients], [2 * 2 * words, 2 * 2 * words]);
  });
});

describe('adapters of experts', () => {
  const layer = 2 * 16 * (4096 + 4096 + (4096 + 1024));
  const ofExpert = 16 * 3 * (4096 + 14_336);
  const experts = mixtral(2);
  const routed = usualKind(experts);
  const own: Adapter = { ...all, perExpert: true };

  it('are one for each expert of a rank, or one for all of them', () => {
    const at = (adapter: Adapter, division: object = {}) =>
      adapterParameters(experts, adapter, routed, { tensor: 1, expert: 1, ...division });
    assert.deepEqual(at(own), { shared: layer, experts: 8 * ofExpert });
    assert.deepEqual(at(own, { expert: 4 }), { shared: layer, experts: 2 * ofExpert });
    assert.deepEqual(at(all, { expert: 4 }), { shared: layer, experts: ofExpert }, 'as Megatron-Bridge shares them');
    assert.deepEqual(at(all, { tensor: 2, expertTensor: 1 }), { shared: layer / 2, experts: ofExpert }, 'experts are whole');
  });

  it('are divided over the ranks that hold the same experts', () => {
    const config = { model: experts, gpu: 'A100-80GB' } as const;
    const states = (adapter: Adapter, layout: object): number =>
      staticBytes(
        request(config.gpu, config.model, {
          training: { attention: 'flash', dropout: false, precision: 'bf16', zeroStage: 1, adapter },
          layout,
        }),
        middle,
      ).optimizer;
    const targets: Adapter['targets'] = ['gate', 'up', 'down'];
    const [unshared, shared] = [states({ ...own, targets }, { data: 8 }), states({ ...own, targets }, { data: 8, expert: 4 })];
    assert.equal(unshared, (12 * 2 * 8 * ofExpert) / 8);
    assert.equal(shared, (12 * 2 * 2 * ofExpert) / 2, 'two ranks have the same two experts');
  });

  it('save what their second matrices read for each visit of a token', () => {
    const saved = (adapter: Adapter): number =>
      savedBytes(
        request('A100-80GB', experts, { training: { attention: 'flash', dropout: false, precision: 'bf16', adapter }, layout: {} }),
        middle,
        unit,
        false,
      ).activations;
    const one = saved({ rank: 16, targets: ['down'] });
    assert.equal(
      saved({ rank: 32, targets: ['down'] }) - one,
      2 * 1024 * 2 * (2 * 16),
      '2 layers, 1,024 tokens, 2 visits, 16 more of 2 bytes',
    );
  });
});

describe('adapters of latent attention', () => {
  it('have the matrices that compress and expand, as DeepSeek-V3 has them', () => {
    const model = deepseek(3, 61);
    const dense = { ...usualKind(model), feedForward: 'dense' } as const;
    const size = (target: AdapterTarget): number =>
      adapterParameters(model, { rank: 1, targets: [target] }, dense, { tensor: 1, expert: 1 }).shared;
    assert.deepEqual((['queryDown', 'queryUp', 'keyValueDown', 'keyValueUp', 'output'] as const).map(size), [
      7168 + 1536,
      1536 + 128 * 192,
      7168 + 576,
      512 + 128 * 256,
      128 * 128 + 7168,
    ]);
    assert.equal(size('qkv'), 7168 + 1536 + 576, "MindSpeed-LLM's linear_qkv");
    assert.deepEqual((['query', 'key', 'value'] as const).map(size), [0, 0, 0], 'which it has not');
  });
});

describe('activations of frozen layers', () => {
  const kept = (training: Partial<TrainingSpec>): number => savedBytes(at(training), middle, unit, false).activations / 2 / 1024;

  it('are not kept where no adapter reads them', () => {
    const full = kept({});
    // outputs of both norms, of which adapters of attention read the first; the activated width; 16 columns of two adapters
    assert.equal(full - kept({ adapter: attention }), 2 * 4096 + 2 * 14_336 - 2 * 2 * 16);
    assert.equal(full - kept({ adapter: { rank: 16, targets: ['down'] } }), 2 * 2 * 4096 - 2 * 16);
    assert.equal(full - kept({ adapter: all }), -7 * 2 * 16, 'all are read');
  });

  it('are kept once more for each adapter that drops some out, with a mask of a byte', () => {
    const dropped = kept({ adapter: { ...attention, dropout: true } });
    assert.equal(dropped - kept({ adapter: attention }), 2 * 3 * 4096 - 2 * 4096);
  });

  it('leave to a split backward only the factors of the adapters', () => {
    const waits = (training: Partial<TrainingSpec>): number => unitMemory(at(training), middle, unit, false, 1).keptForWeights;
    const factors = 2 * (4096 + 16) + 2 * (16 + 4096) + 2 * (4096 + 16) + 2 * (16 + 1024);
    assert.equal(waits({ adapter: attention }), 2 * 1024 * factors);
    assert.ok(waits({ adapter: attention }) < waits({}));
  });
});

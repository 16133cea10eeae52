import assert from 'node:assert/strict';
import { modelFlopsPerSequence } from '../../../../src/core/model/parameters';
import { sequenceFlops } from '../../../../src/core/model/flops';
import { rooflineProvenance } from './provenances';
import { optimizerTime } from '../../../../src/core/time-model/optimizer-time';
import { gradientExchangeTime } from '../../../../src/core/time-model/gradient-exchange';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { layerGroups, usualKind } from '../../../../src/core/model/layers';
import { adapterCollectiveSeconds } from '../../../../src/core/time-model/adapter-time';
import { gatherSeconds } from '../../../../src/core/time-model/collectives';
import { shardedWaits } from '../../../../src/core/time-model/sharding';
import { deviceRates } from '../../../../src/core/time-model/rates';
import type { Adapter, AdapterTarget } from '../../../../src/core/domain/adapter';
import type { TrainingSpec } from '../../../../src/core/domain/request';
import { llama3, mixtral, request } from '../../../golden/requests';

const model = { ...llama3('70b', 8), hidden: 4096, heads: 32, ffn: 14_336 };
const one: Adapter = { rank: 1, targets: ['query'] };
const usual: Adapter = { rank: 16, targets: ['query', 'value'] };
const middle = { first: false, last: false };
const ends = { first: true, last: true };

function at(training: Partial<TrainingSpec>, layout: object = { data: 8 }) {
  return request('H100-80GB', model, { training: { attention: 'flash', dropout: false, precision: 'bf16', ...training }, layout });
}

function passes(training: Partial<TrainingSpec>, where = middle) {
  return stageCost(at(training), 1, where)(1, 4096, 0);
}

describe('time of frozen layers with adapters', () => {
  it('is less than that of all weights and more than only the forward', () => {
    const [full, adapted] = [passes({}), passes({ adapter: usual })];
    const step = ({ forwardMs, backwardMs }: typeof full): number => forwardMs + backwardMs;
    assert.ok(step(adapted) < step(full) && step(adapted) > adapted.forwardMs + full.forwardMs);
    assert.ok(adapted.forwardMs > full.forwardMs, 'adapters are added to the forward');
  });

  it('has no gradients of weights in backward but those of the adapters', () => {
    const [full, adapted] = [passes({}), passes({ adapter: one })];
    assert.ok(adapted.backwardWeightMs > 0 && adapted.backwardWeightMs < 0.1 * full.backwardWeightMs);
    const others = full.backwardMs - full.backwardWeightMs;
    const own = adapted.backwardMs - adapted.backwardWeightMs;
    assert.ok(own > others && own < 1.1 * others, `${own} for ${others}`);
  });

  it('takes longer each way where weights are decomposed, and most in forward', () => {
    const [plain, decomposed] = [passes({ adapter: usual }), passes({ adapter: { ...usual, decomposed: true } })];
    const more = decomposed.forwardMs - plain.forwardMs;
    assert.ok(more > 0 && decomposed.backwardMs > plain.backwardMs);
    const { gemm, traffic } = deviceRates(at({ adapter: usual }));
    const ofColumns = (columns: number): number =>
      gemm(4096, 4096, 16) + gemm(4096, 16, columns) + traffic(2 * 4096 * 4096) + 2 * traffic(14 * 4096 * columns);
    const expected = 1e3 * (ofColumns(4096) + ofColumns(1024));
    // what is not fused takes longer than its bytes
    assert.ok(more >= expected && more < 2 * expected, `${more} for ${expected}`);
  });

  it('forms the frozen product once more where the library does so with a dropout', () => {
    const adapter: Adapter = { ...usual, decomposed: true };
    const [decomposed, once] = [passes({ adapter }), passes({ adapter: { ...adapter, dropout: true } })];
    const dropped = passes({ adapter: { ...adapter, dropout: true, frozenTwice: true } });
    const { gemm, traffic } = deviceRates(at({ adapter: usual }));
    const ofColumns = (columns: number): number => gemm(4096, columns, 4096) + traffic(5 * 4096 * 4096);
    const expected = 1e3 * (ofColumns(4096) + ofColumns(1024));
    const more = dropped.forwardMs - decomposed.forwardMs;
    assert.ok(more >= 0.99 * expected && more < 1.5 * expected, `${more} for ${expected}`);
    const products = 1e3 * (gemm(4096, 4096, 4096) + gemm(4096, 1024, 4096));
    const twice = dropped.forwardMs - once.forwardMs;
    assert.ok(twice >= 0.99 * products && twice < 1.5 * products, `${twice} for ${products}`);
  });

  it('has none of the head and the embedding unless they are saved', () => {
    const adapted = passes({ adapter: one }, ends);
    const saved = passes({ adapter: { ...one, saved: ['embedding', 'head'] } }, ends);
    const head = 1e3 * deviceRates(at({})).gemm(model.hidden, model.vocab, 4096);
    assert.ok(Math.abs(saved.backwardWeightMs - adapted.backwardWeightMs - head) < 0.02 * head);
    assert.ok(saved.backwardMs - adapted.backwardMs > head);
  });

  it('has an adapter of the head where it is asked for, whose products are small next to a gradient of the head', () => {
    const [without, adapted] = [passes({ adapter: one }, ends), passes({ adapter: { ...one, onHead: true } }, ends)];
    const { gemm, traffic } = deviceRates(at({}));
    const [rows, columns] = [4096, model.vocab];
    const products = gemm(rows, 1, model.hidden) + gemm(rows, columns, 1);
    const forward = 1e3 * (products + traffic(6 * rows * columns));
    const more = adapted.forwardMs - without.forwardMs;
    assert.ok(more >= 0.99 * forward && more < 1.5 * forward, `${more} for ${forward}`);
    const saved = passes({ adapter: { ...one, saved: ['head'] } }, ends);
    assert.ok(adapted.backwardMs > without.backwardMs && adapted.backwardMs < saved.backwardMs);
    const gradients = 1e3 * (gemm(model.hidden, 1, rows) + gemm(1, columns, rows));
    assert.ok(adapted.backwardWeightMs - without.backwardWeightMs >= 0.99 * gradients);
    assert.ok(adapted.backwardWeightMs - without.backwardWeightMs < adapted.backwardMs - without.backwardMs);
    assert.deepEqual(passes({ adapter: { ...one, onHead: true } }), passes({ adapter: one }), 'only where the head is');
    const flops = (adapter: Adapter): number => sequenceFlops(model, { sequenceLength: 4096, adapter });
    assert.equal(flops({ ...one, onHead: true }) - flops(one), 6 * 4096 * (model.hidden + model.vocab));
  });

  it('has adapters of experts for each visit of a token', () => {
    const step = (adapter: Adapter, active: number): number => {
      const experts = { ...mixtral(8), experts: { count: 8, active } };
      const training = { attention: 'flash', dropout: false, precision: 'bf16', adapter } as const;
      const { forwardMs, backwardMs } = stageCost(request('H100-80GB', experts, { training, layout: { data: 8 } }), 1, middle)(1, 4096, 0);
      return forwardMs + backwardMs;
    };
    const added = (active: number): number => step({ rank: 16, targets: ['down'] }, active) - step({ rank: 16, targets: [] }, active);
    const [four, two] = [added(8) - added(4), added(4) - added(2)];
    assert.ok(two > 0 && four > 1.5 * two && four < 3 * two, `${four} for four visits, ${two} for two`);
    assert.ok(step({ rank: 16, targets: ['down'], perExpert: true }, 2) >= step({ rank: 16, targets: ['down'] }, 2));
  });

  it('gathers what adapters of undivided matrices make over tensor-parallel ranks', () => {
    const latent = { qRank: null, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 };
    const seconds = (target: AdapterTarget): number => {
      const training = { attention: 'flash', dropout: false, precision: 'bf16', adapter: { rank: 16, targets: [target] } } as const;
      const inputs = request('H100-80GB', { ...model, kvHeads: model.heads, latent }, { training, layout: { tensor: 4 } });
      return adapterCollectiveSeconds(inputs, 4096, usualKind(inputs.model));
    };
    const { cluster } = request('H100-80GB', model, { training: {}, layout: {} });
    const low = gatherSeconds(2 * 4096 * 16, 4, cluster);
    assert.equal(seconds('keyValueUp'), low);
    assert.equal(seconds('keyValueDown'), low + gatherSeconds(2 * 4096 * (512 + 64), 4, cluster));
  });

  it('makes quantised weights again before each product, forward and backward', () => {
    const [plain, packed] = [passes({ adapter: usual }), passes({ adapter: { ...usual, baseBits: 4 } })];
    const { unpack } = deviceRates(at({ adapter: { ...usual, baseBits: 4 } }));
    assert.ok(unpack);
    const matrices = 4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14_336;
    const least = 1e3 * unpack(matrices);
    assert.ok(packed.forwardMs - plain.forwardMs >= least * (1 - 1e-9));
    assert.ok(packed.backwardMs - plain.backwardMs >= least * (1 - 1e-9));
  });

  it('repeats adapters with the layer where it is recomputed', () => {
    const adapter = { ...usual, dropout: true };
    const [kept, again] = [passes({ adapter }), passes({ adapter, recompute: 'full' })];
    assert.ok(Math.abs(again.backwardMs - kept.backwardMs - kept.forwardMs) < 1e-9);
  });

  it('exchanges and updates only the adapters', () => {
    const whole = { layers: 8 };
    const [full, adapted] = [at({}), at({ adapter: usual })];
    assert.ok(gradientExchangeTime(adapted, whole) < 0.05 * gradientExchangeTime(full, whole));
    const parameters = 8 * 16 * (4096 + 4096 + 4096 + 1024);
    const inputs = at({ adapter: usual, zeroStage: 0 }, {});
    const { memoryTBps } = inputs.cluster.gpu;
    const expected = (1e3 * 30 * parameters) / (memoryTBps * 1e12 * inputs.constants.memoryEfficiency);
    assert.ok(Math.abs(optimizerTime(inputs, whole) - expected) < 1e-9);
  });

  it('gathers sharded weights in the bytes that they are held in, and scatters the gradients of adapters', () => {
    const waits = (adapter?: Adapter) =>
      shardedWaits(at({ zeroStage: 3, runtime: 'fsdp1', ...(adapter && { adapter }) }), layerGroups(model), middle)?.(0, 0);
    const [full, adapted, packed] = [waits(), waits(usual), waits({ ...usual, baseBits: 4 })];
    assert.ok(full && adapted && packed);
    assert.ok(adapted.forward > full.forward && adapted.forward < 1.01 * full.forward, 'adapters are gathered too');
    assert.ok(full.backward > 2 * full.forward && adapted.backward < 1.05 * adapted.forward, 'hardly anything is scattered');
    assert.ok(packed.forward > 0.5 * 0.5625 * adapted.forward && packed.forward < 0.35 * adapted.forward);
  });
});

describe('model FLOPs of a run that trains adapters', () => {
  it('are those without gradients of frozen weights, and with the adapters', () => {
    const { training } = at({ sequenceLength: 4096 });
    const full = modelFlopsPerSequence(model, 4096);
    const matrices = 8 * (4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14_336) + model.vocab * 4096;
    const adapters = 8 * 16 * (4096 + 4096 + 4096 + 1024);
    assert.equal(sequenceFlops(model, { ...training, adapter: usual }), full - 4096 * (2 * matrices - 6 * adapters));
    assert.equal(sequenceFlops(model, training), full);
  });

  it('have a bar as wide as what was never measured, wider towards slower with quantised weights', () => {
    const bar = (training: Partial<TrainingSpec>) => rooflineProvenance(at(training), 1, 4096);
    const [low, high] = bar({ adapter: usual }).range;
    assert.ok(low <= 0.65 && high >= 1.35);
    assert.ok(bar({ adapter: { ...usual, baseBits: 4 } }).range[1] >= 1.6);
  });
});

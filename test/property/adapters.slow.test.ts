import assert from 'node:assert/strict';
import fc from 'fast-check';
import { unitMemory, momentBytes } from '../../src/core/memory-model/chunk-memory';
import { staticBytes, totalBytes } from '../../src/core/memory-model/static';
import type { StaticBytes } from '../../src/core/memory-model/held';
import type { StageContents } from '../../src/core/memory-model/layer-tensors';
import { partOfModel } from '../../src/core/model/layers';
import { adapterTargets, type Adapter, type AdapterTarget } from '../../src/core/domain/adapter';
import type { LayerKind, StateMixer } from '../../src/core/domain/model';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import { runtimes } from '../../src/core/domain/runtime';
import { stageCost } from '../../src/core/time-model/stage-cost';
import { llama3, request } from '../golden/requests';
import { cases } from './cases';

const seed = 20261123;
const unit = { batch: 1, tokens: 2048, context: 0, microBatch: 0, slice: 0 };

const compressed: readonly AdapterTarget[] = ['queryDown', 'queryUp', 'keyValueDown', 'keyValueUp'];

const ofState = adapterTargets.filter((target) => target.startsWith('state'));
/** Of experts, which none of the models here has. */
const ofExperts = adapterTargets.filter((target) => /^(?:expert|shared)/.test(target));
const delta: StateMixer = {
  kind: 'gated-delta-net',
  heads: 32,
  headDim: 128,
  stateDim: 128,
  groups: 16,
  convolution: 4,
  chunk: 64,
  convolutionBias: false,
  projectionBias: false,
  normParameters: 128,
};
/** Two layers with a state and one that attends. */
const hybridKinds: readonly LayerKind[] = [
  { mixer: 'state', feedForward: 'dense', window: null },
  { mixer: 'state', feedForward: 'dense', window: null },
  { mixer: 'attention', feedForward: 'dense', window: null },
];

/** A model, how it is trained, and adapters of some of its matrices. */
const drawn = fc.record({
  latent: fc.boolean(),
  hybrid: fc.boolean(),
  hidden: fc.constantFrom(2048, 4096, 8192),
  rank: fc.integer({ min: 1, max: 32 }),
  targets: fc.subarray([...adapterTargets], { minLength: 1 }),
  runtime: fc.constantFrom(...runtimes),
  zeroStage: fc.constantFrom(0, 1, 2, 3),
  recompute: fc.constantFrom('none', 'full'),
  tensor: fc.constantFrom(1, 2),
  data: fc.constantFrom(1, 8),
  baseBits: fc.constantFrom(undefined, 4, 8),
  onHead: fc.boolean(),
});
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

function requestOf({ latent, hybrid, hidden, runtime, zeroStage, recompute, tensor, data }: Drawn, adapter?: Adapter): PlanRequest {
  const plain = { ...llama3('70b', 3), hidden, heads: hidden / 128, ffn: 3.5 * hidden, vocab: 32_000 };
  const ranks = { qRank: 768, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 };
  const states = { ...plain, state: delta, layerKinds: hybridKinds };
  const model = latent ? { ...plain, kvHeads: plain.heads, latent: ranks } : hybrid ? states : plain;
  const sharded = runtime === 'fsdp1' || runtime === 'torchtitan';
  const training: Partial<TrainingSpec> = {
    runtime,
    zeroStage: sharded ? 3 : zeroStage,
    recompute: recompute,
    precision: 'bf16',
    attention: 'flash',
    dropout: false,
    ...(adapter && { adapter }),
  };
  return request('A100-80GB', model, { training, layout: { tensor, data } });
}

function adapterOf({ latent, hybrid, rank, targets: all, baseBits, onHead }: Drawn, quantised: boolean): Adapter {
  const own = all.filter((target) => {
    if (ofExperts.includes(target)) return false;
    if (ofState.includes(target)) return hybrid && !latent;
    return latent ? !['query', 'key', 'value'].includes(target) : !compressed.includes(target);
  });
  const targets: Adapter['targets'] = own.length > 0 ? own : ['output'];
  return { rank, targets, ...(quantised && baseBits !== undefined && { baseBits: baseBits }), ...(onHead && { onHead }) };
}

function stageOf({ model }: PlanRequest): StageContents {
  return { layers: 3, first: true, last: true, ...partOfModel(model) };
}

/** All that is always present, and the most of a unit's backward, bytes. */
function bytesOf(inputs: PlanRequest): number {
  const { forward, backward } = unitMemory(inputs, stageOf(inputs), unit, false, 1);
  return totalBytes(staticBytes(inputs, stageOf(inputs))) + Math.max(momentBytes(forward), momentBytes(backward));
}

function check(property: (one: Drawn) => void): void {
  fc.assert(fc.property(drawn, property), { seed, numRuns: cases(300, 5000) });
}

describe('adapters of any rank up to 32 with any matrices', () => {
  it('take no more memory than training all weights', () => {
    check((one) => {
      for (const quantised of [false, true]) assert.ok(bytesOf(requestOf(one, adapterOf(one, quantised))) <= bytesOf(requestOf(one)));
    });
  });

  it('take memory in proportion to their rank, and at rank 0 leave only the frozen weights', () => {
    check((one) => {
      const fixed = (rank: number): StaticBytes => {
        const inputs = requestOf(one, { ...adapterOf(one, true), rank });
        return staticBytes(inputs, stageOf(inputs));
      };
      const bytes = (rank: number): number => totalBytes(fixed(rank));
      const [none, few, many] = [bytes(0), bytes(one.rank), bytes(2 * one.rank)];
      assert.ok(Math.abs(many - few - (few - none)) <= 1e-6 * many);
      const { gradients, optimizer } = fixed(0);
      assert.deepEqual([gradients, optimizer], [0, 0]);
      assert.ok(few > none);
    });
  });

  it('take longer than a forward, and with one matrix less than training all weights', () => {
    check((one) => {
      const ms = (inputs: PlanRequest): readonly [number, number] => {
        const { forwardMs, backwardMs } = stageCost(inputs, 3, stageOf(inputs))(1, 4096, 0);
        return [forwardMs, forwardMs + backwardMs];
      };
      const [forward, full] = ms(requestOf(one));
      const drawnAdapter = adapterOf({ ...one, onHead: false }, false);
      const oneMatrix = { ...drawnAdapter, targets: drawnAdapter.targets.slice(0, 1), rank: Math.min(16, one.rank) };
      const [, adapted] = ms(requestOf(one, oneMatrix));
      assert.ok(adapted > forward, `${adapted} for ${forward}`);
      assert.ok(adapted < full, `${adapted} for ${full}`);
    });
  });
});

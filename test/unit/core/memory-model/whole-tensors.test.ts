import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { largestOfLayers } from '../../../../src/core/model/largest-tensors';
import { usualKind } from '../../../../src/core/model/layers';
import { hostMemory } from '../../../../src/core/partition/host-memory';
import { cutContents } from '../../../../src/core/partition/stages';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { loadObject } from '../config-files/files';

/** InternLM-7B as `configs/7B_sft.py` has it. */
const model = {
  layers: 32, hidden: 4096, heads: 32, ffn: 11_008, vocab: 103_168, gatedMlp: true, positions: 'rotary', tiedEmbeddings: false,
}; // prettier-ignore

async function planned(training: object, layout: object = {}, more: object = {}): Promise<PlanRequest> {
  const run = await loadObject({
    model: { ...model, ...more },
    layout: { tensor: 1, pipeline: 4, ...layout },
    training: { zeroStage: 1, sequenceLength: 2048, globalBatch: 128, ...training },
  });
  return resolveRun(run, { gpu: 'A100-80GB', nodes: 16, gpusPerNode: 8 });
}

function optimizer(request: PlanRequest): number[] {
  return cutContents(Array(request.layout.pipeline).fill(32 / request.layout.pipeline), request.model).map(
    (contents) => staticBytes(request, contents).optimizer,
  );
}

const tensors = { optimizerShards: 'tensors' } as const;
const near = (actual: number | undefined, wanted: number): void =>
  assert.ok(Math.abs((actual ?? 0) / wanted - 1) < 1e-6, `${actual} for ${wanted}`);

describe('an optimizer of whole tensors', () => {
  it('has the vocabulary only on stages that hold it, elsewhere the largest matrix of a layer', async () => {
    const [first, second, third, last] = optimizer(await planned(tensors));
    const words = 12 * 103_168 * 4096;
    near(first, words);
    near(last, words);
    // 32 replicas have a thirty-second of 1.6 billion parameters, 51 million; three projections are 3 x 4096 x 4096
    const [even] = optimizer(await planned({})).slice(1);
    near(second, even ?? NaN);
    near(third, even ?? NaN);
    const deepest = optimizer(await planned(tensors, { pipeline: 32 }));
    assert.ok(deepest[1] !== undefined && deepest[1] >= 12 * 3 * 4096 ** 2, 'one layer on four replicas');
  });

  it('gives a rank at least one expert, not the vocabulary', async () => {
    const experts = { experts: 8, activeExperts: 2, expertFfn: 11_008 };
    const [even = 0] = optimizer(await planned({}, { pipeline: 1 }, experts));
    const [whole = 0] = optimizer(await planned(tensors, { pipeline: 1 }, experts));
    const shared = 32 * 4 * 4096 ** 2 + 2 * 103_168 * 4096;
    // 128 replicas share 46 billion parameters of experts evenly, 8 experts of 45 million in each of 32 layers
    near(whole - even, 12 * 103_168 * 4096 - (12 * (shared + 32 * (2 * 4096 + 8 * 4096) + 4096)) / 128);
  });

  it('shares out the matrices of adapters by their own size', async () => {
    const adapted = (request: PlanRequest): PlanRequest => ({
      ...request,
      training: { ...request.training, adapter: { rank: 16, targets: ['query', 'value'] } },
    });
    const [whole, even] = [optimizer(adapted(await planned(tensors))), optimizer(adapted(await planned({})))];
    assert.ok((even[1] ?? 0) > 0);
    // 8 layers have 32 matrices of 16 x 4,096, one for each of 32 replicas
    assert.deepEqual(whole, even);
    near(optimizer(adapted(await planned(tensors, { pipeline: 32 })))[1], 12 * 16 * 4096);
  });

  it('is even where stages 2 and 3 or FSDP cut what it would leave whole', async () => {
    for (const other of [{ zeroStage: 2 }, { zeroStage: 3, runtime: 'deepspeed' }, { zeroStage: 3, runtime: 'torchtitan' }])
      assert.deepEqual(optimizer(await planned({ ...tensors, ...other })), optimizer(await planned(other)), JSON.stringify(other));
  });

  it('counts on a host what its ranks hold together', async () => {
    const host = async (training: object): Promise<readonly number[]> => {
      const request = await planned({ offloadOptimizer: true, runtime: 'deepspeed', ...training });
      const { parts, checkpointBytes } = hostMemory(request, '1F1B', []);
      return [parts.optimizer, checkpointBytes];
    };
    assert.deepEqual(await host(tensors), await host({}));
  });

  it('knows the largest matrix of each kind of layer', async () => {
    const { model: dense } = await planned({});
    assert.deepEqual(largestOfLayers(dense, [usualKind(dense)], { tensor: 2, expert: 1 }), { shared: (3 * 4096 ** 2) / 2, experts: 0 });
  });
});

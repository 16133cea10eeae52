import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PlanRequest } from '../../../../src/core/domain/request';
import type { ChunkMemory } from '../../../../src/core/memory-model/chunk-memory';
import { parameterCount } from '../../../../src/core/model/parameters';
import { hostMemory } from '../../../../src/core/partition/host-memory';
import type { HostMemory } from '../../../../src/core/partition/host-parts';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { sum } from '../../../../src/core/numbers';
import type { Timeline } from '../../../../src/core/schedules/schedule';
import { checkpointBytes } from '../../../../src/features/days/core/whole-run';
import { load, loadObject } from '../config-files/files';

const model = { layers: 16, hidden: 2048, heads: 16, ffn: 8192, vocab: 32_000 };

function host(request: PlanRequest): HostMemory {
  const { schedule, memory } = chosenCandidate(makePlan(request));
  return hostMemory(request, schedule, memory.stages);
}

function hostBytes(request: PlanRequest): readonly number[] {
  return chosenCandidate(makePlan(request)).memory.stages.map((stage) => stage.hostBytes);
}

/** Most that a stage has copied away at once, of every pair of copies of a unit by itself. */
function mostCopied(timeline: Timeline, chunks: readonly ChunkMemory[], stage: number): number {
  const { start, chunk, unit, back, after, before } = timeline.copies!;
  const copies = Array.from({ length: start[stage + 1]! - start[stage]! }, (_, index) => start[stage]! + index);
  const away = copies.filter((copy) => back[copy] === 0).map((out) => {
    const home = copies.find((copy) => back[copy] === 1 && chunk[copy] === chunk[out] && unit[copy] === unit[out])!;
    const { alike, unitKinds } = chunks[chunk[out]!]!;
    return { from: after[out]! + 1, to: before[home]!, bytes: alike[unitKinds[unit[out]!]!]!.activations };
  }); // prettier-ignore
  const heldAt = (row: number): number => sum(away.map(({ from, to, bytes }) => (from <= row && row < to ? bytes : 0)));
  return Math.max(...away.map(({ from }) => heldAt(from)));
}

async function planned(training: object, layout: object = {}, nodes = 2, schedule = '1F1B'): Promise<PlanRequest> {
  const run = await loadObject({
    model,
    schedule,
    training: { runtime: 'deepspeed', zeroStage: 2, sequenceLength: 2048, globalBatch: 32, ...training },
    layout: { tensor: 1, pipeline: 1, ...layout },
  });
  return resolveRun(run, { gpu: 'H100-80GB', nodes, gpusPerNode: 8 });
}

describe('host memory', () => {
  it('has 16 bytes of every parameter of an optimizer on it, over the nodes that shard it', async () => {
    const request = await planned({ offloadOptimizer: true });
    const { parts } = host(request);
    const bytes = (16 * parameterCount(request.model)) / 2;
    assert.ok(Math.abs(parts.optimizer / bytes - 1) < 0.01, `${parts.optimizer} of ${bytes}`);
    assert.equal(host(await planned({})).parts.optimizer, 0);
  });

  it('repeats the optimizer in each group of HSDP', async () => {
    const [whole, groups] = await Promise.all([{}, { dataReplicate: 2 }].map((more) => planned({ runtime: 'torchtitan', zeroStage: 3, offloadOptimizer: true, ...more }))); // prettier-ignore
    assert.ok(whole !== undefined && groups !== undefined);
    assert.ok(Math.abs(host(groups).parts.optimizer / host(whole).parts.optimizer - 2) < 1e-9);
    assert.equal(host(groups).checkpointBytes, host(whole).checkpointBytes);
  });

  it('leaves states on NVMe, and keeps buffers for them', async () => {
    const [ram, nvme] = [host(await planned({ offloadOptimizer: true })), host(await planned({ offloadOptimizer: true, offloadDevice: 'nvme' }))]; // prettier-ignore
    assert.equal(nvme.nvmeBytes, ram.parts.optimizer);
    assert.ok(Math.abs(nvme.parts.optimizer / ram.parts.optimizer - 1) < 1e-9, 'four buffers of less than a group are as large');
    assert.equal(ram.nvmeBytes, 0);
  });

  it('holds a checkpoint once over all nodes while it is saved, and batches of every rank', async () => {
    const request = await planned({});
    const { parts, checkpointBytes, peakBytes } = host(request);
    assert.ok(Math.abs((2 * checkpointBytes) / (14 * parameterCount(request.model)) - 1) < 0.01);
    assert.equal(parts.dataLoader, 8 * 4 * 28 * request.training.microBatch * 2048);
    assert.equal(peakBytes, parts.dataLoader, 'a checkpoint is not part of the step');
  });

  it('saves fp32 weights as their own master weights', async () => {
    for (const runtime of ['torchtitan', 'fsdp1', 'ddp']) {
      const request = await planned({ runtime, zeroStage: runtime === 'ddp' ? 0 : 3 });
      const share = (2 * host(request).checkpointBytes) / parameterCount(request.model);
      assert.ok(Math.abs(share / 12 - 1) < 0.01, `${runtime}: ${share}`);
      assert.equal(checkpointBytes(request), 12 * parameterCount(request.model));
    }
  });

  it('holds offloaded activations of each unit once, as many as its order has between forward and backward', async () => {
    const offload = { runtime: 'megatron', zeroStage: 0, activationOffloadLayers: 16, microBatch: 1, globalBatch: 8, sequenceLength: 256 };
    const onStages = async (schedule: string, layout: object = {}): Promise<readonly number[]> =>
      hostBytes(await planned(offload, { pipeline: 4, data: 1, ...layout }, 1, schedule));
    const whole = (await onStages('GPipe')).map((bytes) => bytes / 8);
    assert.ok(whole.every((bytes) => bytes > 0));
    assert.deepEqual((await onStages('1F1B')).map((bytes, stage) => bytes / (whole[stage] ?? 0)), [4, 3, 2, 1]); // prettier-ignore
    assert.deepEqual((await onStages('Interleaved1F1B', { virtualStages: 2 })).map((bytes, stage) => (2 * bytes) / (whole[stage] ?? 0)), [11, 9, 7, 5]); // prettier-ignore
    const sliced = await onStages('TeraPipe');
    assert.deepEqual(sliced.map((bytes, stage) => bytes / (whole[stage] ?? 0)), [8, 8, 8, 8]); // prettier-ignore
  });

  it('holds what PO-F and PO-H copy to it, and nothing of what BPipe copies to other GPUs', async () => {
    const training = { runtime: 'megatron', zeroStage: 0, globalBatch: 16 };
    for (const schedule of ['PO-F', 'PO-H']) {
      const plan = makePlan(await planned(training, { pipeline: 4, data: 1 }, 1, schedule));
      const { memory, timeline } = chosenCandidate(plan);
      assert.ok(timeline !== null);
      for (const { stage, hostBytes } of memory.stages) {
        const oracle = mostCopied(timeline, memory.chunks, stage);
        assert.ok(oracle > 0 && Math.abs(hostBytes / oracle - 1) < 1e-9, `${schedule}, stage ${stage}: ${hostBytes} of ${oracle}`);
      }
    }
    assert.deepEqual(hostBytes(await planned(training, { pipeline: 4, data: 1 }, 1, 'BPipe')), [0, 0, 0, 0]);
  });

  it('numbers the nodes of each group by its own GPUs', async () => {
    const group = { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 };
    const stageLayers = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2];
    const stageNodeGroups = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
    const run = await loadObject({
      model,
      schedule: '1F1B',
      training: { sequenceLength: 2048, globalBatch: 32, offloadOptimizer: true },
      layout: { tensor: 1, data: 2, pipeline: 12, stageLayers, stageNodeGroups }, // prettier-ignore
      cluster: { groups: [group, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 16 }] },
    });
    const request = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    const { node, parts } = host(request);
    assert.equal(node, 1);
    assert.equal(parts.dataLoader, 16 * 4 * 28 * request.training.microBatch * 2048);
  });

  it('is of the node whose stages take most', async () => {
    const request = await planned({ runtime: 'megatron', zeroStage: 1, offloadOptimizer: true }, { tensor: 2, pipeline: 4, data: 4 }, 4);
    const { node, parts } = host(request);
    assert.ok(node === 0 || node === 3, `node ${node}`);
    const all = 16 * parameterCount(request.model);
    assert.ok(parts.optimizer > all / 4 && parts.optimizer < all / 2);
  });

  it('reads the NVMe of a DeepSpeed JSON', async () => {
    const config = { model_type: 'llama', num_hidden_layers: 4, hidden_size: 512, num_attention_heads: 8, intermediate_size: 1024, vocab_size: 1000 }; // prettier-ignore
    const zero = { train_micro_batch_size_per_gpu: 1, bf16: { enabled: true }, zero_optimization: { stage: 3, sub_group_size: 1e6, offload_optimizer: { device: 'nvme', nvme_path: '/x', buffer_count: 6, pin_memory: true } } }; // prettier-ignore
    const run = await load({ 'ds.json': JSON.stringify(zero), 'config.json': JSON.stringify(config) });
    const request = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    assert.deepEqual([request.training.offloadOptimizer, request.training.offloadDevice], [true, 'nvme']);
    assert.equal(host(request).parts.optimizer, 8 * 6 * 4 * 1e6);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { parameterCount } from '../../../../src/core/model/parameters';
import { hostMemory, type HostMemory } from '../../../../src/core/partition/host-memory';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { load, loadObject } from '../config-files/files';

const model = { layers: 16, hidden: 2048, heads: 16, ffn: 8192, vocab: 32_000 };

function host(request: PlanRequest): HostMemory {
  const { schedule, memory } = chosenCandidate(makePlan(request));
  return hostMemory(request, schedule, memory.stages);
}

async function planned(training: object, layout: object = {}, nodes = 2): Promise<PlanRequest> {
  const run = await loadObject({
    model,
    schedule: '1F1B',
    training: { runtime: 'deepspeed', zeroStage: 2, sequenceLength: 2048, globalBatch: 32, ...training },
    layout: { tensor: 1, pipeline: 1, ...layout },
  });
  return resolveRun(run, { gpu: 'H100-80GB', nodes, gpusPerNode: 8 });
}

describe('memory of the host', () => {
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
    assert.equal(host(groups).parts.checkpoint, host(whole).parts.checkpoint);
  });

  it('leaves states on NVMe, and keeps buffers for them', async () => {
    const [ram, nvme] = [host(await planned({ offloadOptimizer: true })), host(await planned({ offloadOptimizer: true, offloadDevice: 'nvme' }))]; // prettier-ignore
    assert.equal(nvme.nvmeBytes, ram.parts.optimizer);
    assert.ok(Math.abs(nvme.parts.optimizer / ram.parts.optimizer - 1) < 1e-9, 'four buffers of less than a group are as large');
    assert.equal(ram.nvmeBytes, 0);
  });

  it('holds a checkpoint once over all nodes while it is saved, and batches of every rank', async () => {
    const request = await planned({});
    const { parts } = host(request);
    assert.ok(Math.abs((2 * parts.checkpoint) / (14 * parameterCount(request.model)) - 1) < 0.01);
    assert.equal(parts.dataLoader, 8 * 4 * 28 * request.training.microBatch * 2048);
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
    const zero = { train_micro_batch_size_per_gpu: 1, bf16: { enabled: true }, zero_optimization: { stage: 3, offload_optimizer: { device: 'nvme', nvme_path: '/x' } } }; // prettier-ignore
    const run = await load({ 'ds.json': JSON.stringify(zero), 'config.json': JSON.stringify(config) });
    const { training } = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    assert.deepEqual([training.offloadOptimizer, training.offloadDevice], [true, 'nvme']);
  });
});

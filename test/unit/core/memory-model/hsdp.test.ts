import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { cutContents } from '../../../../src/core/partition/stages';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { load, loadObject, readerOf } from '../config-files/files';
import { shellReader } from '../launchers/shell/shell-reader';

const model = { layers: 16, hidden: 2048, heads: 16, ffn: 8192, vocab: 32_000 };
const nodes = { gpu: 'H100-80GB', nodes: 4, gpusPerNode: 8 } as const;
/** The files give the nodes. */
const launched = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

async function resolved(training: object, runtime = 'torchtitan'): Promise<PlanRequest> {
  const layout = { tensor: 1, pipeline: 1 };
  return resolveRun(await loadObject({ model, layout, training: { runtime, sequenceLength: 2048, globalBatch: 32, ...training } }), nodes);
}

function stage(request: PlanRequest): ReturnType<typeof staticBytes> {
  const [contents] = cutContents([16], request.model);
  assert.ok(contents);
  return staticBytes(request, contents);
}

describe('groups of HSDP', () => {
  it('shard weights, gradients and states inside a group, so that a rank holds as often as much', async () => {
    const whole = stage(await resolved({}));
    const groups = stage(await resolved({ dataReplicate: 4 }));
    for (const part of ['weights', 'gradients', 'optimizer'] as const)
      assert.ok(Math.abs(groups[part] / whole[part] - 4) < 1e-9, `${part}: ${groups[part] / whole[part]}`);
    assert.equal(groups.workspaces, whole.workspaces);
  });

  it('of one rank each gather nothing', async () => {
    assert.equal(stage(await resolved({ dataReplicate: 32 })).workspaces, 0);
  });

  it("shard only the optimizer of Megatron-LM's instances", async () => {
    const [whole, groups] = [stage(await resolved({}, 'megatron')), stage(await resolved({ dataReplicate: 2 }, 'megatron'))];
    assert.ok(Math.abs(groups.optimizer / whole.optimizer - 2) < 1e-9);
    assert.deepEqual([groups.weights, groups.gradients], [whole.weights, whole.gradients]);
  });

  it('of a node each are faster over a slow network, and add up gradients over it', async () => {
    const slow = (dataReplicate: number): Promise<number> =>
      resolved({ dataReplicate }).then((request) => {
        const links = { ...request.cluster.links, nicGBps: request.cluster.links.nicGBps / 16 };
        return chosenCandidate(makePlan({ ...request, cluster: { ...request.cluster, links } })).iterationMs;
      });
    const [one, ofNodes] = [await slow(1), await slow(4)];
    assert.ok(ofNodes < one, `${ofNodes} against ${one} ms`);
    const fast = chosenCandidate(makePlan(await resolved({ dataReplicate: 32 }))).iterationMs;
    const whole = await resolved({ dataReplicate: 1 });
    const noExchange = { ...whole, layout: { ...whole.layout, data: 1 }, training: { ...whole.training, globalBatch: 1 } };
    assert.ok(fast > chosenCandidate(makePlan(noExchange)).iterationMs);
  });

  it('that do not divide the replicas are refused', async () => {
    const request = await resolved({ dataReplicate: 3 });
    assert.throws(() => makePlan(request), { code: 'plan-replicate-groups' });
  });

  it('are chosen by a search of FSDP: all replicas together, and groups of whole nodes', async () => {
    const groups = (request: PlanRequest, fixed: readonly 'dataReplicate'[] = []): number[] => {
      const sizes = ['tensor', 'pipeline', 'data', 'context', 'schedule', 'microBatch', 'recompute', 'zeroStage'] as const;
      const found = [...candidateGroups({ request, fixed: new Set([...sizes, ...fixed]) })];
      return [...new Set(found.map(({ training }) => training.dataReplicate ?? 1))];
    };
    assert.deepEqual(groups(await resolved({})), [1, 2, 4]);
    assert.deepEqual(groups(await resolved({ dataReplicate: 2 }), ['dataReplicate']), [2]);
    assert.deepEqual(groups(await resolved({ zeroStage: 1 }, 'megatron')), [1]);
    // groups of one rank would shard nothing
    const onNodesOfOne = await resolved({});
    assert.deepEqual(groups({ ...onNodesOfOne, cluster: { ...onNodesOfOne.cluster, nodes: 32, gpusPerNode: 1 } }), [1, 2, 4, 8, 16]);
  });

  it('are the nodes under HYBRID_SHARD', async () => {
    const text = [
      'compute_environment: LOCAL_MACHINE',
      'distributed_type: FSDP',
      'fsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD',
      'mixed_precision: bf16\nnum_machines: 2\nnum_processes: 16',
    ].join('\n');
    const config = { model_type: 'llama', num_hidden_layers: 4, hidden_size: 512, num_attention_heads: 8, intermediate_size: 1024, vocab_size: 1000 }; // prettier-ignore
    const run = await load({ 'fsdp.yaml': text, 'config.json': JSON.stringify(config) });
    const { training, layout } = resolveRun(run, launched);
    assert.deepEqual([training.runtime, training.zeroStage, training.dataReplicate, layout.data], ['fsdp1', 3, 2, 16]);
  });

  /** What is planned of a script of Megatron-LM on nodes of 8 GPUs. */
  async function scripted(gpus: number, flags: string): Promise<PlanRequest> {
    const sizes =
      '--tokenizer-type NullTokenizer --vocab-size 1000 --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512';
    const script = `torchrun --nnodes ${gpus / 8} --nproc-per-node 8 pretrain_gpt.py ${sizes} --micro-batch-size 1 --bf16 ${flags}`;
    const { run } = await loadConfig('run.sh', script, { read: readerOf({}), shell: shellReader });
    assert.ok(run);
    return resolveRun(run, launched);
  }

  const instances = (count: number): string => `--use-distributed-optimizer --num-distributed-optimizer-instances ${count}`;

  it('are instances of the distributed optimizer in a script of Megatron-LM', async () => {
    const { training } = await scripted(8, `--global-batch-size 8 ${instances(2)}`);
    assert.equal(training.dataReplicate, 2);
  });

  it('divide also the ranks of context parallelism of Megatron-LM', async () => {
    const sizes = '--global-batch-size 8 --tensor-model-parallel-size 4 --context-parallel-size 4';
    const request = await scripted(32, `${sizes} ${instances(4)}`);
    assert.deepEqual([request.layout.data, request.training.dataReplicate], [2, 4]);
    assert.ok(chosenCandidate(makePlan(request)).iterationMs > 0);
    const fixed = new Set(['tensor', 'pipeline', 'data', 'context', 'zeroStage'] as const);
    assert.equal([...candidateGroups({ request, fixed })].length > 0, true);
    const tooMany = await scripted(32, `${sizes} ${instances(16)}`);
    assert.throws(() => makePlan(tooMany), { code: 'plan-replicate-groups' });
    const ofFsdp = { ...request, training: { ...request.training, runtime: 'torchtitan', zeroStage: 3 } as const };
    assert.throws(() => makePlan(ofFsdp), { code: 'plan-replicate-groups' });
  });

  it('divide the ranks of Megatron-LM that hold the same experts', async () => {
    const sizes = '--global-batch-size 24 --num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 8';
    const request = await scripted(24, `${sizes} ${instances(2)}`);
    assert.throws(() => makePlan(request), { code: 'plan-replicate-groups', message: /3 replicas of the experts/ });
    assert.ok(makePlan(await scripted(24, `${sizes} ${instances(3)}`)));
  });

  it('are none without ZeRO, whatever the files and a search say', async () => {
    assert.equal((await resolved({ dataReplicate: 4, zeroStage: 0 })).training.dataReplicate, undefined);
    const found = [...candidateGroups({ request: await resolved({ dataReplicate: 4 }, 'megatron'), fixed: new Set(['data'] as const) })];
    const without = found.filter(({ training }) => training.zeroStage === 0);
    assert.ok(without.length > 0);
    assert.deepEqual([...new Set(without.map(({ training }) => training.dataReplicate))], [1]);
  });
});

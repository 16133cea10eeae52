import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { recogniseConfig } from '../../../../src/core/config-files/readers';
import { readMegatronSwiftYaml } from '../../../../src/core/launchers/megatron-swift/swift-yaml';
import { swiftProcesses } from '../../../../src/core/launchers/megatron-swift/environment';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { PlanRequest } from '../../../../src/core/domain/request';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { say } from '../../../../src/core/sentence';
import { load, readerOf } from '../config-files/files';
import { shellReader } from './shell/shell-reader';

const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers', name), 'utf8');
const script = fixture('megatron-swift.sh');
const yaml = fixture('megatron-swift.yaml');
const open = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

let shell: LauncherReader;

async function request(text: string): Promise<PlanRequest> {
  const { run } = await loadConfig('run.sh', text, { read: readerOf({}), shell: () => Promise.resolve(shell) });
  assert.ok(run !== null);
  return resolveRun(run, open);
}

describe("ms-swift's Megatron", () => {
  before(async () => {
    shell = await shellReader();
  });

  it('is planned by its arguments, with switches that have a truth, on the processes of the environment', async () => {
    const { model, layout, training, cluster } = await request(script);
    assert.deepEqual([model.layers, layout.pipeline, layout.expert, layout.data, layout.stageLayers], [27, 2, 4, 4, [14, 13]]);
    assert.deepEqual([cluster.nodes, cluster.gpusPerNode, training.globalBatch, training.sequenceLength], [1, 8, 16, 8192]);
    assert.deepEqual([training.recompute, training.fusedCrossEntropy, training.zeroStage], ['full', true, 1]);
  });

  // swift/megatron/arguments/megatron_args.py 480 to 620
  it('recomputes attention, fuses the loss and shards the optimizer where nothing is set', async () => {
    const bare = script.replace(/ {4}--(?:recompute|cross_entropy|global_batch|micro_batch)\w+ \w+ \\\n/g, '');
    const { training } = await request(bare);
    assert.deepEqual([training.globalBatch, training.microBatch, training.fusedCrossEntropy, training.zeroStage], [16, 1, true, 1]);
    assert.notEqual(training.recompute, 'none');
    const { training: off } = await request(script.replace('loss_fusion true', 'loss_fusion false'));
    assert.equal(off.fusedCrossEntropy, false);
  });

  // examples/megatron/lora/mtp.sh and examples/models/qwen3_vl/mcore_full.sh
  it('has heads of their own size and experts without tensor parallelism', async () => {
    const glm = script.replace('moonshotai/Moonlight-16B-A3B-Instruct', 'ZhipuAI/GLM-4.5-Air').replace('--pipeline_model_parallel_size 2', '--tensor_model_parallel_size 2').replace('--decoder_last_pipeline_num_layers 13', '--lr 1e-5').replace('--expert_model_parallel_size 4', '--expert_model_parallel_size 8'); // prettier-ignore
    const { run, findings } = await loadConfig('run.sh', glm, { read: readerOf({}), shell: () => Promise.resolve(shell) });
    assert.deepEqual([run?.model.headDim.value, run?.layout.expertTensor?.value], [128, 1]);
    assert.deepEqual(findings.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
  });

  it('under Ray trains on the GPUs of its section, next to a rollout', async () => {
    const read = readMegatronSwiftYaml('grpo.yaml', yaml);
    assert.deepEqual([read.facts.tensor?.value, read.facts.world?.value, read.adapters?.rank?.value], [2, 4, 8]);
    assert.match(say(read.remarks.find(({ code }) => code === 'policy-alone')?.message ?? ''), /rollout \(4 GPUs, 40 % of their memory\), reference$/); // prettier-ignore
    const { layout, training } = resolveRun(await load({ 'grpo.yaml': yaml }), { ...open, nodes: 1, gpusPerNode: 4 });
    assert.deepEqual([layout.tensor, layout.data, training.sequenceLength], [2, 2, 4096]);
  });

  it('counts processes by the environment', () => {
    const sizes = (text: string): unknown[] => {
      const { gpusPerNode, nodes } = swiftProcesses({ file: 'a.sh', text });
      return [gpusPerNode?.value, nodes?.value];
    };
    assert.deepEqual(sizes('NNODES=2 \\\nNPROC_PER_NODE=8 \\\nswift sft'), [8, 2]);
    assert.deepEqual(sizes('nproc_per_node=4\nNPROC_PER_NODE=$nproc_per_node swift sft'), [4, 1]);
    assert.deepEqual(sizes('CUDA_VISIBLE_DEVICES=0 swift sft\n# NPROC_PER_NODE=4 swift infer'), [1, 1]);
    assert.deepEqual(sizes('swift sft'), [undefined, undefined]);
    const chain = Array.from({ length: 18_000 }, (_, index) => `V${index + 1}=$V${index}`).join('\n');
    assert.deepEqual(sizes(`V0=8\n${chain}\nNPROC_PER_NODE=$V18000 swift sft`), [undefined, undefined]);
    assert.deepEqual(sizes(`V0=8\n${chain.split('\n').slice(0, 5).join('\n')}\nNPROC_PER_NODE=$V5 swift sft`), [8, 1]);
  });

  // examples/train/sequence_parallel/sequence_parallel.sh
  it('shares each sequence between the ranks of --sequence_parallel_size', async () => {
    const script = 'NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-3B-Instruct --tuner_type lora --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --max_length 65536 --sequence_parallel_size 8\n'; // prettier-ignore
    const { run } = await loadConfig('a.sh', script, { read: readerOf({}), shell: () => Promise.resolve(shell) });
    assert.ok(run !== null);
    const { layout, training } = resolveRun(run, open);
    assert.deepEqual([layout.context, layout.data, training.globalBatch, training.microBatch], [8, 1, 32, 4]);
    const exchange = async (text: string): Promise<unknown> =>
      (await loadConfig('a.sh', text, { read: readerOf({}), shell: () => Promise.resolve(shell) })).run?.training.contextParallelComm
        ?.value;
    const facts = async (ranks: number): Promise<unknown[]> => {
      const text = script.replace('size 8', `size ${ranks}`);
      const { launcher } = await loadConfig('a.sh', text, { read: readerOf({}), shell: () => Promise.resolve(shell) });
      return [launcher?.facts.contextCommunication?.value, launcher?.facts.contextLevels?.value, await exchange(text)];
    };
    // 2 key/value heads: Ulysses between two ranks, a ring of the groups
    assert.deepEqual(await facts(2), ['ulysses', undefined, 'all-to-all']);
    assert.deepEqual(await facts(8), ['a2a+p2p', [2, 4], 'all-to-all']);
    assert.deepEqual(await facts(3), ['p2p', undefined, 'ring']);
    const why = async (ranks: number): Promise<string> => {
      const text = script.replace('size 8', `size ${ranks}`);
      const { launcher } = await loadConfig('a.sh', text, { read: readerOf({}), shell: () => Promise.resolve(shell) });
      const source = launcher?.facts.contextCommunication?.source;
      return source?.kind === 'default' ? say(source.reason) : '';
    };
    assert.equal(await why(2), 'ms-swift uses Ulysses where the size divides the 2 key/value heads');
    assert.equal(await why(8), 'ms-swift uses Ulysses in groups of 2, which divides the 2 key/value heads, and a ring of 4 groups');
    assert.equal(await why(3), 'ms-swift uses a ring: the size and 2 key/value heads have no common divisor');
  });

  it('counts them by ENV of a YAML', () => {
    const sizes = (env: string): unknown[] => {
      const { facts, remarks } = readMegatronSwiftYaml('a.yaml', `${env}model: Qwen/Qwen3-8B\n`);
      return [facts.gpusPerNode?.value, facts.nodes?.value, remarks.length];
    };
    assert.deepEqual(sizes("ENV:\n  NPROC_PER_NODE: 4\n  NNODES: '2'\n"), [4, 2, 0]);
    assert.deepEqual(sizes("ENV:\n  NPROC_PER_NODE: '8'\n"), [8, 1, 0]);
    assert.deepEqual(sizes(''), [undefined, undefined, 0]);
  });

  it('is known without a batch, and its name is not the model', async () => {
    const streaming = 'CUDA_VISIBLE_DEVICES=0 \\\nswift sft \\\n    --model Qwen/Qwen2.5-7B-Instruct \\\n    --tuner_type lora \\\n    --gradient_accumulation_steps 16 \\\n    --model_name swift-robot\n'; // prettier-ignore
    assert.equal(recogniseConfig('streaming.sh', streaming), 'trainer-shell');
    const { model, cluster } = await request(streaming);
    assert.deepEqual([model.layers, cluster.nodes * cluster.gpusPerNode], [28, 1]);
  });
});

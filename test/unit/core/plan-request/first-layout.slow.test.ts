import assert from 'node:assert/strict';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import type { Run } from '../../../../src/core/run/run';
import { ExpectedError } from '../../../../src/core/errors';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { assumedGpuName } from '../../../../src/core/plan-request/scenario';
import { runFindings } from '../../../../src/core/rules/run-findings';
import {
  fewestNodes,
  leastSecondLooks,
  mostAssumedNodes,
  mostEstimates,
  mostEvaluations,
} from '../../../../src/core/plan-request/first-layout';
import { batchFallback } from '../../../../src/core/plan-request/assumed-batch';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { measure, type Prediction } from '../../../../src/core/planner/predict/predict';
import type { Layout, PlanRequest } from '../../../../src/core/domain/request';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { memoryVerdict } from '../../../../src/core/memory-model/verdict';
import { sentence } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const defaults = { gpu: assumedGpuName, nodes: null, gpusPerNode: null };

const llama = (hidden: number, layers: number, heads: number, ffn: number): object => ({
  model_type: 'llama',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: 8,
  intermediate_size: ffn,
  vocab_size: 128_256,
  max_position_embeddings: 8192,
});
const qwenMoe = (hidden: number, layers: number, heads: number, expertFfn: number): object => ({
  model_type: 'qwen3_moe',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: 4,
  head_dim: 128,
  intermediate_size: 3 * hidden,
  moe_intermediate_size: expertFfn,
  num_experts: 128,
  num_experts_per_tok: 8,
  decoder_sparse_step: 1,
  vocab_size: 151_936,
  max_position_embeddings: 40_960,
});
const neox = (hidden: number, layers: number): object => ({
  model_type: 'gpt_neox',
  hidden_size: hidden,
  num_hidden_layers: layers,
  num_attention_heads: 64,
  intermediate_size: 4 * hidden,
  vocab_size: 50_432,
  max_position_embeddings: 2048,
});
const deepSeekV3 = {
  model_type: 'deepseek_v3',
  hidden_size: 7168,
  num_hidden_layers: 61,
  num_attention_heads: 128,
  num_key_value_heads: 128,
  intermediate_size: 18_432,
  moe_intermediate_size: 2048,
  n_routed_experts: 256,
  num_experts_per_tok: 8,
  n_shared_experts: 1,
  first_k_dense_replace: 3,
  moe_layer_freq: 1,
  kv_lora_rank: 512,
  q_lora_rank: 1536,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  num_nextn_predict_layers: 1,
  n_group: 8,
  topk_group: 4,
  vocab_size: 129_280,
  max_position_embeddings: 163_840,
};
const mixtral = {
  model_type: 'mixtral',
  hidden_size: 4096,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  intermediate_size: 14_336,
  num_local_experts: 8,
  num_experts_per_tok: 2,
  vocab_size: 32_000,
  max_position_embeddings: 32_768,
};
const mamba = {
  model_type: 'mamba',
  hidden_size: 2560,
  num_hidden_layers: 64,
  state_size: 16,
  expand: 2,
  conv_kernel: 4,
  time_step_rank: 160,
  vocab_size: 50_280,
};

/** The layout with the least model parallelism that fits with room on those nodes, and how many looks at memory it takes to find it. */
interface LeastParallel {
  readonly layout: Readonly<Partial<Layout>>;
  readonly looks: number;
}
const least = (looks: number, tensor: number, pipeline: number, expert = 1): LeastParallel => ({
  layout: { tensor, pipeline, expert },
  looks,
});

/** Models, the most nodes of 8 H100 that each may be given, and what a choice only by memory gives them. */
const models: Readonly<Record<string, readonly [config: object, mostNodes: number, least: LeastParallel]>> = {
  'GPT-2': [{ model_type: 'gpt2', n_embd: 768, n_layer: 12, n_head: 12, n_positions: 1024, vocab_size: 50_257 }, 1, least(1, 1, 1)],
  'Llama-3 8B': [llama(4096, 32, 32, 14_336), 1, least(2, 1, 2)],
  'Llama-3 70B': [llama(8192, 80, 64, 28_672), 4, least(3, 8, 2)],
  'Llama-3 405B': [llama(16_384, 126, 128, 53_248), 32, least(4, 8, 16)],
  'Qwen3 30B-A3B': [qwenMoe(2048, 48, 32, 768), 2, least(8, 1, 1, 16)],
  'Qwen3 235B-A22B': [qwenMoe(4096, 94, 64, 1536), 16, least(8, 8, 2, 8)],
  'DeepSeek-V3': [deepSeekV3, 64, least(19, 8, 2, 32)],
  'GPT-3 175B': [
    { model_type: 'gpt2', n_embd: 12_288, n_layer: 96, n_head: 96, n_positions: 2048, vocab_size: 50_257 },
    8,
    least(4, 4, 16),
  ],
  'GPT-NeoX 20B': [neox(6144, 44), 1, least(2, 2, 2)],
  'GPT-NeoX 70B': [neox(8192, 80), 4, least(6, 4, 4)],
  'Mixtral 8x7B': [mixtral, 2, least(4, 2, 2, 4)],
  'T5 11B': [
    {
      model_type: 't5',
      d_model: 1024,
      d_ff: 65_536,
      d_kv: 128,
      num_layers: 24,
      num_decoder_layers: 24,
      num_heads: 128,
      vocab_size: 32_128,
    },
    1,
    least(1, 1, 2),
  ],
  'Mamba 2.8B': [mamba, 1, least(1, 1, 1)],
};

async function read(file: string, text: string): Promise<Run> {
  const { run } = await loadConfig(file, text, {
    read: () => Promise.reject(new ExpectedError('config-not-found', sentence`There is no such file`, sentence`create it`)),
    shell: () => Promise.reject(new Error('no shell')),
  });
  assert.ok(run);
  return run;
}

/** The run of a model that sets nothing else, and what is resolved for it: the same for several tests. */
async function resolved(config: object): Promise<{ readonly run: Run; readonly request: PlanRequest }> {
  const text = JSON.stringify(config);
  const known = resolvedModels.get(text);
  if (known !== undefined) return known;
  const run = await read('config.json', text);
  const fresh = { run, request: resolveRun(run, defaults) };
  resolvedModels.set(text, fresh);
  return fresh;
}

const resolvedModels = new Map<string, { readonly run: Run; readonly request: PlanRequest }>();

/** The step of a request under 1F1B, whole sequences. */
function oneForwardOneBackward(request: PlanRequest): Prediction {
  const { training, layout } = request;
  const scheme = Array.from({ length: training.globalBatch / layout.data / training.microBatch }, () => ({
    batch: training.microBatch,
    tokens: [training.sequenceLength],
  }));
  return measure(buildPipeline(request), { id: '1f1b', name: '1F1B', kind: scheduleOn('1F1B', layout), scheme, certificate: null });
}

describe('a model without a layout', () => {
  for (const [name, [config, mostNodes]] of Object.entries(models))
    it(`gets one that fits: ${name}`, async () => {
      const { run, request } = await resolved(config);
      assert.ok(request.cluster.nodes <= mostNodes, `${request.cluster.nodes} nodes`);
      // Coarse slices: what fits is one of whole sequences, too.
      const plan = makePlan({ ...request, slicing: { unit: 1024, scheme: null } });
      assert.ok(memoryVerdict(chosenCandidate(plan).memory).fits);
      const { tensor, pipeline, data, context } = request.layout;
      assert.equal(tensor * pipeline * data * context, request.cluster.nodes * request.cluster.gpusPerNode);
      for (const key of ['cluster.gpu', 'cluster.nodes', 'layout.tensor', 'layout.pipeline', 'layout.data'])
        assert.ok(
          request.assumptions.some((assumption) => assumption.key === key),
          `${key} is among the assumptions`,
        );
      if (request.model.experts !== null) assert.ok(request.assumptions.some(({ key }) => key === 'layout.expert'));
      assert.deepEqual(
        runFindings(run, plan).map(({ code }) => code),
        [],
        'the file is not blamed for what is assumed',
      );
    });

  for (const [name, [config, , { layout, looks }]] of Object.entries(models))
    it(`is not slower for it than one chosen only by memory, and takes few more looks: ${name}`, async () => {
      const { run, request } = await resolved(config);
      const { model, cluster, training } = request;
      const data = (cluster.nodes * cluster.gpusPerNode) / (layout.tensor ?? 1) / (layout.pipeline ?? 1);
      const sizes = { ...layout, data, context: 1, virtualStages: 1 } as Layout;
      const byMemory: PlanRequest = {
        ...request,
        layout: sizes,
        training: { ...training, sequenceParallel: sizes.tensor > 1, globalBatch: batchFallback({}, training, sizes, undefined).value },
      };
      const [fastest, first] = [oneForwardOneBackward(request), oneForwardOneBackward(byMemory)];
      assert.ok(fastest.fits && first.fits);
      assert.ok(fastest.mfu >= first.mfu, `MFU ${fastest.mfu}, only by memory ${first.mfu}`);
      const found = fewestNodes(run, { draft: training, model }, { ...cluster, nodes: 1 });
      assert.ok(found !== null && found.nodes === cluster.nodes && found.hasRoom);
      assert.ok(found.evaluations <= Math.max(2 * looks, looks + leastSecondLooks), `${found.evaluations} looks, only by memory ${looks}`);
      assert.ok(found.estimates <= mostEstimates, String(found.estimates));
    });

  it('is half as fast again where the least model parallelism is slow, with experts whole on a GPU', async () => {
    for (const [config, mfu] of [
      [deepSeekV3, 0.13],
      [qwenMoe(4096, 94, 64, 1536), 0.13],
      [llama(8192, 80, 64, 28_672), 0.33],
    ] as const) {
      const { request } = await resolved(config);
      const { layout, model, assumptions } = request;
      assert.ok(oneForwardOneBackward(request).mfu > mfu);
      assert.ok(layout.pipeline <= 16 && layout.tensor <= 8);
      const reason = (key: string): string => toText(assumptions.find((assumption) => assumption.key === key)?.reason);
      assert.match(reason('layout.tensor'), /^by a quick estimate the fastest that fits .*; search layouts for a better one$/);
      assert.equal(layout.expertTensor, model.experts === null ? undefined : 1);
      assert.equal(reason('layout.expertTensor') !== '', model.experts !== null);
    }
  });

  it('leaves sizes that a file gives as they are', async () => {
    const model = { layers: 48, hidden: 2048, heads: 32, ffn: 768, vocab: 151_936, experts: 128, activeExperts: 8 };
    for (const given of [{ tensor: 8, expertTensor: 8 }, { pipeline: 4 }, { tensor: 4, expert: 8 }] as const) {
      const text = JSON.stringify({ model, layout: given, training: { sequenceLength: 4096 }, cluster: { nodes: 8 } });
      const { layout } = resolveRun(await read('terapipe.json', text), defaults);
      assert.deepEqual({ ...layout, ...given }, layout);
    }
  });

  it('leaves no stage of DeepSpeed without a layer where it can', async () => {
    const run = await read('config.json', JSON.stringify(llama(4096, 32, 32, 14_336)));
    const sizesUnder = (runtime: 'megatron' | 'deepspeed'): string => {
      const layout = { data: { value: 1, source: { kind: 'override' } } } as const;
      const { tensor, pipeline } = resolveRun({ ...run, layout }, { gpu: 'H100-80GB', nodes: 3, gpusPerNode: 8, runtime }).layout;
      return `TP${tensor} PP${pipeline}`;
    };
    assert.deepEqual([sizesUnder('megatron'), sizesUnder('deepspeed')], ['TP2 PP12', 'TP4 PP6']);
  });

  it('takes a bounded number of looks at memory, and the same each time', async () => {
    for (const config of [deepSeekV3, llama(16_384, 126, 128, 53_248)]) {
      const { run, request } = await resolved(config);
      const { model, cluster, training } = request;
      const draft = training;
      const found = fewestNodes(run, { draft, model }, { ...cluster, nodes: 1 });
      const again = fewestNodes(run, { draft, model }, { ...cluster, nodes: 1 });
      assert.deepEqual(found, again);
      assert.ok(found?.hasRoom === true);
      assert.ok(found.evaluations > 0 && found.evaluations <= mostEvaluations * (Math.log2(found.nodes) + 2), String(found.evaluations));
      assert.ok(found.evaluations < 60, `${found.evaluations} of at most ${mostEvaluations * (Math.log2(mostAssumedNodes) + 1)}`);
    }
  });

  it('reports that nothing fits where nothing does, on as few nodes as come as close', async () => {
    const run = await read('config.json', JSON.stringify(llama(65_536, 4, 512, 1_048_576)));
    const { cluster, assumptions } = resolveRun(run, { ...defaults, gpu: 'V100-16GB' });
    assert.ok(cluster.nodes <= mostAssumedNodes);
    assert.match(
      toText(assumptions.find(({ key }) => key === 'cluster.nodes')?.reason),
      /does not fit on up to 256 nodes; this size comes closest/,
    );
  });
});

describe('a launcher without a cluster', () => {
  const neoxFile = (...more: readonly string[]): string =>
    [
      '"num_layers": 80',
      '"hidden_size": 8192',
      '"num_attention_heads": 64',
      '"seq_length": 2048',
      '"max_position_embeddings": 2048',
      '"pos_emb": "rotary"',
      '"rotary_pct": 0.25',
      '"gpt_j_residual": true',
      '"no_weight_tying": true',
      '"norm": "layernorm"',
      '"zero_optimization": {"stage": 1}',
      '"fp16": {"enabled": true}',
      '"pipe_parallel_size": 8',
      '"model_parallel_size": 4',
      ...more,
    ].join('\n');

  for (const [name, more] of [
    ['a batch left out', []],
    ['a batch', ['"train_batch_size": 36']],
    ['a micro-batch', ['"train_micro_batch_size_per_gpu": 4']],
  ] as const)
    it(`is planned on GPUs that its batch divides over: GPT-NeoX 70B with ${name}`, async () => {
      const run = await read('70b.yml', neoxFile(...more));
      const request = resolveRun(run, defaults);
      const { layout, training, cluster } = request;
      const sizes = `${cluster.nodes} nodes, ${JSON.stringify(layout)}, batch ${training.globalBatch}`;
      assert.equal(training.globalBatch % (layout.data * training.microBatch), 0, sizes);
      assert.equal(80 % layout.pipeline, 0, 'stages as equal as those of the least model parallelism');
      const chosen = chosenCandidate(makePlan({ ...request, slicing: { unit: 512, scheme: null } }));
      assert.ok(chosen.fits && cluster.nodes <= 8, sizes);
    });
});

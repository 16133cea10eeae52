import assert from 'node:assert/strict';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { ExpectedError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { sentence } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

function load(file: string, text: string): Promise<LoadedConfig> {
  const read = (_from: string, name: string): Promise<{ file: string; text: string }> =>
    Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(name)));
  return loadConfig(file, text, { read, shell: shellReader });
}

function errorsOf({ run, launcher, findings }: LoadedConfig): readonly string[] {
  const all = run === null || launcher !== null ? findings : runFindings(run, null);
  return all.filter(({ severity }) => severity === 'error').map(({ code }) => code);
}

const sizes = 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --num-layers-per-virtual-pipeline-stage 2'; // prettier-ignore

describe('a parallel size that only the environment of a launch sets', () => {
  it('is not taken for 1 by a rule, in a script', async () => {
    assert.deepEqual(errorsOf(await load('a.sh', `${sizes} --pipeline-model-parallel-size $PP\n`)), []);
    assert.deepEqual(errorsOf(await load('a.sh', `${sizes} --pipeline-model-parallel-size 1\n`)), ['vpp-needs-overlap-or-pp3']);
  });

  it('is only that of the flag which sets it, not of others that have its words', async () => {
    for (const flag of ['pipeline-model-parallel-layout', 'encoder-pipeline-model-parallel-size', 'target-pipeline-parallel-size'])
      assert.deepEqual(errorsOf(await load('a.sh', `${sizes} --${flag} $LAYOUT\n`)), ['vpp-needs-overlap-or-pp3'], flag);
    const batch = sizes.replace('--global-batch-size 64 --num-layers-per-virtual-pipeline-stage 2', '--global-batch-size 63');
    for (const flag of ['hierarchical-context-parallel-sizes', 'encoder-tensor-model-parallel-size', 'expert-tensor-parallel-size'])
      assert.deepEqual(errorsOf(await load('a.sh', `${batch} --${flag} $H\n`)), ['gbs-not-divisible'], flag);
    for (const flag of ['context-parallel-size', 'tensor-model-parallel-size'])
      assert.deepEqual(errorsOf(await load('a.sh', `${batch} --${flag} $H\n`)), [], flag);
  });

  it('is not taken for 1 by a rule, in a YAML of NeMo', async () => {
    const yaml = (pipeline: string): string =>
      `trainer:\n  devices: 8\nmodel:\n  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 64\n  encoder_seq_length: 4096\n  max_position_embeddings: 4096\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  pipeline_model_parallel_size: ${pipeline}\n  virtual_pipeline_model_parallel_size: \${oc.decode:\${oc.env:INTERLEAVED_PIPELINE,12}}\n`; // prettier-ignore
    assert.deepEqual(errorsOf(await load('custom.yaml', yaml('${oc.decode:${oc.env:PIPELINE_MODEL_PARALLEL}}'))), []);
    assert.ok(errorsOf(await load('custom.yaml', yaml('1'))).includes('vpp-needs-overlap-or-pp3'));
  });
});

describe("what a verl script sets in Megatron Core's TransformerConfig", () => {
  const script = (more: string): string =>
    `python3 -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen3-235B-A22B actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=8 actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 trainer.n_gpus_per_node=8 trainer.nnodes=8${more}\n`; // prettier-ignore
  const field = ' +actor_rollout_ref.actor.megatron.override_transformer_config.';

  it('counts the embedding and the loss as layers', async () => {
    assert.deepEqual(errorsOf(await load('run.sh', script(''))), ['pp-layers-not-divisible']);
    const counted = `${field}account_for_embedding_in_pipeline_split=True${field}account_for_loss_in_pipeline_split=True`;
    assert.deepEqual(errorsOf(await load('run.sh', script(counted))), []);
  });

  it('gives the layers of the first and the last stage, and what is recomputed', async () => {
    const ends = `${field}num_layers_in_first_pipeline_stage=11${field}num_layers_in_last_pipeline_stage=11${field}recompute_granularity=selective`;
    const { launcher } = await load('run.sh', script(ends));
    const { firstStageLayers, lastStageLayers, recomputeGranularity } = launcher?.facts ?? {};
    assert.deepEqual([firstStageLayers?.value, lastStageLayers?.value, recomputeGranularity?.value], [11, 11, 'selective']);
  });
});

describe('a variable that a script takes from its arguments', () => {
  it('has what the script sets where the argument is missing', async () => {
    const text = `while [[ $# -gt 0 ]]; do\n  case $1 in\n    --model) MODEL_PATH="$2"; shift 2;;\n    *) break;;\n  esac\ndone\nif [ -z "$MODEL_PATH" ]; then\n  MODEL_PATH="deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"\nfi\npython3 -m verl.trainer.main_ppo data.max_prompt_length=1024 data.max_response_length=1024 actor_rollout_ref.model.path=$MODEL_PATH actor_rollout_ref.actor.ppo_mini_batch_size=32 trainer.n_gpus_per_node=8 trainer.nnodes=1\n`; // prettier-ignore
    const { run } = await load('deepscaler.sh', text);
    assert.equal(run?.model.layers.value, 28);
  });
});

describe('judges of NeMo Gym', () => {
  const yaml = (judges: string): string =>
    `grpo:\n  num_prompts_per_step: 128\n  num_generations_per_prompt: 16\npolicy:\n  model_name: Qwen/Qwen3-8B\n  max_total_sequence_length: 4096\n  train_global_batch_size: 2048\n  train_micro_batch_size: 1\n  precision: bfloat16\n  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 4\n    pipeline_model_parallel_size: 1\n    context_parallel_size: 4\n  generation:\n    backend: vllm\n    colocated:\n      enabled: false\n      resources:\n        gpus_per_node: 8\n        num_nodes: 32\n${judges}cluster:\n  gpus_per_node: 8\n  num_nodes: 72\n`; // prettier-ignore

  it('have nodes of the cluster where the batch does not go into what generation leaves', async () => {
    const { launcher } = await load('rlhf.yaml', yaml('env:\n  nemo_gym:\n    num_gpu_nodes: 8\n'));
    assert.equal(launcher?.facts.nodes?.value, 32);
    assert.equal((await load('rlhf.yaml', yaml(''))).launcher?.facts.nodes?.value, 40);
  });
});

describe("slime's scripts", () => {
  const script = (sizes: string): string =>
    `MODEL_DIR=/root\n${sizes}\nCKPT_ARGS=(\n  --hf-checkpoint \${MODEL_DIR}/Qwen3-30B-A3B\n)\npython3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 \${MODEL_ARGS[@]} \${CKPT_ARGS[@]} --tensor-model-parallel-size 4 --expert-model-parallel-size 8 --seq-length 4096 --global-batch-size 256 --micro-batch-size 1\n`; // prettier-ignore

  it('have the sizes of the published model where the file of its arguments is not here, and no name of a model where it is', async () => {
    const bare = await load('run.sh', script('source "${SCRIPT_DIR}/models/qwen3-30B-A3B.sh"'));
    assert.deepEqual([bare.run?.model.layers.value, bare.launcher?.facts.flavor?.value], [48, '/root/Qwen3-30B-A3B']);
    const whole = await load('run.sh', script('MODEL_ARGS=(--num-layers 24 --hidden-size 1024 --num-attention-heads 16)'));
    assert.deepEqual([whole.run?.model.layers.value, whole.launcher?.facts.flavor], [24, undefined]);
  });
});

describe('targets of LoRA that a pattern of modules lists', () => {
  const targets = async (pattern: string): Promise<unknown> => {
    const yaml = `base_model: Qwen/Qwen2-VL-7B-Instruct\nadapter: lora\nlora_r: 32\nlora_target_modules: '${pattern}'\nsequence_len: 8192\nmicro_batch_size: 1\n`;
    return (await load('lora.yaml', yaml)).launcher?.adapters?.targets?.value;
  };

  it('are those modules of the language model that are in the parts it names', async () => {
    const layers = 'model.language_model.layers.[\\d]+.';
    const attention = ['q_proj', 'k_proj', 'v_proj', 'o_proj'];
    assert.deepEqual(await targets(`${layers}(mlp|self_attn).(up|down|q|o)_proj`), ['up_proj', 'down_proj', 'q_proj', 'o_proj']);
    assert.deepEqual(await targets(`${layers}(self_attn).(up|down|gate|q|k|v|o)_proj`), attention);
    assert.deepEqual(await targets('.*\\.(q_proj|k_proj|v_proj|o_proj)'), attention);
    assert.deepEqual(await targets('q_proj'), ['q_proj']);
  });

  it('are all that a part may have, fused and state modules and experts too', async () => {
    const fused = ['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj'];
    assert.deepEqual(await targets(`.*\\.(self_attn|mlp)\\.(${fused.join('|')})`), fused);
    assert.deepEqual(await targets(`.*\\.(self_attn)\\.(${fused.join('|')})`), ['qkv_proj', 'o_proj']);
    assert.deepEqual(await targets('.*(linear_attn|self_attn).(q_proj|in_proj_qkv)'), ['q_proj', 'in_proj_qkv']);
    assert.deepEqual(await targets('.*(block_sparse_moe).(w1|w2|w3)'), ['w1', 'w2', 'w3']);
  });
});

describe('the feed-forward width of a FlagScale YAML', () => {
  it('is rounded up to the multiple that it gives, as its patch of Megatron-LM does', async () => {
    const yaml = (more: string): string =>
      `system:\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 2\n  precision:\n    bf16: true\nmodel:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n  seq_length: 4096\n  max_position_embeddings: 4096\n  swiglu: true\n${more}  micro_batch_size: 8\n  global_batch_size: 1024\ndata:\n  data_path: /data\n`; // prettier-ignore
    const width = async (more: string): Promise<number | undefined> => (await load('1_8b.yaml', yaml(more))).run?.model.ffn.value;
    assert.equal(await width(''), 5440);
    assert.equal(await width('  multiple_of: 128\n'), 5504);
    assert.equal(await width('  multiple_of: 128\n  hidden_dim_multiplier: 2\n'), 11_008);
    assert.equal(await width('  multiple_of: 128\n  ffn_hidden_size: 5632\n'), 5632);
  });
});

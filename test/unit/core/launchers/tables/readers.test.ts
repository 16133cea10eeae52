import assert from 'node:assert/strict';
import type { Facts, LauncherFile } from '../../../../../src/core/run/facts';
import { recogniseYaml, yamlReaders } from './yaml-readers';
import { say, sentence } from '../../../../../src/core/sentence';
import { byDefault } from '../../../../../src/core/domain/located';

function read(text: string): LauncherFile {
  const format = recogniseYaml(text);
  assert.ok(format !== null, 'is recognised');
  return yamlReaders[format]('run.yaml', text);
}

/** Values of the facts that the file itself gives; each is at the place of its fact. */
function written(text: string): Readonly<Record<string, unknown>> {
  const { facts } = read(text);
  const given = Object.entries(facts).filter(([, { source }]) => source.kind === 'file');
  return Object.fromEntries(given.map(([name, { value }]) => [name, value]));
}

function pointed(text: string, facts: Facts, name: keyof Facts): string {
  const source = facts[name]?.source;
  assert.ok(source?.kind === 'file', name);
  return text.slice(source.place.range.start, source.place.range.end);
}

function remarksOf(text: string): readonly (readonly [code: string, pointed: string, message: string])[] {
  return read(text).remarks.map(({ code, place, message }) => [code, text.slice(place.range.start, place.range.end), say(message)]);
}

const arguments_ = `ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS:
  --num-layers: 12 # of 24
  --hidden-size: 512
  --num-attention-heads: 8
  --tensor-model-parallel-size: \${TP}
  --swiglu: true
  --sequence-parallel: false
  --recompute-modules: [core_attn, mlp]
  --window-size: (127,0)
  --data-path: \${DATA_PATH}/text
`;

describe('Megatron-LM YAML', () => {
  it('takes the keys of MODEL_ARGS as flags, and variables as placeholders', () => {
    const { facts, placeholders, remarks, place } = read(arguments_);
    assert.deepEqual(written(arguments_), {
      layers: 12,
      hidden: 512,
      heads: 8,
      activation: 'silu',
      gatedMlp: true,
      sequenceParallel: false,
      recomputeModules: ['core_attn', 'mlp'],
      slidingWindow: 128,
    });
    assert.deepEqual(placeholders, ['TP']);
    assert.deepEqual(remarks, []);
    assert.equal(arguments_.slice(place.range.start, place.range.end), '12');
    assert.equal(facts.layers?.name, '--num-layers');
    assert.equal(pointed(arguments_, facts, 'gatedMlp'), 'true');
    assert.equal(pointed(arguments_, facts, 'recomputeModules'), 'core_attn, mlp');
    assert.deepEqual(facts.pipeline, byDefault(1, sentence`Megatron-LM takes it when the flag is not given`));
    assert.equal(facts.kvHeads, undefined);
  });

  it('names which values the launcher will refuse', () => {
    const text = 'MODEL_ARGS:\n  --num-layers: twelve\n  --hidden-size: 1e308\n  --num-attention-heads: -8\n  --micro-batch-size: 2\n';
    assert.deepEqual(
      remarksOf(text).map(([, at]) => at),
      ['twelve', '1e308', '-8'],
    );
    assert.deepEqual(written(text), { microBatch: 2 });
    assert.ok(read(text).remarks.every(({ severity }) => severity === 'error'));
  });

  it('reads a file for --yaml-cfg, where a dense model keeps the keys of a mixture', () => {
    const text = `language_model:
  num_layers: 24
  hidden_size: 1024
  num_attention_heads: 16
  num_query_groups: null
  normalization: RMSNorm
  num_moe_experts: null
  moe_router_topk: 2
  add_bias_linear: False
model_parallel:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 4
  overlap_p2p_comm: False
  bf16: True
  fp16: False
micro_batch_size: 2
rampup_batch_size: [32, 32, 65324160]
untie_embeddings_and_output_weights: True
position_embedding_type: rope
`;
    assert.equal(recogniseYaml(text), 'megatron-yaml');
    assert.deepEqual(written(text), {
      layers: 24,
      hidden: 1024,
      heads: 16,
      norm: 'rmsnorm',
      bias: false,
      tensor: 2,
      pipeline: 4,
      overlapP2p: false,
      precision: 'bf16',
      microBatch: 2,
      batchSchedule: '32 32 65324160',
      tiedEmbeddings: false,
      positions: 'rotary',
    });
    assert.equal(read(text).facts.tensor?.name, 'model_parallel.tensor_model_parallel_size');
  });
});

const nemo = `trainer:
  num_nodes: 2
  devices: [0, 1, 2, 3]
  precision: bf16-mixed
exp_manager:
  name: \${data_dir}
model:
  micro_batch_size: 1
  tensor_model_parallel_size: 4
  encoder_seq_length: 2048
  max_position_embeddings: \${.encoder_seq_length}
  num_layers: 8
  hidden_size: 1024
  ffn_hidden_size: \${multiply:4,\${.hidden_size}} # 4h
  num_attention_heads: 16
  activation: fast-swiglu
  optim: { name: distributed_fused_adam }
  data: { seq_length: 1024 }
`;

describe('NeMo YAML', () => {
  it('resolves references and points at them', () => {
    const { facts } = read(nemo);
    assert.equal(facts.ffn?.value, 4096);
    assert.equal(pointed(nemo, facts, 'ffn'), '${multiply:4,${.hidden_size}}');
    assert.equal(facts.maxPositions?.value, 2048);
    assert.equal(facts.sequenceLength?.value, 2048);
    assert.deepEqual([facts.nodes?.value, facts.gpusPerNode?.value, facts.precision?.value], [2, 4, 'bf16']);
    assert.deepEqual([facts.optimizer?.value, facts.distributedOptimizer?.value], ['distributed_fused_adam', true]);
    assert.equal(facts.gatedMlp?.value, true);
  });

  it('takes any other optimizer as one that replicas do not shard', () => {
    const { facts } = read(nemo.replace('distributed_fused_adam', 'fused_adam'));
    assert.equal(facts.distributedOptimizer?.value, false);
  });

  it('marks what it fills in', () => {
    const { facts } = read(nemo);
    assert.deepEqual([facts.kvHeads?.value, facts.kvHeads?.source.kind], [16, 'default']);
    assert.deepEqual([facts.context?.value, facts.context?.source.kind], [1, 'default']);
    assert.deepEqual([facts.tensor?.value, facts.tensor?.source.kind], [4, 'file']);
  });

  it('leaves out what is unknown, and shows where a value goes in circles', () => {
    const open = nemo.replace('hidden_size: 1024', 'hidden_size: ${width}').replace('num_layers: 8', 'num_layers: ${.num_layers}');
    const { facts, placeholders } = read(open);
    assert.deepEqual([facts.hidden, facts.ffn, facts.layers], [undefined, undefined, undefined]);
    assert.deepEqual(placeholders, ['width']);
    assert.deepEqual(remarksOf(open), [['reference-cycle', '${.num_layers}', 'model.num_layers refers to itself']]);
  });

  it('names which values cannot be, with a fix for a number in quotes', () => {
    const bad = nemo.replace('num_layers: 8', 'num_layers: 0').replace('hidden_size: 1024', 'hidden_size: "1024"');
    assert.deepEqual(
      remarksOf(bad).map(([code, at]) => [code, at]),
      [
        ['config-out-of-range', '0'],
        ['config-wrong-type', '"1024"'],
      ],
    );
    const [fix] = read(bad).remarks.flatMap(({ fixes }) => fixes);
    assert.equal(fix?.edits[0]?.newText, '1024');
  });

  it('takes the two halves of T5, and block recompute of no layer for none', () => {
    const t5 = `trainer: { num_nodes: 1, devices: auto, precision: 16 }
model:
  tensor_model_parallel_size: 1
  seq_length: 512
  encoder:
    num_layers: 12
    hidden_size: 768
    activations_checkpoint_granularity: full
    activations_checkpoint_method: block
    activations_checkpoint_num_layers: 0
  decoder:
    num_layers: 6
  data:
    seq_length_dec: 128
`;
    const { facts } = read(t5);
    assert.deepEqual([facts.encoderLayers?.value, facts.decoderLayers?.value, facts.layers?.value], [12, 6, 12]);
    assert.deepEqual([facts.encoderSequenceLength?.value, facts.decoderSequenceLength?.value], [512, 128]);
    assert.deepEqual([facts.recomputeGranularity, facts.recomputeMethod, facts.recomputeLayers], [undefined, undefined, undefined]);
    assert.equal(facts.gpusPerNode, undefined);
    assert.equal(facts.precision?.value, 'fp16');
    const some = read(t5.replace('num_layers: 0', 'num_layers: 4')).facts;
    assert.deepEqual([some.recomputeGranularity?.value, some.recomputeLayers?.value], ['full', 4]);
  });

  it('knows a stage that converts or evaluates by its section run', () => {
    const model = 'trainer: { devices: 1 }\nmodel: { tensor_model_parallel_size: 1 }\n';
    const purposeOf = (run: string) => yamlReaders.nemo('nemo.yaml', `run: ${run}\n${model}`).purpose;
    assert.equal(purposeOf('{ convert_name: convert_ours }'), 'conversion');
    assert.equal(purposeOf('{ eval_name: ours }'), 'evaluation');
    assert.equal(purposeOf('{ convert_name: convert_nemo, convert_dir: there, task_name: squad }'), undefined);
  });

  it('is known by its batches where a checkpoint decides the rest', () => {
    assert.equal(
      recogniseYaml('trainer:\n  num_nodes: 8\nmodel:\n  mcore_gpt: True\n  micro_batch_size: 1\n  global_batch_size: 64\n'),
      'nemo',
    );
    assert.equal(recogniseYaml('trainer:\n  num_nodes: 8\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 64\n'), null);
  });

  it('believes use_flash_attention: false only without Transformer Engine', () => {
    const plain = nemo.replace('  data:', '  use_flash_attention: false\n  data:');
    assert.equal(read(plain).facts.attention?.value, 'unfused');
    assert.equal(read(plain.replace('  data:', '  transformer_engine: true\n  data:')).facts.attention, undefined);
    assert.equal(read(plain.replace('attention: false', 'attention: true')).facts.attention?.value, 'flash');
  });
});

const bridge = `model:
  _target_: megatron.bridge.models.llama.llama_provider.Llama32ModelProvider1B
  seq_length: 4096
  tensor_model_parallel_size: \${TP}
  pipeline_model_parallel_size: 2
  pipeline_model_parallel_layout:
    - [embedding, decoder, decoder]
    - [decoder, mtp, loss]
  moe_layer_freq: [0, 1, 1]
  num_moe_experts: 48
  moe_ffn_hidden_size: 512
  moe_shared_expert_intermediate_size: 1024
train:
  global_batch_size: 16
  micro_batch_size: 1
ddp:
  use_distributed_optimizer: true
mixed_precision: bf16_with_fp8_current_scaling_mixed
`;

describe('Megatron-Bridge YAML', () => {
  it('takes what the overrides set and fills in nothing', () => {
    assert.equal(recogniseYaml(bridge), 'megatron-bridge');
    assert.deepEqual(written(bridge), {
      flavor: 'Llama32ModelProvider1B',
      sequenceLength: 4096,
      pipeline: 2,
      pipelineLayout: 'Ett|tmL',
      moeLayerFrequency: '[0,1,1]',
      experts: 48,
      expertFfn: 512,
      sharedExpertFfn: 1024,
      sharedExperts: 2,
      globalBatch: 16,
      microBatch: 1,
      distributedOptimizer: true,
      precision: 'fp8',
      fp8Recipe: 'tensorwise',
      fp8ParamGather: true,
    });
    assert.equal(
      Object.values(read(bridge).facts).every(({ source }) => source.kind === 'file'),
      true,
    );
    assert.deepEqual(read(bridge).placeholders, ['TP']);
  });

  it('knows how FP8 is scaled by the name of the recipe', () => {
    const recipeOf = (line: string) => read(bridge.replace(/mixed_precision: .*/, line)).facts.fp8Recipe?.value;
    const named = (name: string) => recipeOf(`mixed_precision: ${name}`);
    assert.equal(named('bf16_with_mxfp8_mixed'), 'mxfp8');
    assert.equal(named('bf16_with_fp8_delayed_scaling_mixed'), 'delayed');
    assert.equal(named('bf16_with_fp8_subchannel_scaling_mixed'), 'blockwise');
    assert.equal(named('nanov2_bf16_with_fp8_current_scaling_mixed'), 'blockwise');
    assert.equal(named('bf16_mixed'), undefined);
    assert.equal(recipeOf('mixed_precision:\n  fp8: hybrid\n  fp8_recipe: mxfp8'), 'mxfp8');
    assert.equal(recipeOf('mixed_precision:\n  fp8: hybrid\n  fp8_recipe: custom'), undefined);
  });

  it('takes the gradients of its mixed precision, which are written over those of ddp', () => {
    const fp32 = (text: string) => read(text).facts.gradAccumulationFp32?.value;
    assert.equal(fp32(bridge.replace('ddp:', 'ddp:\n  grad_reduce_in_fp32: false')), undefined);
    assert.equal(fp32(bridge.replace(/mixed_precision: .*/, 'mixed_precision: fp16_mixed')), false);
    assert.equal(fp32(bridge.replace(/mixed_precision: .*/, 'mixed_precision:\n  bf16: true\n  grad_reduce_in_fp32: false')), false);
  });

  it('shows where the sizes are, unless they are in the file', () => {
    assert.deepEqual(
      remarksOf(bridge).map(([code, at]) => [code, at.split('.').at(-1)]),
      [['sizes-unknown', 'Llama32ModelProvider1B']],
    );
    const sized = bridge.replace('  seq_length', '  num_layers: 2\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length');
    assert.deepEqual(remarksOf(sized), []);
  });
});

const neox = `# Thirteen billion
{
  "pipe-parallel-size": 0,
  "model_parallel_size": 2,
  "num-layers": 40,
  "hidden-size": 5120,
  "num-attention-heads": 40,
  "no-weight-tying": true,
  "pos-emb": "rotary",
  "activation": "swiglu",
  "intermediate_size": 3000,
  "mlp_multiple_of": 256,
  "zero_optimization": { "stage": 1, "offload_optimizer": { "device": "none" } },
  "fp16": { "enabled": True, "type": "bfloat16" },
  "train_micro_batch_size_per_gpu": 4, # each
  "gradient_accumulation_steps": 32,
  "checkpoint-activations": false,
  "checkpoint-num-layers": 1,
  "attention-config": [[["flash"], 40]],
}
`;

describe('GPT-NeoX YAML', () => {
  it('takes keys in either spelling and values in JSON', () => {
    assert.equal(recogniseYaml(neox), 'gpt-neox');
    const { facts, remarks } = read(neox);
    assert.deepEqual(remarks, []);
    assert.deepEqual(written(neox), {
      layers: 40,
      hidden: 5120,
      heads: 40,
      tensor: 2,
      pipeline: 1,
      tiedEmbeddings: false,
      positions: 'rotary',
      gatedMlp: true,
      ffn: 1024,
      zeroStage: 1,
      precision: 'bf16',
      microBatch: 4,
      gradientAccumulation: 32,
      attention: 'flash',
    });
    assert.equal(facts.layers?.name, 'num-layers');
    const { start = 0, end = 0 } = facts.microBatch?.whole ?? {};
    assert.equal(neox.slice(start, end), '  "train_micro_batch_size_per_gpu": 4, # each\n');
  });

  it('leaves the width of the older gated feed-forward as it is', () => {
    const llama = neox.replace('"activation": "swiglu"', '"mlp_type": "llama"');
    assert.equal(read(llama).facts.ffn?.value, 3000);
  });

  it('refuses ZeRO stages that are none', () => {
    const bad = neox.replace('"stage": 1', '"stage": 4');
    assert.deepEqual(
      remarksOf(bad).map(([code, at]) => [code, at]),
      [['config-out-of-range', '4']],
    );
  });
});

describe('recognition of YAML', () => {
  const others = {
    compose: 'services:\n  model:\n    image: x\n    environment: { TENSOR: 1 }\n',
    workflow: 'name: CI\non: [push]\njobs:\n  train:\n    runs-on: ubuntu\n    steps:\n      - run: echo --tensor-model-parallel-size 8\n',
    lightning: 'trainer:\n  devices: 8\n  num_nodes: 1\nmodel:\n  hidden_size: 128\n  num_layers: 2\n',
    research: 'model:\n  hidden_size: 64\n  num_layers: 2\ntrain:\n  batch_size: 8\noptimizer:\n  lr: 0.1\ndataset:\n  seq_length: 5\n',
    speech: 'name: asr\ntrainer:\n  devices: -1\nexp_manager:\n  name: x\nmodel:\n  sample_rate: 16000\n  encoder:\n    d_model: 256\n',
    deepspeed: '{\n  "train_batch_size": 8,\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": {\n    "stage": 1\n  }\n}\n',
    huggingface: '{\n  "model_type": "gpt2",\n  "num_layers": 2,\n  "hidden_size": 2,\n  "num_attention_heads": 2\n}\n',
    nothing: '',
    prose: 'MODEL_ARGS: none\n--num-layers: 2\n',
  };

  for (const [name, text] of Object.entries(others)) it(`does not recognise: ${name}`, () => assert.equal(recogniseYaml(text), null));

  it('knows a broken launcher file all the same', () => {
    assert.equal(recogniseYaml(`${nemo}\n  broken: [1, 2\n\tx`), 'nemo');
    assert.equal(recogniseYaml(neox.replace('}\n', '')), 'gpt-neox');
    assert.equal(recogniseYaml(arguments_.replaceAll('\n', '\r\n')), 'megatron-yaml');
  });
});

import { byDefault } from '../../domain/located';
import { anyOf, knownWord, sizeUnlessOpen, torchDtypes, word } from '../tables/reads';
import { count, on, positiveNumber, type FlagRead } from '../../languages/reads';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { sentence, counted } from '../../sentence';
import { row, type FlagTable } from '../tables/table';
import type { Finding } from '../../findings';
import { baseLength } from './recognise';

/** The value of a setting by its name in base.yml. */
export type FindSetting = <T>(name: string, read: FlagRead<T>) => Fact<T> | undefined;

/** Switches that a script gives as `name=True`. */
const isOn: FlagRead<boolean> = { ...on(true), words: 'one' };

/** Settings of a run, by the names of base.yml. */
export const runTable: FlagTable = {
  flavor: [
    row(
      'model_name',
      anyOf((name) => (/^default$/i.test(name) || name === '' ? undefined : name)),
    ),
  ],
  sequenceLength: [row('max_target_length', count(1))],
  gradientAccumulation: [row('gradient_accumulation_steps', count(1))],
  precision: [
    row(
      'quantization',
      anyOf((name) => (name.includes('fp8') ? 'fp8' : undefined)),
    ),
    row('dtype', knownWord(torchDtypes)),
  ],
  masterWeightBytes: [row('weight_dtype', knownWord({ bfloat16: 0 }))],
  optimizer: [
    row(
      'opt_type',
      anyOf((name) => (name === 'adam_pax' ? 'adam' : name === '' ? undefined : name)),
    ),
  ],
  recomputeGranularity: [
    row(
      'remat_policy',
      anyOf((name) => (/^full$/.test(name) ? 'full' : name.startsWith('minimal') ? 'selective' : undefined)),
    ),
  ],
  attention: [row('attention', knownWord({ flash: 'flash', autoselected: 'flash', cudnn_flash_te: 'flash', dot_product: 'unfused' }))],
};

/** Sizes of a model before they are scaled. */
export const modelTable: FlagTable = {
  layers: [row('base_num_decoder_layers', count(1))],
  hidden: [row('base_emb_dim', count(1))],
  heads: [row('base_num_query_heads', count(1))],
  kvHeads: [row('base_num_kv_heads', count(1))],
  headDim: [row('head_dim', sizeUnlessOpen)],
  ffn: [row('base_mlp_dim', count(1))],
  vocab: [row('vocab_size', count(1))],
  tiedEmbeddings: [row('logits_via_embedding', isOn)],
  normEpsilon: [row('normalization_layer_epsilon', positiveNumber)],
  qkNorm: [row('use_qk_norm', isOn)],
  qkvBias: [row('attention_bias', isOn)],
  slidingWindow: [row('sliding_window_size', sizeUnlessOpen)],
  experts: [
    row(
      'num_experts',
      anyOf((text) => (/^[1-9]\d{0,4}$/.test(text) && text !== '1' ? Number(text) : undefined)),
    ),
  ],
  activeExperts: [row('num_experts_per_tok', count(1))],
  expertFfn: [row('base_moe_mlp_dim', sizeUnlessOpen)],
  sharedExperts: [row('shared_experts', sizeUnlessOpen)],
  firstDenseLayers: [row('first_num_dense_layers', sizeUnlessOpen)],
  maxPositions: [row('trainable_position_size', sizeUnlessOpen)],
  latentAttention: [row('attention_type', knownWord({ mla: true }))],
  qLoraRank: [row('q_lora_rank', sizeUnlessOpen)],
  kvLoraRank: [row('kv_lora_rank', sizeUnlessOpen)],
  qkNopeHeadDim: [row('qk_nope_head_dim', sizeUnlessOpen)],
  qkRopeHeadDim: [row('qk_rope_head_dim', sizeUnlessOpen)],
  vHeadDim: [row('v_head_dim', sizeUnlessOpen)],
  stateHeads: [row('gdn_num_value_heads', count(1))],
  stateHeadDim: [row('gdn_value_head_dim', count(1))],
  stateDim: [row('gdn_key_head_dim', count(1))],
  stateGroups: [row('gdn_num_key_heads', count(1))],
  stateConvolution: [row('gdn_conv_kernel_dim', count(1))],
  linearAttentionFrequency: [
    row(
      'inhomogeneous_layer_cycle_interval',
      anyOf((period) => (/^[1-9]\d{0,3}$/.test(period) ? period : undefined)),
    ),
  ],
};

/** Decoder blocks that are layers of attention and a feed-forward, each like the others except for windows and dense first ones. */
const plainBlocks: ReadonlySet<string> = new Set(
  'llama2 mistral mixtral gemma gemma2 gemma3 qwen2 qwen3 qwen3_moe gpt3 gpt_oss deepseek olmo3 qwen3_next qwen3_5 envy llama4'.split(' '),
);

/** Blocks of Gated DeltaNet, each n-th of which attends, with a gate (src/maxtext/models/qwen3.py, `Qwen3NextDecoderLayer`). */
const hybridBlocks: ReadonlySet<string> = new Set(['qwen3_next', 'qwen3_5']);

/** Facts of Gated DeltaNet, which blocks without it have in base.yml too. */
const ofState = ['stateHeads', 'stateHeadDim', 'stateDim', 'stateGroups', 'stateConvolution', 'linearAttentionFrequency'] as const;

/** Facts of latent attention, which blocks with the usual kind have in base.yml too. */
const latent = ['qLoraRank', 'kvLoraRank', 'qkNopeHeadDim', 'qkRopeHeadDim', 'vHeadDim'] as const;

/** Names of settings that are read one by one. */
export const otherNames: readonly string[] = [
  'decoder_block',
  'mlp_activations',
  'interleave_moe_layer_step',
  'chunk_attn_window_size',
  'nope_layer_interval',
  'temperature_tuning',
  'global_parameter_scale',
  'per_device_batch_size',
  'num_pipeline_microbatches',
  'num_layers_per_pipeline_stage',
  'num_pipeline_repeats',
  'pipeline_parallel_layers',
  'hardware',
  ...axes().flatMap(({ names }) => names),
];

interface Axis {
  readonly fact: 'tensor' | 'pipeline' | 'context' | 'expert';
  readonly names: readonly string[];
}

/** Mesh axes inside a slice (`ici`) and between slices (`dcn`), which multiply. */
function axes(): readonly Axis[] {
  const both = (...names: readonly string[]): string[] => names.flatMap((name) => [`ici_${name}_parallelism`, `dcn_${name}_parallelism`]);
  return [
    { fact: 'tensor', names: both('tensor', 'tensor_transpose', 'tensor_sequence') },
    { fact: 'pipeline', names: both('pipeline') },
    { fact: 'context', names: both('context', 'sequence', 'context_usp_ulysses') },
    { fact: 'expert', names: both('expert') },
  ];
}

/** What the settings mean together: sizes by the block and the scale, the mesh, and the batch of a replica. */
export function maxtextFacts(find: FindSetting, run: Facts, model: Facts): Pick<LauncherFile, 'facts' | 'leftOut' | 'remarks'> {
  const block = find('decoder_block', word)?.value.toLowerCase() ?? 'llama2';
  const isNamed = run.flavor !== undefined;
  const isPlain = plainBlocks.has(block);
  const sizes = !isPlain ? {} : isNamed ? model : { ...blockFacts(find, block), ...scaled(find, model) };
  const mesh = meshFacts(find);
  const facts = {
    ...layerByLayer(run),
    ...mesh,
    ...repeatFacts(find, mesh),
    ...batchFacts(find, mesh, run),
    ...withoutIdle(sizes, block),
    ...ownLength(run),
    ...run,
  };
  const leftOut = [
    ...(isPlain ? [] : [`decoder_block: ${block}`]),
    ...policyLeftOut(find),
    ...chunksLeftOut(facts),
    ...layersOutside(find, block, facts),
  ];
  return { facts, remarks: stageFindings(find, block, facts), ...(leftOut.length > 0 && { leftOut }) };
}

/** Two of MaxText's own models set the length of their sequences (src/maxtext/configs/models/gpt3-22b.yml and gpt3-6b.yml). */
function ownLength({ flavor }: Facts): Facts {
  const name = /^gpt3-(?:22b|6b)$/.exec(flavor?.value ?? '')?.[0];
  return name === undefined ? {} : { sequenceLength: byDefault(1024, sentence`MaxText's ${name}.yml has it`) };
}

const reason = sentence`MaxText's base.yml has it`;

/** What a block of its kind has, and base.yml where the file is silent. */
function blockFacts(find: FindSetting, block: string): Facts {
  const isGpt = block === 'gpt3';
  const why = sentence`MaxText's ${block} has it`;
  const activations = find('mlp_activations', { words: 'many', of: (words) => ({ value: words.flatMap((each) => each.split(/[\s,[\]"']+/)).filter((each) => each !== '').length }) })?.value; // prettier-ignore
  return {
    layers: byDefault(16, reason),
    hidden: byDefault(2048, reason),
    heads: byDefault(16, reason),
    kvHeads: byDefault(16, reason),
    ffn: byDefault(7168, reason),
    vocab: byDefault(32000, reason),
    headDim: byDefault(128, reason),
    tiedEmbeddings: byDefault(false, reason),
    gatedMlp: byDefault((activations ?? 2) > 1, sentence`by the number of mlp_activations`),
    norm: byDefault(isGpt ? 'layernorm' : 'rmsnorm', why),
    positions: byDefault(isGpt ? 'learned' : 'rotary', why),
    bias: byDefault(isGpt, why),
    ...(hybridBlocks.has(block) && { outputGate: byDefault(true, why), qkNorm: byDefault(true, why) }),
    ...((block === 'envy' || block === 'llama4') && everyNth(find)),
    ...(block === 'llama4' && llama4Facts(find)),
    ...((block === 'qwen2' || block === 'gpt_oss') && { qkvBias: byDefault(true, why) }),
  };
}

/**
 * Layers with experts: the last of each `interleave_moe_layer_step` (`EnvyScannableBlock` of src/maxtext/models/envy.py,
 * `determine_is_moe_layer` of models/llama4.py).
 */
function everyNth(find: FindSetting): Facts {
  const step = find('interleave_moe_layer_step', sizeUnlessOpen)?.value ?? 1;
  const layers = find('base_num_decoder_layers', count(1))?.value ?? 16;
  if (step === 1 || layers % step !== 0) return {};
  const why = sentence`interleave_moe_layer_step: the last layer of each ${step} has experts`;
  return { moeLayerFrequency: byDefault(`([0]*${step - 1}+[1])*${layers / step}`, why) };
}

/**
 * What else Llama 4 has: an L2 norm without weights after the rotary positions, layers without these, queries that grow with their
 * position, chunks, and a sigmoid router that scales what experts read (`Attention` of layers/attentions.py, `RoutedMoE` of layers/moe.py).
 */
function llama4Facts(find: FindSetting): Facts {
  const why = sentence`MaxText's llama4 has it`;
  const interval = find('nope_layer_interval', sizeUnlessOpen);
  const layers = find('base_num_decoder_layers', count(1))?.value ?? 16;
  const period = interval?.value ?? 0;
  const without = Array.from({ length: layers }, (_, layer) => layer).filter((layer) => period > 0 && (layer + 1) % period === 0);
  const chunk = find('chunk_attn_window_size', sizeUnlessOpen);
  return {
    ...(find('use_qk_norm', isOn)?.value === true && { qkL2Norm: byDefault(true, why) }),
    ...(interval && without.length > 0 && { noRopeLayers: { ...interval, value: without } }),
    ...(find('temperature_tuning', isOn)?.value === true && { attentionTemperature: byDefault(0.1, why) }),
    ...(chunk && { attentionChunk: chunk }),
    routerScore: byDefault('sigmoid', why),
    routerNormalised: byDefault(false, why),
    routerInputScaling: byDefault(true, why),
  };
}

/** `global_parameter_scale`, a power of 2: heads and feed-forward double first, then the width, then the layers. */
function scaled(find: FindSetting, model: Facts): Facts {
  const scale = find('global_parameter_scale', count(1))?.value ?? 1;
  const power = Math.log2(scale);
  if (!Number.isInteger(power) || power === 0) return model;
  const [cycles, rest] = [Math.floor(power / 3), power % 3];
  const heads = 2 ** (cycles + (rest > 0 ? 1 : 0));
  const width = 2 ** (cycles + (rest > 1 ? 1 : 0));
  const why = sentence`MaxText's base.yml, scaled by global_parameter_scale ${scale}`;
  const size = (given: number | undefined, base: number, factor: number): Fact<number> => byDefault((given ?? base) * factor, why);
  return {
    ...model,
    layers: size(model.layers?.value, 16, 2 ** cycles),
    hidden: size(model.hidden?.value, 2048, width),
    heads: size(model.heads?.value, 16, heads),
    kvHeads: size(model.kvHeads?.value, 16, heads),
    ffn: size(model.ffn?.value, 7168, heads),
    ...(model.expertFfn && { expertFfn: size(model.expertFfn.value, model.expertFfn.value, heads) }),
  };
}

function meshFacts(find: FindSetting): Facts {
  const size = (name: string): Fact<number> | undefined => find(name, sizeUnlessOpen);
  const found = axes().flatMap(({ fact, names }) => {
    const given = names.flatMap((name) => size(name) ?? []);
    const product = given.reduce((all, { value }) => all * value, 1);
    const [first] = given;
    return first === undefined
      ? []
      : [[fact, given.length === 1 ? first : byDefault(product, sentence`ici and dcn axes multiply`)] as const];
  });
  return Object.fromEntries(found);
}

/**
 * Its pipeline is circular: a stage has `num_layers_per_pipeline_stage` layers (1 unless set), and the stages repeat until all layers are
 * done.
 * Source: src/maxtext/configs/types.py, `num_pipeline_repeats`.
 */
function repeatFacts(find: FindSetting, { pipeline }: Facts): Facts {
  if (pipeline === undefined || pipeline.value === 1) return {};
  const repeats = find('num_pipeline_repeats', sizeUnlessOpen);
  if (repeats !== undefined) return { virtualStages: repeats };
  const layers = find('num_layers_per_pipeline_stage', count(1));
  return { layersPerVirtualStage: layers ?? byDefault(1, sentence`MaxText's base.yml has one layer in a stage, and repeats the stages`) };
}

/** Layers that every device of the pipeline computes, before or after it. */
function layersOutside(find: FindSetting, block: string, { pipeline, layers, firstDenseLayers }: Facts): readonly string[] {
  if (pipeline === undefined || pipeline.value === 1) return [];
  const inside = find('pipeline_parallel_layers', sizeUnlessOpen)?.value;
  if (inside !== undefined) return inside === layers?.value ? [] : [`pipeline_parallel_layers: ${inside}`];
  return block === 'deepseek' && firstDenseLayers !== undefined ? [`first_num_dense_layers: ${firstDenseLayers.value}`] : [];
}

/** Sequences of a replica: `per_device_batch_size` of each of its devices, in as many passes as the pipeline has micro-batches. */
function batchFacts(find: FindSetting, { tensor, pipeline, context }: Facts, { gradientAccumulation }: Facts): Facts {
  const each = find('per_device_batch_size', positiveNumber);
  const stages = pipeline?.value ?? 1;
  const devices = (tensor?.value ?? 1) * stages * (context?.value ?? 1);
  const perDevice = each?.value ?? 12;
  const pass = Math.max(1, Math.round(perDevice * devices));
  const passes = stages === 1 ? 1 : (find('num_pipeline_microbatches', sizeUnlessOpen)?.value ?? stages);
  const microBatch = pass % passes === 0 ? pass / passes : pass;
  const why = sentence`per_device_batch_size ${perDevice} on the ${devices} devices of a replica`;
  return { microBatch: byDefault(microBatch, why), localBatch: byDefault(pass * (gradientAccumulation?.value ?? 1), why) };
}

function layerByLayer({ recomputeGranularity }: Facts): Facts {
  if (recomputeGranularity !== undefined && recomputeGranularity.value !== 'full') return {};
  const why = sentence`MaxText recomputes layer by layer`;
  return { recomputeMethod: byDefault('uniform', why), recomputeLayers: byDefault(1, why) };
}

/** Longer sequences than a chunk, which three of four layers of Llama 4 attend inside, are planned as attention to all earlier tokens. */
function chunksLeftOut({ attentionChunk, sequenceLength }: Facts): readonly string[] {
  const tokens = sequenceLength?.value ?? baseLength;
  return attentionChunk === undefined || tokens <= attentionChunk.value ? [] : [`chunk_attn_window_size: ${attentionChunk.value}`];
}

function policyLeftOut(find: FindSetting): readonly string[] {
  const policy = find('remat_policy', word)?.value;
  return policy === undefined || /^(?:full|minimal\w*)$/.test(policy) ? [] : [`remat_policy: ${policy}`];
}

/** Without sizes of parts that the model has not. */
function withoutIdle(facts: Facts, block: string): Facts {
  const idle = new Set<string>([
    ...(hybridBlocks.has(block) ? [] : ofState),
    ...(facts.experts === undefined ? ['activeExperts', 'expertFfn', 'sharedExperts', 'firstDenseLayers'] : []),
    ...(facts.latentAttention === undefined ? latent : ['headDim']),
    ...(block === 'llama4' ? ['qkNorm'] : []),
  ]);
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !idle.has(name)));
}

/** The GPUs that its configs for them are for. */
export function namedGpu(find: FindSetting): Pick<LauncherFile, 'gpu'> {
  const isGpu = (find('hardware', word)?.value ?? '').startsWith('gpu');
  return isGpu ? { gpu: byDefault('H100-80GB', sentence`MaxText's configs with hardware: gpu are for A3`) } : {};
}

/**
 * @finding maxtext-stages
 * MaxText: "The number of layers per stage times the number of stages must divide the number of pipeline_parallel_layers", and with
 * `num_pipeline_repeats` the product of the three must be equal to it. It stops before it trains. Choose a number of stages
 * (`ici_pipeline_parallelism` times `dcn_pipeline_parallelism`) and `num_layers_per_pipeline_stage` that divide the layers; of DeepSeek's
 * block those with experts.
 * @example a model of 16 layers with `ici_pipeline_parallelism: 3`. "16 layers are not 3 stages of 1 layer, repeated"
 * @source AI-Hypercomputer/maxtext at e591f30c, src/maxtext/configs/types.py 3575 to 3604.
 * @ignore never: MaxText asserts it.
 */
function stageFindings(find: FindSetting, block: string, facts: Facts): readonly Finding[] {
  const { pipeline, layers, firstDenseLayers } = facts;
  if (pipeline === undefined || layers === undefined || pipeline.value === 1) return [];
  const dense = block === 'deepseek' ? (firstDenseLayers?.value ?? 0) : 0;
  const inside = find('pipeline_parallel_layers', sizeUnlessOpen)?.value ?? layers.value - dense;
  const each = find('num_layers_per_pipeline_stage', count(1))?.value ?? 1;
  const repeats = find('num_pipeline_repeats', sizeUnlessOpen)?.value;
  const product = pipeline.value * each;
  const fits = repeats === undefined ? inside % product === 0 : product * repeats === inside;
  const source = [pipeline.source, layers.source].find(({ kind }) => kind === 'file');
  if (fits || source?.kind !== 'file') return [];
  const stages = sentence`${counted(pipeline.value, 'stage')} of ${counted(each, 'layer')}`;
  return [
    {
      code: 'maxtext-stages',
      severity: 'error',
      place: source.place,
      message:
        repeats === undefined
          ? sentence`${counted(inside, 'layer')} are not ${stages}, repeated`
          : sentence`${counted(inside, 'layer')} are not ${stages}, ${repeats} times`,
      remedy: sentence`choose stages and num_layers_per_pipeline_stage whose product divides the layers`,
      fixes: [],
    },
  ];
}

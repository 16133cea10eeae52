import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import { byDefault } from '../../domain/located';
import { isFp32 } from '../deepspeed/settings';
import type { Facts, LauncherFile } from '../../run/facts';
import { choice, count, fixed, on, share, type FlagRead } from '../../languages/reads';
import { row, lenient, written, type Table, type NodeRead } from '../tables/table';
import { checkpointPath, leavesOut } from '../tables/checkpoint-facts';
import { neoxWithExpertSize } from './capabilities';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, phrase, word } from '../tables/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { entryAt, parseYaml, type YamlEntry, type YamlMap, type YamlNode } from '../../languages/yaml/document';
import { sentence } from '../../sentence';

const positions = { learned: 'learned', rotary: 'rotary', sinusoidal: 'none', rpe: 'none', alibi: 'none', none: 'none' } as const;
const norms = {
  layernorm: 'layernorm',
  non_parametric_layernorm: 'layernorm',
  te_layernorm: 'layernorm',
  rmsnorm: 'rmsnorm',
  te_rmsnorm: 'rmsnorm',
} as const;
const precisions = { fp16: 'fp16', fp32: 'fp32', bfloat16: 'bf16', bf16: 'bf16' } as const;

/** `[[["flash"], 32]]`: kinds of attention with how many layers repeat them. Only a model all of one kind has one. */
const attentionKinds: NodeRead<'flash' | 'unfused'> = {
  ofNode: (node) => {
    const kinds = new Set(wordsIn(node).filter((kind) => /^[a-z_]+$/.test(kind)));
    const [kind] = kinds;
    if (kinds.size !== 1 || (kind !== 'flash' && kind !== 'global')) return { silent: true };
    return { value: kind === 'flash' ? 'flash' : 'unfused' };
  },
};

/** Zero is none: no pipeline engine, and one rank of tensor parallelism. */
const oneOrMore: FlagRead<number> = {
  words: 'one',
  of: (words) => {
    const outcome = count(0).of(words);
    return 'value' in outcome ? { value: Math.max(1, outcome.value) } : outcome;
  },
};

/** -1 stands for all there are. */
const some: FlagRead<number> = { words: 'one', of: (words) => (/^-\d+$/.test(words[0] ?? '') ? { silent: true } : count(1).of(words)) };

const deviceName: FlagRead<string> = anyOf((name) => (name === 'none' ? undefined : name));

/** Names with underscores; a file may write dashes instead. */
export const neoxKeys: Table = {
  layers: [row('num_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_attention_heads', count(1))],
  kvHeads: [row('num_kv_heads', count(1))],
  vocab: [row('tokenizer_type', vocabOfType), row('vocab_file', vocabOfName)],
  vocabDivisor: [row('make_vocab_size_divisible_by', count(1))],
  tiedEmbeddings: [row('no_weight_tying', on(false))],
  maxPositions: [row('max_position_embeddings', count(1))],
  positions: [row('pos_emb', lenient(choice(positions)))],
  norm: [row('norm', lenient(choice(norms)))],
  bias: [row('use_bias_in_attn_linear', on(true))],
  gatedMlp: [
    row(
      'mlp_type',
      anyOf((kind) => (kind === 'llama' ? true : undefined)),
    ),
    row(
      'activation',
      anyOf((name) => /^(swiglu|geglu|reglu|bilinear|glu)$/.test(name)),
    ),
  ],
  hiddenDropout: [row('hidden_dropout', share)],
  attentionDropout: [row('attention_dropout', share)],
  slidingWindow: [row('sliding_window_width', count(1))],
  experts: [row('moe_num_experts', count(1)), row('num_experts', count(1))],
  activeExperts: [row('moe_top_k', count(1))],
  moeLayerFrequency: [row('expert_interval', phrase)],
  tensor: [row('model_parallel_size', oneOrMore)],
  pipeline: [row('pipe_parallel_size', oneOrMore)],
  context: [row('context_parallel_size', count(1))],
  expert: [row('moe_expert_parallel_size', count(1))],
  partitionMethod: [row('pipe_partition_method', phrase)],
  sequenceParallel: [row('sequence_parallel', on(true))],
  sequenceLength: [row('seq_length', count(1))],
  microBatch: [row('train_micro_batch_size_per_gpu', count(1)), row('batch_size', count(1))],
  globalBatch: [row('train_batch_size', count(1))],
  gradientAccumulation: [row('gradient_accumulation_steps', count(1)), row('gas', count(1))],
  precision: [
    row('bf16.enabled', fixed('bf16')),
    row('fp16.type', lenient(choice({ bfloat16: 'bf16' }))),
    row('fp16.enabled', fixed('fp16')),
    row('precision', lenient(choice(precisions))),
    row('fp16.fp16', fixed('fp16')),
  ],
  gradAccumulationFp32: [
    row(
      'data_types.grad_accum_dtype',
      anyOf((name) => isFp32(name)),
    ),
  ],
  optimizer: [row('optimizer.type', word)],
  zeroStage: [row('zero_optimization.stage', count(0, 3)), row('zero_stage', count(0, 3))],
  offloadOptimizer: [row('zero_optimization.offload_optimizer.device', deviceName), row('zero_optimization.cpu_offload', fixed('cpu'))],
  offloadParameters: [row('zero_optimization.offload_param.device', deviceName)],
  recomputeGranularity: [
    row(
      'checkpoint_activations',
      written(fixed('full'), (value) => value !== undefined),
    ),
  ],
  recomputeLayers: [row('checkpoint_num_layers', count(1))],
  cpuCheckpointing: [row('checkpoint_in_cpu', on(true))],
  loadCheckpoint: [row('load', checkpointPath)],
  checkpointFormat: [row('checkpoint.load_universal', fixed('universal'))],
  loadOptimizerState: [row('finetune', leavesOut), row('no_load_optim', leavesOut)],
  attention: [row('attention_config', attentionKinds)],
  nodes: [row('num_nodes', some)],
  gpusPerNode: [row('num_gpus', some)],
};

/**
 * What a GPT-NeoX YAML sets, in either spelling (`pipe-parallel-size`, `pipe_parallel_size`), JSON-like or not.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readGptNeox(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly, spelledEither(document.root));
  const given = reader.facts(neoxKeys);
  const { recomputeLayers, ...others } = given;
  const recompute = given.recomputeGranularity === undefined || recomputeLayers === undefined ? {} : { recomputeLayers };
  const defaults: Facts = {
    tensor: byDefault(1, sentence`GPT-NeoX default: model_parallel_size 1`),
    pipeline: byDefault(1, sentence`GPT-NeoX default: pipe_parallel_size 0, a single stage`),
  };
  const facts = { ...defaults, ...others, ...recompute, ...readFfnWidth(reader, given) };
  const read = launcherFile(document, 'gpt-neox', facts, reader);
  return given.expert === undefined ? read : { ...read, program: { name: 'GPT-NeoX', traits: {}, capabilities: neoxWithExpertSize } };
}

/** Finds root keys however they are spelled; the file's own spelling wins where it has both. */
function spelledEither(root: YamlMap): typeof entryAt {
  const bySpelling = new Map<string, YamlEntry>();
  for (const [name, entry] of root.entries) {
    const spelled = name.replaceAll('-', '_');
    if (spelled === name || !bySpelling.has(spelled)) bySpelling.set(spelled, entry);
  }
  return (map, path) => entryAt(map === root ? { ...root, entries: bySpelling } : map, path);
}

/**
 * Width of one matrix of the feed-forward (`ParallelMLP` of megatron/model/transformer.py): `intermediate_size`, a third of which is left
 * for each matrix of a gated activation, rounded up to `mlp_multiple_of`; the older LLaMA-like MLP takes it as it is.
 */
function readFfnWidth(reader: KeyReader, { gatedMlp }: Facts): Pick<Facts, 'ffn'> {
  const size = reader.one('intermediate_size', count(1)) ?? reader.one('feedforward_size', count(1));
  if (size === undefined) return {};
  if (gatedMlp?.value !== true || gatedMlp.name?.replaceAll('-', '_') === 'mlp_type') return { ffn: size };
  const multiple = reader.one('mlp_multiple_of', count(1))?.value ?? 1;
  return { ffn: { ...size, value: multiple * Math.ceil(Math.floor(Math.floor((size.value * 2) / 3) / 2) / multiple) } };
}

function wordsIn(node: YamlNode): readonly string[] {
  if (node.kind === 'scalar') return [node.text];
  return node.kind === 'list' ? node.items.flatMap(wordsIn) : [];
}

import type { GivenAdapters } from '../../run/adapters';
import type { Facts, LauncherFile } from '../../run/facts';
import { byDefault, type Located } from '../../domain/located';
import { choice, count, fixed, keep, names, on, positiveNumber, share } from '../../languages/reads';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { createResolver } from '../../languages/yaml/references';
import { own } from '../../records';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, devices, pathWord } from '../tables/reads';
import { joined, lenient, row, under, type Table } from '../tables/table';
import { vocabOfName } from '../tables/tokenizers';

/** Ranks of each kind (`distributed_strategy`). */
const layoutKeys: Table = {
  tensor: [row('tensor_model_parallel_size', count(1))],
  pipeline: [row('pipeline_model_parallel_size', count(1))],
  virtualStages: [row('virtual_pipeline_model_parallel_size', count(1))],
  context: [row('context_parallel_size', count(1))],
  expert: [row('expert_model_parallel_size', count(1))],
  sequenceParallel: [row('sequence_parallel', on(true))],
  distributedOptimizer: [row('zero1', on(true))],
};

/** Of a model that the file describes, and of one whose config.json it names and overrides (`model`). */
const modelKeys: Table = {
  layers: [row('num_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_attention_heads', count(1))],
  kvHeads: [row('num_kv_heads', count(1))],
  headDim: [row('kv_channels', count(1))],
  ffn: [row('ffn_hidden_size', count(1))],
  maxPositions: [row('max_position_embeddings', count(1))],
  vocabDivisor: [row('make_vocab_size_divisible_by', count(1))],
  gatedMlp: [
    row(
      'activation',
      anyOf((name) => /glu$/i.test(name)),
    ),
  ],
  norm: [row('normalization', lenient(choice({ rmsnorm: 'rmsnorm', layernorm: 'layernorm' })))],
  normEpsilon: [row('layernorm_epsilon', lenient(positiveNumber))],
  positions: [row('position_embedding_type', lenient(choice({ rope: 'rotary', learned_absolute: 'learned' })))],
  rotaryBase: [row('rope_theta', lenient(positiveNumber)), row('rotary_base', lenient(positiveNumber))],
  rotaryShare: [row('rotary_percentage', lenient(share))],
  bias: [row('has_bias', on(true))],
  tiedEmbeddings: [row('share_embeddings_and_output_weights', on(true))],
  hiddenDropout: [row('hidden_dropout', share)],
  attentionDropout: [row('attention_dropout', share)],
  experts: [row('moe.num_experts', count(1))],
  activeExperts: [row('moe.top_k', count(1))],
  moeLayerFrequency: [
    row(
      'moe.frequency',
      anyOf((period) => (/^\d{1,4}$/.test(period) ? period : undefined)),
    ),
  ],
  recomputeGranularity: [row('activations_checkpoint_granularity', keep(['full', 'selective', 'none']))],
  attention: [row('fusions.flash_attention', fixed('flash'))],
  // Adam with its states in fp32 (src/neuronx_distributed_training/optim/__init__.py 11)
  optimizer: [
    row(
      'optim.name',
      anyOf((name) => (/^adamw_fp32OptState$/i.test(name) ? 'adamw' : name)),
    ),
  ],
};

/** What it computes in: all of its kinds of mixed precision are bf16. */
const precision = lenient(
  choice({
    bf16sr: 'bf16',
    autocast: 'bf16',
    mixed_precision: 'bf16',
    mixed_precisionsr: 'bf16',
    fp32: 'fp32',
  }),
);

/** The model that checkpoints are called after: `hf_llama3.1_8B--{step}-{consumed_samples}`. */
const namedModel = anyOf((written) => /^hf_((?:llama|mistral|mixtral|qwen)[\d.]*_\d+b)(?:_|--|$)/i.exec(written)?.[1]);

/** The model whose tokenizer made the data: `wikicorpus_llama2_7B_tokenized_4k`. */
const tokenizedFor = anyOf((written) => /(?:^|[_/-])((?:llama|mistral|mixtral|qwen)[\d.]*_\d+b)_tokenized/i.exec(written)?.[1]);

const keys: Table = joined(
  {
    ...under(['distributed_strategy.'], layoutKeys),
    microBatch: [row('data.micro_batch_size', count(1))],
    globalBatch: [row('data.global_batch_size', count(1))],
    sequenceLength: [row('data.seq_length', count(1)), row('model.encoder_seq_length', count(1))],
    flavor: [row('exp_manager.checkpoint_callback_params.filename', namedModel), row('data.train_dir', tokenizedFor)],
    vocab: [row('data.tokenizer.type', vocabOfName)],
    precision: [row('precision.type', precision)],
    nodes: [row('trainer.num_nodes', count(1))],
    gpusPerNode: [row('trainer.devices', devices)],
  },
  under(['model.'], modelKeys),
);

/**
 * The YAML of NeuronX Distributed Training (examples/conf): sections of NeMo 1.x, and ranks in `distributed_strategy`.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readNxdt(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text);
  const reader = createKeyReader(document, createResolver(document.root));
  const { flavor: named, ...sizes } = reader.facts(keys);
  const flavor = named ?? mixtralBySizes(reader, sizes);
  const facts: Facts = sizes.heads === undefined && flavor !== undefined ? { ...sizes, flavor } : sizes;
  const model = reader.one('model.model_config', pathWord);
  const adapters = readLora(reader);
  return {
    ...launcherFile(document, 'nxdt', { ...silentFacts(document, facts), ...facts }, reader),
    modelFiles: model === undefined ? [] : [model],
    ...(adapters && { adapters }),
  };
}

/** Mixtral's sizes by the two that a file repeats of its config.json: layers and width. */
const mixtralSizes: Readonly<Record<string, string>> = { '32 4096': 'mixtral_8x7b', '56 6144': 'mixtral_8x22b' };

/** Which Mixtral a run called after it trains (`hf_mixtral`), whose config.json has the heads. */
function mixtralBySizes(reader: KeyReader, { layers, hidden }: Facts): Facts['flavor'] {
  const size = own(mixtralSizes, `${layers?.value ?? ''} ${hidden?.value ?? ''}`);
  const name = reader.one(
    'name',
    anyOf((written) => (/^hf_mixtral/i.test(written) ? written : undefined)),
  );
  return size === undefined || name === undefined ? undefined : { ...name, value: size };
}

/** What it takes where nothing is set, and what its own models have (`model_source: megatron`). */
function silentFacts({ root }: YamlDocument, { experts, recomputeGranularity }: Facts): Facts {
  const reason = sentence`NxDT takes it where nothing is set`;
  const source = root.entries.get('model_source')?.value;
  const isOwn = source?.kind === 'scalar' && source.text === 'megatron';
  return {
    context: byDefault(1, reason),
    expert: byDefault(1, reason),
    distributedOptimizer: byDefault(true, reason),
    ...(isOwn && { tiedEmbeddings: byDefault(false, reason), bias: byDefault(false, reason) }),
    ...(experts && { activeExperts: byDefault(2, reason) }),
    ...(recomputeGranularity?.value === 'full' && {
      recomputeMethod: byDefault('uniform', sentence`NxDT recomputes layer by layer`),
      recomputeLayers: byDefault(1, sentence`NxDT recomputes layer by layer`),
    }),
  };
}

/** Modules by the names of Megatron Core. */
const modules: Readonly<Record<string, string>> = {
  qkv_proj: 'linear_qkv',
  o_proj: 'linear_proj',
  gate_up_proj: 'linear_fc1',
  down_proj: 'linear_fc2',
};

const peft = 'model_alignment_strategy.peft';

function readLora(reader: KeyReader): GivenAdapters | undefined {
  const rank = reader.one(`${peft}.lora_rank`, count(1));
  if (rank?.source.kind !== 'file') return undefined;
  const targets = reader.one(`${peft}.target_modules`, names);
  const dropout = reader.one(`${peft}.lora_dropout`, share);
  const written: Located<readonly string[]> | undefined = targets && {
    value: targets.value.map((name) => own(modules, name) ?? name),
    source: targets.source,
  };
  const defaults = { rank: 16, targets: ['linear_qkv'], ofCore: true, reason: sentence`NxDT's default` };
  return { place: rank.source.place, name: 'peft', rank, ...(written && { targets: written }), ...(dropout && { dropout }), defaults };
}

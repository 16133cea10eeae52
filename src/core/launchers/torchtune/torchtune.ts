import { allLinear, type GivenAdapters } from '../../run/adapters';
import { byDefault, type Located } from '../../domain/located';
import type { Facts, LauncherFile } from '../../run/facts';
import { choice, count, fixed, names, on, share } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import { row, rows, lenient, under, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf } from '../tables/reads';
import { sentence } from '../../sentence';

/** The last part of a class path. */
const component = anyOf((written) => (written === '' ? undefined : written.split('.').at(-1)));

/** Fields of a builder that takes sizes (`torchtune.models.llama2.llama2`). */
const sizes: Table = {
  layers: [row('num_layers', count(1))],
  hidden: [row('embed_dim', count(1))],
  heads: [row('num_heads', count(1))],
  kvHeads: [row('num_kv_heads', count(1))],
  ffn: [row('intermediate_dim', count(1))],
  vocab: [row('vocab_size', count(1))],
  maxPositions: [row('max_seq_len', count(1))],
};

/** Keys of the recipes, and of `model`, `tokenizer` and `optimizer`. */
const keys: Table = {
  ...under(['model.', 'policy_model.'], sizes),
  flavor: rows(component, 'model._component_', 'policy_model._component_'),
  sequenceLength: [row('tokenizer.max_seq_len', lenient(count(1)))],
  microBatch: [row('batch_size', count(1))],
  gradientAccumulation: [row('gradient_accumulation_steps', count(1))],
  precision: [row('dtype', lenient(choice({ bf16: 'bf16', fp32: 'fp32', fp16: 'fp16' })))],
  recomputeGranularity: [
    row(
      'enable_activation_checkpointing',
      anyOf((written) => (/^true$/i.test(written) ? 'full' : /^false$/i.test(written) ? 'none' : undefined)),
    ),
  ],
  cpuCheckpointing: [row('enable_activation_offloading', on(true))],
  offloadOptimizer: [row('fsdp_cpu_offload', fixed('cpu'))],
  offloadParameters: [row('fsdp_cpu_offload', fixed('cpu'))],
  tensor: [row('tensor_parallel_dim', count(1))],
  context: [row('context_parallel_dim', count(1))],
  dataReplicate: [row('data_parallel_replicate_dim', count(1))],
  compile: [row('compile', on(true))],
  optimizer: [row('optimizer._component_', anyOf(optimizerOfClass))],
  fusedCrossEntropy: [
    row(
      'loss._component_',
      anyOf((written) => (/LinearCrossEntropy|Chunked/.test(written) ? true : undefined)),
    ),
  ],
};

/** Classes of optimizers by what Transformers calls them; others by their own name. */
function optimizerOfClass(path: string): string | undefined {
  const name = path.split('.').at(-1) ?? '';
  if (name === '') return undefined;
  if (/^PagedAdamW8bit$|^AdamW8bit$/i.test(name)) return path.startsWith('torchao') ? 'ao_adamw_8bit' : 'paged_adamw_8bit';
  if (/^AdamW4bit$/i.test(name)) return 'ao_adamw_4bit';
  if (/^AdamWFp8$/i.test(name)) return 'ao_adamw_fp8';
  return /^PagedAdamW(?:32bit)?$/i.test(name) ? 'paged_adamw' : name.toLowerCase();
}

const isTrue = on(true);

/**
 * A training recipe of torchtune: objects by `_component_`, a batch of each GPU, and what the distributed recipes read (`recipes/*.py`). A
 * recipe is PyTorch's FSDP2 over all GPUs; which one runs is up to `tune run`, of which a file only has the name.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readTorchtune(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const written = reader.facts(keys);
  const facts = { ...defaults(file, written), ...written };
  const leftOut = ['optimizer_in_bwd'].filter((name) => reader.one(name, on(true))?.value === true);
  const others = ['teacher_model', 'reward_and_value_model', 'quantizer'].filter(
    (name) => document.root.entries.get(name)?.value.kind === 'map',
  );
  const all = [...leftOut, ...others];
  return {
    ...launcherFile(document, 'torchtune', facts, reader),
    ...readAdapters(reader, written),
    ...(all.length > 0 && { leftOut: all }),
  };
}

function defaults(file: string, { recomputeGranularity, layers }: Facts): Facts {
  const byLayer = sentence`torchtune recomputes layer by layer`;
  const ofBuilder = sentence`torchtune's models have it`;
  const isSingle = /single_device[^/\\]*$/i.test(file);
  return {
    zeroStage: isSingle
      ? byDefault(0, sentence`torchtune's recipes for a single device shard nothing`)
      : byDefault(3, sentence`torchtune's distributed recipes shard weights with FSDP2`),
    ...(isSingle && { world: byDefault(1, sentence`the name of the file is that of a recipe for a single device`) }),
    ...(recomputeGranularity?.value === 'full' && {
      recomputeMethod: byDefault('uniform', byLayer),
      recomputeLayers: byDefault(1, byLayer),
    }),
    ...(layers && {
      gatedMlp: byDefault(true, ofBuilder),
      norm: byDefault('rmsnorm', ofBuilder),
      positions: byDefault('rotary', ofBuilder),
      bias: byDefault(false, ofBuilder),
      tiedEmbeddings: byDefault(false, ofBuilder),
    }),
  };
}

/** LoRA of a builder `lora_` or `qlora_`: in attention the named modules, in the feed-forward network and the head as switches have it. */
function readAdapters(reader: KeyReader, { flavor }: Facts): Pick<LauncherFile, 'adapters'> {
  if (flavor?.source.kind !== 'file' || !/^q?lora_/.test(flavor.value)) return {};
  const rank = reader.one('model.lora_rank', count(1));
  const dropout = reader.one('model.lora_dropout', share);
  const isDora = reader.one('model.use_dora', isTrue)?.value === true;
  const quantized = reader.one('model.quantize_base', isTrue);
  const isQuantized = flavor.value.startsWith('qlora_') || quantized?.value === true;
  const targets = readTargets(reader);
  return {
    adapters: {
      place: flavor.source.place,
      name: flavor.value,
      ...(isDora && { decomposed: true }),
      ...(rank && { rank }),
      ...(dropout && { dropout }),
      ...(targets && { targets }),
      ...(isQuantized && { baseBits: { value: 4 as const, source: (quantized ?? flavor).source }, doubleQuantised: true }),
      defaults: { rank: 8, targets: [allLinear], reason: sentence`torchtune's default` },
    } satisfies GivenAdapters,
  };
}

const modulesOfNetwork = ['gate_proj', 'up_proj', 'down_proj'];

/** The modules of LoRA, by Transformers' names of them. */
function readTargets(reader: KeyReader): Located<readonly string[]> | undefined {
  const attention = reader.one('model.lora_attn_modules', names);
  if (attention === undefined) return undefined;
  const ofNetwork = reader.one('model.apply_lora_to_mlp', isTrue)?.value === true ? modulesOfNetwork : [];
  const ofHead = reader.one('model.apply_lora_to_output', isTrue)?.value === true ? ['lm_head'] : [];
  const value = [...attention.value.map((name) => (name === 'output_proj' ? 'o_proj' : name)), ...ofNetwork, ...ofHead];
  return { value, source: attention.source };
}

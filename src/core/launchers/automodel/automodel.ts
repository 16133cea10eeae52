import { allLinear } from '../../run/adapters';
import { byDefault } from '../../domain/located';
import { hubModel } from '../../huggingface/hub-models';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { choice, count, fixed, on } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { entryAt, parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { sectionSettings } from '../tables/adapters';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, notOfText } from '../tables/launcher-file';
import { masterType, typeBytes } from '../tables/optimizer-facts';
import { anyOf, word } from '../tables/reads';
import { row, rows, lenient, under, type Table } from '../tables/table';
import { sentence } from '../../sentence';
import { automodelProgram } from './programs';

/** Fields of Transformers' configs, of a model that is trained from nothing. */
const configKeys: Table = {
  modelType: [row('model_type', word)],
  layers: [row('num_hidden_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_attention_heads', count(1))],
  kvHeads: [row('num_key_value_heads', count(1))],
  headDim: [row('head_dim', count(1))],
  ffn: [row('intermediate_size', count(1))],
  vocab: [row('vocab_size', count(1))],
  maxPositions: [row('max_position_embeddings', count(1))],
  tiedEmbeddings: [row('tie_word_embeddings', on(true))],
  experts: [row('num_experts', count(1)), row('n_routed_experts', count(1)), row('num_local_experts', count(1))],
  activeExperts: [row('num_experts_per_tok', count(1))],
  expertFfn: [row('moe_intermediate_size', count(1))],
};

/** Arguments of `build_gpt2_model` (nemo_automodel/components/models/gpt2.py), and what it makes of them. */
const gptKeys: Table = {
  layers: [row('model.n_layer', count(1))],
  hidden: [row('model.n_embd', count(1))],
  heads: [row('model.n_head', count(1))],
  vocab: [row('model.vocab_size', count(1))],
  maxPositions: [row('model.n_ctx', count(1)), row('model.n_positions', count(1))],
};

/** `1f1b`, `interleaved1f1b`, `gpipe`: names of torch.distributed.pipelining, in any case. */
const scheduleWord = anyOf((written) => (/^(null|none|)$/i.test(written) ? undefined : written.replaceAll('_', '')));

const checkpointing = anyOf((written) =>
  /^(true|on|full|enabled|yes|selective)$/i.test(written) ? 'full' : /^(false|off|none|disabled|no)$/i.test(written) ? 'none' : undefined,
);

/** The class of an optimizer as Transformers calls it: `torch.optim.AdamW`, Transformer Engine's `FusedAdam`. */
const optimizerClass = anyOf((written) => {
  const name = written.split('.').at(-1) ?? '';
  return name === '' ? undefined : /^FusedAdam$/.test(name) ? 'fused_adam' : name.toLowerCase();
});

const keys: Table = {
  ...under(['model.config.'], configKeys),
  flavor: rows(
    word,
    'model.pretrained_model_name_or_path',
    'model.config.pretrained_model_name_or_path',
    'model.pretrained_model_name',
    'recipe_args.target_model_name_or_path',
  ),
  globalBatch: [row('step_scheduler.global_batch_size', count(1))],
  microBatch: rows(count(1), 'step_scheduler.local_batch_size', 'recipe_args.micro_batch_size'),
  gradientAccumulation: [row('recipe_args.grad_accumulation_steps', count(1))],
  sequenceLength: [
    row('packed_sequence.packed_sequence_size', lenient(count(1))),
    ...rows(
      lenient(count(1)),
      'dataset.seq_length',
      'dataset.seq_len',
      'dataset.max_length',
      'dataset.seq_max_length',
      'recipe_args.seq_length',
    ),
  ],
  tensor: [row('distributed.tp_size', lenient(count(1)))],
  pipeline: [row('distributed.pp_size', lenient(count(1)))],
  context: [row('distributed.cp_size', lenient(count(1)))],
  expert: [row('distributed.ep_size', lenient(count(1)))],
  dataReplicate: [row('distributed.dp_replicate_size', lenient(count(1)))],
  sequenceParallel: [row('distributed.sequence_parallel', on(true))],
  recomputeGranularity: [row('distributed.activation_checkpointing', checkpointing)],
  attention: rows(
    lenient(choice({ eager: 'unfused', sdpa: 'flash', flash_attention_2: 'flash', te: 'flash', flex: 'flash' })),
    'model.backend.attn',
    'model.attn_implementation',
  ),
  attentionKernel: rows(
    lenient(choice({ te: 'cudnn', flash_attention_2: 'flash2', sdpa: 'flash2' })),
    'model.backend.attn',
    'model.attn_implementation',
  ),
  optimizer: rows(optimizerClass, 'optimizer._target_'),
  firstMomentBytes: [row('optimizer.exp_avg_dtype', typeBytes)],
  secondMomentBytes: [row('optimizer.exp_avg_sq_dtype', typeBytes)],
  compile: rows(on(true), 'compile.enabled', 'distributed.enable_compile'),
  fusedCrossEntropy: [
    row(
      'loss_fn._target_',
      anyOf((written) => (/Fused|Chunked|Parallel/.test(written) ? true : undefined)),
    ),
  ],
  nodes: rows(count(1), 'slurm.nodes', 'skypilot.num_nodes'),
  gpusPerNode: [row('slurm.ntasks_per_node', count(1))],
};

/** What a pipeline has in addition; without one AutoModel ignores it. */
const pipelineKeys: Table = {
  schedule: [row('distributed.pipeline.pp_schedule', scheduleWord)],
  microBatch: [row('distributed.pipeline.pp_microbatch_size', count(1))],
};

/** Recipes that train something else than a language model's next token. */
const otherRecipes = /diffusion|dflash|dspark|eagle|biencoder|crossencoder|embedding/i;

/**
 * A recipe of NeMo AutoModel (`nemo_automodel/recipes`): objects by `_target_`, the batch in `step_scheduler`, sizes in `distributed`. A
 * pipeline runs each local batch in micro-batches of `pp_microbatch_size`.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readAutomodel(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const strategy = reader.one('distributed.strategy', word)?.value.toLowerCase() ?? 'fsdp2';
  const facts = withDefaults(reader, withPipeline(reader, { ...gptFacts(reader), ...reader.facts(keys) }), strategy);
  const program = automodelProgram(strategy);
  const left = leftOut(document, reader);
  const base = launcherFile(document, 'automodel', facts, reader);
  const isOfImages = reader.one('data.dataloader._target_', word)?.value.includes('diffusion') === true;
  return {
    ...base,
    ...(isOfImages && { remarks: [...base.remarks, notOfText(base.place)] }),
    ...(program && { program }),
    ...readAdapters(document, reader),
    ...(left.length > 0 && { leftOut: left }),
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
  };
}

/** The model of AutoModel's own GPT-2, whose arguments have defaults (`build_gpt2_model`). */
function gptFacts(reader: KeyReader): Facts {
  const builder = reader.one('model._target_', word);
  if (builder?.value.endsWith('.build_gpt2_model') !== true) return {};
  const written = reader.facts(gptKeys);
  const reason = sentence`NeMo AutoModel's GPT-2 has it`;
  const sizes = {
    layers: byDefault(12, reason),
    hidden: byDefault(768, reason),
    heads: byDefault(12, reason),
    vocab: byDefault(50_257, reason),
    maxPositions: byDefault(2048, reason),
    ...written,
  };
  return {
    ...sizes,
    ffn: byDefault(4 * sizes.hidden.value, reason),
    gatedMlp: byDefault(false, reason),
    norm: byDefault('layernorm', reason),
    positions: byDefault('learned', reason),
    bias: byDefault(true, reason),
    tiedEmbeddings: byDefault(true, reason),
  };
}

function withPipeline(reader: KeyReader, facts: Facts): Facts {
  if ((facts.pipeline?.value ?? 1) === 1) return facts;
  const { microBatch, schedule = byDefault('1f1b', sentence`NeMo AutoModel's default pp_schedule`) } = reader.facts(pipelineKeys);
  const ofPipeline: Facts = {
    ...facts,
    schedule,
    microBatch: microBatch ?? byDefault(1, sentence`NeMo AutoModel's default pp_microbatch_size`),
  };
  return { ...ofPipeline, ...virtualStages(reader, ofPipeline) };
}

/** Stages of each rank by `layers_per_stage`, or 2 of a looped schedule (`calculate_virtual_stages`, pipelining/functional.py). */
function virtualStages(reader: KeyReader, facts: Facts): Pick<Facts, 'virtualStages'> {
  if (!/interleaved|looped|zbv|dualpipe|dfs|bfs/i.test(facts.schedule?.value ?? '')) return {};
  const each = reader.one('distributed.pipeline.layers_per_stage', lenient(count(1)));
  const layers = facts.layers?.value ?? layersOfHub(facts.flavor?.value);
  const pipeline = facts.pipeline?.value ?? 1;
  if (each === undefined) return { virtualStages: byDefault(2, sentence`NeMo AutoModel puts 2 stages on each rank of such a schedule`) };
  if (layers === null) return {};
  const rounds = reader.one('distributed.pipeline.round_virtual_stages_to_pp_multiple', word)?.value === 'up' ? Math.ceil : Math.floor;
  const perRank = Math.max(1, rounds(Math.ceil(layers / each.value) / pipeline));
  return { virtualStages: { ...each, value: perRank } };
}

function layersOfHub(name = ''): number | null {
  const config = hubModel(name);
  const { num_hidden_layers: layers } = config === null ? {} : (JSON.parse(config) as { readonly num_hidden_layers?: unknown });
  return typeof layers === 'number' ? layers : null;
}

/**
 * Weights are of the checkpoint's type, bf16, unless `model.torch_dtype` is fp32: moments and gradients are then of it too (`FSDP2Config`
 * of components/distributed/config.py).
 */
function withDefaults(reader: KeyReader, facts: Facts, strategy: string): Facts {
  const dtype = reader.one('model.torch_dtype', typeBytes);
  const master = reader.one('optimizer.master_weights', on(true));
  const byBlock = sentence`NeMo AutoModel recomputes layer by layer`;
  const ofWeights = sentence`weights are trained in the type of the checkpoint, bf16`;
  const isWhole = dtype?.value === 4;
  const isHalf = !isWhole && master?.value !== true;
  return {
    zeroStage: byDefault(strategy === 'ddp' ? 0 : 3, strategy === 'ddp' ? sentence`DDP shards nothing` : sentence`FSDP shards weights`),
    gradAccumulationFp32: byDefault(isWhole, isWhole ? sentence`weights are in fp32` : ofWeights),
    ...(isHalf && { masterWeightBytes: byDefault(0, ofWeights) }),
    ...(master?.value === true && {
      masterWeightBytes: reader.one('optimizer.master_weight_dtype', masterType) ?? { ...master, value: 4 },
    }),
    ...(facts.recomputeGranularity?.value === 'full' && {
      recomputeMethod: byDefault('uniform', byBlock),
      recomputeLayers: byDefault(1, byBlock),
    }),
    ...readPrecision(reader),
    ...facts,
  };
}

function readPrecision(reader: KeyReader): Pick<Facts, 'precision'> {
  const fp8: Fact<'fp8'> | undefined = reader.one('fp8.enabled', fixed('fp8'));
  return fp8 === undefined ? {} : { precision: fp8 };
}

/** Other models of the run, and objectives that cost more than the next token. */
function leftOut({ root }: YamlDocument, reader: KeyReader): readonly string[] {
  const sections = ['teacher_model', 'draft_model', 'speculative'].filter((name) => root.entries.get(name)?.value.kind === 'map');
  const recipe = reader.one('recipe', word);
  return [...sections, ...(recipe !== undefined && otherRecipes.test(recipe.value) ? ['recipe'] : [])];
}

/** LoRA of `peft`, and 4 bits of `quantization`; a draft of a few layers that learns from the frozen model. */
function readAdapters(document: YamlDocument, reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const target = reader.one('recipe_args.target_model_name_or_path', word);
  if (target?.source.kind === 'file')
    return { adapters: { place: target.source.place, name: 'a draft for this model', unlike: 'a draft' } };
  const entry = entryAt(document.root, ['peft']);
  if (entry?.value.kind !== 'map' || entry.value.entries.size === 0) return {};
  const bits = reader.one('quantization.load_in_4bit', on(true));
  const written = sectionSettings((key, read) => reader.one(`peft.${key}`, read));
  const patterns = written.targets?.value.map((name) =>
    /^\*(?:_proj|\.(?:self_attn|mlp)\.\*_proj)?$/.test(name) ? allLinear : (name.split('.').at(-1) ?? name),
  );
  return {
    adapters: {
      place: { file: document.file, range: entry.keyRange },
      name: 'peft',
      ...written,
      ...(written.targets && patterns && { targets: { ...written.targets, value: patterns } }),
      ...(bits?.value === true && { baseBits: { value: 4 as const, source: bits.source } }),
      defaults: { rank: 8, targets: [allLinear], reason: sentence`NeMo AutoModel's default` },
    },
  };
}

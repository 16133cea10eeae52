import { byDefault } from '../../domain/located';
import { without } from '../../records';
import { sectionSettings } from '../tables/adapters';
import type { Composition } from '../composition';
import { ownLayer, type Layer } from '../../languages/layers';
import { fileStart } from '../../languages/json/document';
import { bytesOfType } from '../tables/optimizer-facts';
import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import type { Facts, LauncherFile, Purpose } from '../../run/facts';
import { choice, count, fixed, keep, on, wordFor } from '../../languages/reads';
import { coreKeys, gated, sharedSettings } from '../megatron/core-keys';
import { sharedExperts, withoutIdleExperts, withoutIdleRecompute } from '../megatron/derived-facts';
import { checkpointPath, weightsOnlyFact } from '../tables/checkpoint-facts';
import { joined, row, rows, lenient, under, written, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, devices, word } from '../tables/reads';
import { createResolver } from '../../languages/yaml/references';
import { benchmarkAdapters, isLoraBenchmark } from '../mlperf/lora';
import { readDefaultsList, withDefaults } from './hydra';
import { entryAt, parseYaml, mergedDocument, type YamlDocument, type YamlMap } from '../../languages/yaml/document';
import { sentence } from '../../sentence';

/** PyTorch Lightning's names. */
const precisions = {
  '32': 'fp32',
  '32-true': 'fp32',
  '16': 'fp16',
  '16-mixed': 'fp16',
  '16-true': 'fp16',
  bf16: 'bf16',
  'bf16-mixed': 'bf16',
  'bf16-true': 'bf16',
} as const;

const isFp32Type = anyOf((written) => {
  const bytes = bytesOfType(written);
  return bytes === undefined ? undefined : bytes === 4;
});

/** NeMo 1.x's names where they differ from Megatron Core's; T5 keeps one set in `encoder` and one in `decoder`. */
const modelKeys: Table = {
  sequenceLength: [row('encoder_seq_length', count(1)), row('seq_length', count(1)), row('data.seq_length', count(1))],
  bias: [row('bias', on(true))],
  gatedMlp: [row('activation', gated)],
  tiedEmbeddings: [row('share_decoder_tokens_head_embeddings', on(true))],
  recomputeGranularity: [row('activations_checkpoint_granularity', keep(['full', 'selective', 'none']))],
  recomputeMethod: [row('activations_checkpoint_method', keep(['uniform', 'block']))],
  recomputeLayers: [row('activations_checkpoint_num_layers', count(0))],
  attention: [row('use_flash_attention', fixed('flash'))],
  optimizer: [row('optim.name', word)],
  gradAccumulationFusion: [row('gradient_accumulation_fusion', on(true))],
  overlapGradReduce: [row('optim.overlap_grad_sync', on(true))],
  overlapParamGather: [row('optim.overlap_param_sync', on(true))],
  fp8Format: [row('fp8_e4m3', fixed('e4m3')), row('fp8_hybrid', fixed('hybrid'))],
  fp8ParamGather: [row('fp8_params', on(true))],
  distributedOptimizer: [
    row(
      'optim.name',
      written(
        anyOf((name) => /^(mcore_distributed_optim|distributed_fused_adam)$/.test(name)),
        (value) => (value === true ? 'mcore_distributed_optim' : 'fused_adam'),
      ),
    ),
  ],
  vocab: [
    row('override_vocab_size', count(1)),
    row('tokenizer.type', vocabOfType),
    ...['tokenizer.type', 'tokenizer.model', 'tokenizer.vocab_file'].map((name) => row(name, vocabOfName)),
  ],
  // `grad_reduce_in_fp32` of its distributed optimizers (megatron_gpt_model.py)
  gradAccumulationFp32: [row('optim.grad_sync_dtype', isFp32Type)],
};

/** Keys of a model, wherever its section is. */
export const modelTable: Table = joined(modelKeys, coreKeys);

/** Where the precision is given. */
export const precisionKeys = rows(
  written(lenient(choice(precisions)), (value) => wordFor(precisions, value ?? 'fp32')),
  'trainer.precision',
  'model.precision',
);

/** Size of Llama 3.1 in MLPerf's benchmark (`pretrain_llama31.py` of NVIDIA's submissions). */
const mlperfSize = anyOf((size) => (/^(?:8b|70b|405b)$/i.test(size) ? `llama3.1_${size.toLowerCase()}` : undefined));

/** NeMo's keys of a model, the first of each in `model`. */
export const nemoKeys: Table = joined(
  {
    flavor: [row('model.base_config', mlperfSize)],
    layers: [row('model.overwritten_attributes.num_layers', lenient(count(1)))],
    encoderLayers: [row('model.encoder.num_layers', count(1))],
    decoderLayers: [row('model.decoder.num_layers', count(1))],
    splitRank: [row('model.pipeline_model_parallel_split_rank', count(0))],
    decoderSequenceLength: [row('model.decoder_seq_length', count(1)), row('model.data.seq_length_dec', count(1))],
    precision: [row('model.fp8', fixed('fp8')), ...precisionKeys],
    loadCheckpoint: [
      ...rows(checkpointPath, 'model.restore_from_path', 'model.resume_from_checkpoint', 'trainer.resume_from_checkpoint'),
      row('exp_manager.resume_if_exists', on(true)),
    ],
    checkpointFormat: [row('model.dist_ckpt_format', word)],
    reshardableOptimizer: [row('model.dist_ckpt_parallel_dist_opt', on(true))],
    nodes: [row('trainer.num_nodes', count(1))],
    gpusPerNode: [row('trainer.devices', devices)],
  },
  under(['model.', 'model.encoder.'], modelTable),
);

/**
 * What a NeMo 1.x YAML (as in NeMo-Framework-Launcher) sets for a run, over the files of its Hydra defaults list: sections `trainer`,
 * `model`, with OmegaConf references resolved where the files give them. Values that cannot be are remarks of severity error, and no facts.
 * It throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export const nemoFiles: Composition = { findBases: (layer) => readDefaultsList(parsed(layer)), read: readLayers };

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text);
}

function readLayers(layers: readonly Layer[]): LauncherFile {
  const document = mergedDocument(withDefaults(layers, parsed));
  const reader = createKeyReader(document, createResolver(document.root));
  const given = withoutLoneLayers(withoutIdleRecompute(withoutIdleExperts(withoutLoneExpert(reader.facts(nemoKeys)))));
  const shared = sharedExperts(given);
  const checkpoints = checkpointFacts(reader, given);
  const model = benchmarkModel(ownLayer(layers), given);
  const facts = { ...given, ...model, ...shared, ...attentionWithoutEngine(reader, given), ...encoderLength(given), ...checkpoints };
  const purpose = purposeIn(document);
  const openSizes = parallelNames.filter((name) => reader.isOpen(`model.${parallelKey(name)}`));
  return {
    ...launcherFile(document, 'nemo', { ...without(sizeDefaults(facts), ...openSizes), ...facts }, reader),
    ...(purpose && { purpose }),
    ...(openSizes.length > 0 && { openSizes }),
    ...readNemoAdapters(reader, model.flavor),
  };
}

/**
 * The model of a submission to MLPerf's benchmark of LoRA, whose file takes the sizes from its checkpoint
 * (`megatron_gpt_peft_tuning_config.yaml`) and its batch from a variable of `run.sub`; examples of NeMo in the same folder do not.
 */
function benchmarkModel({ file, text }: Layer, { hidden, flavor }: Facts): Pick<Facts, 'flavor'> {
  if (hidden !== undefined || flavor !== undefined || !isLoraBenchmark(file) || !text.includes('oc.env:MINIBS')) return {};
  return { flavor: { value: 'llama2_70b', source: { kind: 'file', place: fileStart(file), key: 'config' }, name: 'config' } };
}

/** NeMo-Framework-Launcher names the results of what a file does in its section `run`: a stage that trains none of these. */
function purposeIn({ root }: YamlDocument): Purpose | null {
  const has = (name: string): boolean => entryAt(root, ['run', name]) !== null;
  if (has('convert_name') && !has('convert_dir')) return 'conversion';
  if (has('eval_name')) return 'evaluation';
  return trainsNothing(root)
    ? root.entries.has('export')
      ? 'conversion'
      : root.entries.has('inference')
        ? 'serving'
        : 'evaluation'
    : null;
}

/** A checkpoint is restored, and no data to train on is named: it is quantized, pruned, tried or asked. */
function trainsNothing(root: YamlMap): boolean {
  const has = (...path: readonly string[]): boolean => entryAt(root, path) !== null;
  if (!has('model', 'restore_from_path') || has('model', 'optim') || has('model', 'data', 'train_ds')) return false;
  return has('export') || has('inference') || has('model', 'data', 'validation_ds') || has('model', 'data', 'test_ds');
}

/** Without Transformer Engine, which chooses the kernel, `use_flash_attention: false` is attention with its scores in memory. */
function attentionWithoutEngine(reader: KeyReader, facts: Facts): Pick<Facts, 'attention'> {
  const flash = reader.one('model.use_flash_attention', on(true));
  const engine = reader.one('model.transformer_engine', on(true));
  if (facts.attention !== undefined || flash?.value !== false || engine?.value === true) return {};
  return { attention: { ...flash, value: 'unfused' } };
}

/** Checkpoints are Megatron Core's with `mcore_gpt`, whose optimizer state every layout loads by default; a `.nemo` holds weights only. */
function checkpointFacts(reader: KeyReader, facts: Facts): Facts {
  const { checkpointFormat, reshardableOptimizer } = facts;
  const isCore = reader.one('model.mcore_gpt', on(true))?.value === true;
  const ofRanks = byDefault('torch', sentence`without mcore_gpt NeMo writes a file for each rank`);
  return {
    checkpointFormat: isCore ? (checkpointFormat ?? byDefault('zarr', sentence`NeMo default: dist_ckpt_format zarr`)) : ofRanks,
    reshardableOptimizer: reshardableOptimizer ?? byDefault(true, sentence`NeMo default: dist_ckpt_parallel_dist_opt true`),
    ...weightsOnlyFact(facts, /restore_from_path$/),
  };
}

function encoderLength({ encoderLayers, sequenceLength }: Facts): Pick<Facts, 'encoderSequenceLength'> {
  return encoderLayers === undefined || sequenceLength === undefined ? {} : { encoderSequenceLength: sequenceLength };
}

/** `num_moe_experts: 1` is NeMo's word for none. */
function withoutLoneExpert(facts: Facts): Facts {
  return facts.experts?.value === 1 ? without(facts, 'experts') : facts;
}

/** The config that NeMo's others are made over recomputes nothing, and has a number of layers for it all the same. */
function withoutLoneLayers(facts: Facts): Facts {
  const { recomputeGranularity, recomputeMethod } = facts;
  return recomputeGranularity === undefined && recomputeMethod === undefined ? without(facts, 'recomputeLayers') : facts;
}

/** Adapters of NeMo's parameter-efficient fine-tuning, or those of a benchmark by its model. */
function readNemoAdapters(reader: KeyReader, benchmark: Facts['flavor']): Pick<LauncherFile, 'adapters'> {
  const scheme = reader.one('model.peft.peft_scheme', word);
  if (scheme === undefined && benchmark?.source.kind === 'file')
    return { adapters: { place: benchmark.source.place, name: 'lora', defaults: benchmarkAdapters } };
  if (scheme?.source.kind !== 'file' || /^(?:none|null|sft)$/i.test(scheme.value)) return {};
  const isLora = /^lora$/i.test(scheme.value);
  const written = sectionSettings((name, read) => reader.one(`model.peft.lora_tuning.${name}`, read));
  const defaults = { rank: 32, targets: ['linear_qkv'], ofCore: true, reason: sentence`NeMo's default` };
  return { adapters: { place: scheme.source.place, name: 'peft_scheme', ...written, defaults, ...(!isLora && { unlike: scheme.value }) } };
}

/** Sizes that are 1 where a file leaves them out. */
const parallelNames = ['tensor', 'pipeline', 'context', 'expert'] as const;
const parallelKey = (name: (typeof parallelNames)[number]): string => sharedSettings[name][0].name;

function sizeDefaults({ heads }: Facts): Facts {
  return {
    ...Object.fromEntries(parallelNames.map((name) => [name, byDefault(1, sentence`NeMo default: ${parallelKey(name)} 1`)])),
    ...(heads && { kvHeads: byDefault(heads.value, sentence`NeMo: without num_query_groups, as many as attention heads`) }),
  };
}

import { byDefault, guessed } from '../../domain/located';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import { ownLayer, upwards, type Layer } from '../../languages/layers';
import { kindSettings, libraryDefaults, loraSettings } from '../tables/adapters';
import type { Facts, LauncherFile, Program } from '../../run/facts';
import { axolotl, llamaFactory, buildTrainerProgram, openInstruct, trl } from './programs';
import { count, fixed, on } from '../../languages/reads';
import { fsdpHybrid } from '../accelerate/accelerate';
import { factorySwitches, rankArgument, trainerOptimizer } from '../tables/optimizer-facts';
import { isJson, optimizerOfDeepSpeed, readShardingFacts, withCheckpointing } from '../deepspeed/trainer-files';
import { checkpointPath, stateDictKeys } from '../tables/checkpoint-facts';
import { row, rows, lenient, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import type { Finding } from '../../findings';
import { launcherFile, policyOnly } from '../tables/launcher-file';
import { settingsOfYaml } from '../tables/written-settings';
import { anyOf, word } from '../tables/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';

const checkpointing = (whenTrue: string, whenFalse: string) =>
  anyOf((written) => (/^(true|yes|on)$/i.test(written) ? whenTrue : /^(false|no|off|null|none)$/i.test(written) ? whenFalse : undefined));

/** Options of `torch.compile`, each of which turns it on (`TrainingArguments.__post_init__` of transformers/training_args.py). */
const compileOptions = rows(
  anyOf((written) => (/^(null|none|~|)$/i.test(written) ? undefined : true)),
  'torch_compile_backend',
  'torch_compile_mode',
);

/** Keys of Axolotl, then of LLaMA-Factory. */
const trainerKeys: Table = {
  flavor: [row('base_model', word), row('model_name_or_path', word)],
  sequenceLength: [row('sequence_len', count(1)), row('cutoff_len', count(1)), ...rows(lenient(count(1)), 'max_length', 'max_seq_length')],
  microBatch: [row('micro_batch_size', count(1)), row('per_device_train_batch_size', count(1))],
  gradientAccumulation: [row('gradient_accumulation_steps', count(1))],
  precision: [
    row(
      'pure_bf16',
      anyOf((written) => (/^(true|yes|on)$/i.test(written) ? 'bf16' : undefined)),
    ),
    row(
      'bf16',
      anyOf((written) => (/^(true|full|auto|yes|on)$/i.test(written) ? 'bf16' : undefined)),
    ),
    row(
      'fp16',
      anyOf((written) => (/^(true|yes|on)$/i.test(written) ? 'fp16' : undefined)),
    ),
  ],
  compile: [...compileOptions, row('torch_compile', lenient(on(true)))],
  attention: [
    row('flash_attention', lenient(fixed('flash'))),
    row(
      'flash_attn',
      anyOf((written) => (/^(fa2|fa3|auto)$/i.test(written) ? 'flash' : undefined)),
    ),
  ],
  attentionKernel: [
    row('flash_attention', lenient(fixed('flash2'))),
    row(
      'flash_attn',
      anyOf((written) => (/^fa[23]$/i.test(written) ? (`flash${written.at(-1) === '3' ? 3 : 2}` as const) : undefined)),
    ),
  ],
  optimizer: [
    ...Object.entries(factorySwitches).map(([name, optimizer]) => row(name, fixed(optimizer))),
    row('optimizer', trainerOptimizer),
    row('optim', trainerOptimizer),
  ],
  optimizerRank: [
    row('galore_rank', count(1)),
    row('apollo_rank', count(1)),
    row('optim_args.rank', count(1)),
    row('optim_args', rankArgument),
  ],
  loadCheckpoint: rows(checkpointPath, 'resume_from_checkpoint', 'auto_resume_from_checkpoints'),
  ...stateDictKeys('fsdp_config.fsdp_state_dict_type', 'fsdp_config.state_dict_type'),
  hybridShard: rows(fsdpHybrid, 'fsdp_config.fsdp_sharding_strategy', 'fsdp_config.sharding_strategy'),
  dataReplicate: [row('dp_replicate_size', lenient(count(1)))],
  tensor: [row('tensor_parallel_size', count(1))],
  context: [row('context_parallel_size', count(1))],
  recomputeGranularity: [
    row('disable_gradient_checkpointing', checkpointing('none', 'full')),
    row('gradient_checkpointing', checkpointing('full', 'none')),
  ],
};

/** Axolotl hands the options of `torch.compile` on only with `torch_compile`. */
const axolotlKeys: Table = { ...trainerKeys, compile: [row('torch_compile', lenient(on(true)))] };

/** Keys that a plan has. */
const planned: ReadonlySet<string> = new Set([
  ...Object.values(trainerKeys).flatMap((rules) => rules.map(({ name }) => name)),
  'deepspeed',
  'fsdp',
  'fsdp_config',
  'finetuning_type',
]);

/** A DeepSpeed JSON is named by a path from where the launcher is started, so it is searched next to the file and above it. */
export const trainerFiles: Composition = {
  findBases: (layer) => {
    if (isJson(layer)) return [];
    const entry = parsed(layer).root.entries.get('deepspeed');
    if (entry?.value.kind !== 'scalar' || !/\.json$/i.test(entry.value.text)) return [];
    const { text, range } = entry.value;
    return [{ written: text, place: { file: layer.file, range }, paths: upwards(text) }];
  },
  read: (layers) => {
    const own = parsed(ownLayer(layers));
    const reader = createKeyReader(own, environmentOnly);
    const [sharding = shardingByName(own)] = layers.filter(isJson).map(readShardingFacts);
    const [optimizer] = layers.filter(isJson).map(optimizerOfDeepSpeed);
    const ofTrainer = reader.facts(own.root.entries.has('base_model') ? axolotlKeys : trainerKeys);
    const written: Facts = { ...fsdpDefaults(own), ...sharding, ...defaultOptimizerRank(ofTrainer), ...ofTrainer, ...optimizer };
    const facts = withCheckpointing(written);
    return {
      ...launcherFile(own, 'hf-trainer', facts, { ...reader, also: readGeneration(own) }),
      program: detectTrainerProgram(own, facts, reader.one('pure_bf16', on(true))?.value === true),
      ...readTrainerAdapters(reader),
      written: { names: 'trainer', settings: settingsOfYaml(own, (key) => planned.has(key)) },
      modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    };
  },
};

/** What the name of a DeepSpeed JSON that is missing has of its settings: `zero3_bf16.json`, `ds_z2_offload_config.json`. */
function shardingByName({ root }: YamlDocument): Facts {
  const named = root.entries.get('deepspeed')?.value;
  const name = named?.kind === 'scalar' ? (/([^/\\]*)\.json$/i.exec(named.text)?.[1] ?? '') : '';
  const stage = /(?:zero|stage|(?<![a-z0-9])z)[-_]?([0-3])(?![a-z0-9])/i.exec(name)?.[1];
  if (stage === undefined) return {};
  const reason = sentence`by the name of the missing DeepSpeed JSON`;
  const offloaded = /(?<!no[-_]?(?:cpu[-_]?)?)offload(?:ing)?(?:[-_]?(all|params?|optim(?:izer)?))?(?![a-z])/i.exec(name);
  const what = offloaded?.[1]?.toLowerCase() ?? '';
  return {
    zeroStage: guessed(Number(stage), reason),
    ...(offloaded !== null && !what.startsWith('param') && { offloadOptimizer: guessed('cpu', reason) }),
    // only ZeRO 3 has weights to move; files by these names offload them unless they name the optimizer
    ...(offloaded !== null && stage === '3' && !what.startsWith('optim') && { offloadParameters: guessed('cpu', reason) }),
  };
}

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text, 'last');
}

/** A run that draws its samples from the model: only its update is planned. */
function readGeneration({ file, root }: YamlDocument): readonly Finding[] {
  const entry = root.entries.get('num_generations') ?? root.entries.get('rlhf_type');
  return entry === undefined ? [] : [policyOnly({ file, range: entry.keyRange })];
}

/** Axolotl has `base_model`, LLaMA-Factory and open-instruct keys of their own; any other file is TRL's. */
function detectTrainerProgram(own: YamlDocument, facts: Facts, isPure: boolean): Program {
  const { entries } = own.root;
  const has = (...names: readonly string[]): boolean => names.some((name) => entries.has(name));
  const capabilities = has('base_model')
    ? axolotl
    : has('finetuning_type', 'cutoff_len', 'template')
      ? llamaFactory
      : has('use_slow_tokenizer', 'use_flash_attn')
        ? openInstruct
        : trl;
  const named = own.root.entries.get('deepspeed')?.value;
  const hasDeepSpeed = named !== undefined && !(named.kind === 'scalar' && /^(null|~|)$/.test(named.text));
  const runtime = isFsdp(own) ? 'fsdp1' : hasDeepSpeed ? 'deepspeed' : 'ddp';
  return buildTrainerProgram(capabilities, runtime, facts, isPure);
}

/** LLaMA-Factory's own rank of GaLore and APOLLO (hparams/finetuning_args.py). */
function defaultOptimizerRank({ optimizer }: Facts): Facts {
  return /^use_(galore|apollo)$/.test(optimizer?.name ?? '') ? { optimizerRank: byDefault(16, sentence`LLaMA-Factory's default`) } : {};
}

/**
 * Axolotl's `fsdp` or `fsdp_config`: weights, gradients and optimizer are sharded, or what the options of `fsdp` name, inside a node
 * under `hybrid_shard` (`FSDPOption` of transformers/trainer_utils.py).
 */
function fsdpDefaults(own: YamlDocument): Facts {
  if (!isFsdp(own)) return {};
  const options = fsdpOptions(own);
  const keepsWeights = options.some((option) => /^(shard_grad_op|hybrid_shard_zero2)$/i.test(option));
  return {
    zeroStage: keepsWeights
      ? byDefault(2, sentence`FSDP shards gradients and optimizer state`)
      : byDefault(3, sentence`FSDP shards weights, gradients and optimizer state`),
    ...(options.some((option) => /^hybrid_shard/i.test(option)) && {
      hybridShard: byDefault(true, sentence`hybrid_shard shards inside each node`),
    }),
  };
}

/** Options of `fsdp`: a list, or words in one string (`TrainingArguments`, transformers/training_args.py). */
function fsdpOptions({ root }: YamlDocument): readonly string[] {
  const value = root.entries.get('fsdp')?.value;
  const items = value === undefined || value.kind === 'map' ? [] : value.kind === 'list' ? value.items : [value];
  const words = items.flatMap((item) => (item.kind === 'scalar' ? item.text.split(/[\s,]+/) : []));
  return words.filter((word) => !/^(|~|null|false|no|off)$/i.test(word));
}

function isFsdp(own: YamlDocument): boolean {
  const config = own.root.entries.get('fsdp_config')?.value;
  return fsdpOptions(own).length > 0 || (config?.kind === 'map' && config.entries.size > 0);
}

/** Adapters of Axolotl (`adapter`), LLaMA-Factory (`finetuning_type`) or TRL (`use_peft`). */
function readTrainerAdapters(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const axolotl = reader.one('adapter', word);
  const factory = reader.one('finetuning_type', word);
  const trl = reader.one('use_peft', on(true));
  const kind = axolotl ?? (factory?.value === 'full' || factory?.value === 'freeze' ? undefined : factory);
  const turn = kind ?? (trl?.value === true ? trl : undefined);
  if (turn?.source.kind !== 'file') return {};
  const ofLibrary = factory === undefined ? libraryDefaults.trl : libraryDefaults.llamaFactory;
  return {
    adapters: {
      place: turn.source.place,
      name: turn.name ?? 'adapter',
      ...kindSettings(kind),
      ...loraSettings((name, read) => reader.one(name, read)),
      defaults: axolotl === undefined ? ofLibrary : { rank: 8, targets: null, reason: sentence`Axolotl's default` },
    },
  };
}

import { byDefault } from '../../domain/located';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import type { Fact, Facts, LauncherFile, Program } from '../../run/facts';
import { count, on, share } from '../../languages/reads';
import { createResolver } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { coreKeys } from '../megatron/core-keys';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly, type OtherModel } from '../tables/launcher-file';
import { anyOf, attentionRows, knownWord, pathWord, torchDtypes, whether, word } from '../tables/reads';
import { joined, row, rows, under, type Table } from '../tables/table';

const trained = ['actor_train', 'student_train', 'student'];
const each = (name: string): string[] => trained.map((role) => `${role}.${name}`);
const precisions = { ...torchDtypes, bf16: 'bf16', fp16: 'fp16', fp32: 'fp32' } as const;

/** `list(range(0,16))` and `[0,1,2]` by how many they are. */
const deviceList = anyOf((written) => {
  const [, from = '', to = ''] = /^list\(range\((?:(\d{1,6})\s*,\s*)?(\d{1,6})\)\)$/.exec(written.trim()) ?? [];
  if (to !== '') return Number(to) > Number(from) ? Number(to) - Number(from) : undefined;
  return /^\[[\d,\s]+\]$/.test(written) ? written.split(',').length : undefined;
});

/** Fields of the worker that trains, and of the pipeline's config. */
const ownKeys: Table = {
  flavor: rows(pathWord, ...each('model_args.model_name_or_path'), 'pretrain', 'student_pretrain'),
  sequenceLength: [row('sequence_length', count(1))],
  microBatch: rows(count(1), ...each('training_args.per_device_train_batch_size')),
  gradientAccumulation: rows(count(1), ...each('training_args.gradient_accumulation_steps')),
  precision: rows(knownWord(precisions), ...each('model_args.dtype')),
  ...attentionRows(...each('model_args.attn_implementation'), ...each('model_args.flash_attn')),
  gpusPerNode: [row('num_gpus_per_node', count(1))],
};

const megatron: Table = {
  ...joined(under(each('strategy_args.strategy_config.'), coreKeys), ownKeys),
  embeddingAsLayer: rows(on(true), ...each('strategy_args.strategy_config.account_for_embedding_in_pipeline_split')),
  lossAsLayer: rows(on(true), ...each('strategy_args.strategy_config.account_for_loss_in_pipeline_split')),
};

/** FSDP2 and DeepSpeed have Ulysses, and shard by their names. */
const sharded: Table = {
  ...ownKeys,
  context: rows(count(1), ...each('strategy_args.strategy_config.ulysses_size'), ...each('model_args.ulysses_size')),
  recomputeGranularity: rows(whether('none', 'full'), ...each('model_args.disable_gradient_checkpointing')),
};

const onFsdp: Program = program('ROLL with FSDP2', 'fsdp1', 'roll/distributed/strategy/fsdp2_strategy.py');
const onDeepSpeed: Program = program('ROLL with DeepSpeed', 'deepspeed', 'roll/distributed/strategy/deepspeed_strategy.py');

function program(name: string, runtime: 'fsdp1' | 'deepspeed', file: string): Program {
  return {
    name,
    traits: { runtime },
    capabilities: {
      name,
      source: `alibaba/ROLL at 8eb27cc2, ${file}`,
      setBy: setBy(['context', 'microBatch', 'recompute']),
      refuses: [],
      recomputes: wholeLayersOnly,
      silent: { recomputeGranularity: 'full', recomputeMethod: 'uniform', recomputeLayers: 1, precision: 'bf16', fusedCrossEntropy: false },
    },
  };
}

/**
 * A YAML of ROLL (`roll/configs/base_config.py`, read by OmegaConf): a pipeline of workers, each with its model, strategy and devices.
 * The plan is the training step of the one that trains, on its devices.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readRoll(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text);
  const reader = createKeyReader(document, createResolver(document.root));
  const strategy = first(reader, each('strategy_args.strategy_name'))?.value ?? 'megatron_train';
  const backend = strategy.startsWith('fsdp') ? onFsdp : strategy.startsWith('deepspeed') ? onDeepSpeed : undefined;
  const written = reader.facts(backend === undefined ? megatron : sharded);
  const facts = { ...lengths(reader), ...world(reader, written), ...backendFacts(document, backend), ...wholeLayers(written), ...written };
  const base = launcherFile(document, 'roll', facts, reader);
  return {
    ...base,
    remarks: [...base.remarks, policyOnly(base.place, otherModels(document, reader))],
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    ...(backend && { program: backend }),
  };
}

function first(reader: KeyReader, names: readonly string[]): Fact<string> | undefined {
  return names.map((name) => reader.one(name, word)).find((found) => found !== undefined);
}

/** A sample is its prompt and the response to it (`base_config.py` 275). */
function lengths(reader: KeyReader): Facts {
  const [prompt, response] = ['prompt_length', 'response_length'].map((name) => reader.one(name, count(1))?.value);
  if (prompt === undefined || response === undefined) return {};
  return { sequenceLength: byDefault(prompt + response, sentence`${prompt} tokens of the prompt and ${response} of the response`) };
}

/** The GPUs of the worker that trains: some of a node, or whole nodes. */
function world(reader: KeyReader, { gpusPerNode }: Facts): Facts {
  const gpus = each('device_mapping')
    .map((name) => reader.one(name, deviceList))
    .find((found) => found !== undefined);
  if (gpus === undefined) return {};
  const node = gpusPerNode?.value ?? 8;
  return { world: gpus, ...(gpus.value % node === 0 && { nodes: { ...gpus, value: gpus.value / node } }) };
}

/** mcore_adapter recomputes layer by layer where a file only asks for whole layers (models/model_config.py 361). */
function wholeLayers({ recomputeGranularity }: Facts): Facts {
  if (recomputeGranularity?.value !== 'full') return {};
  const reason = sentence`ROLL recomputes layer by layer where no method is set`;
  return { recomputeMethod: byDefault('uniform', reason), recomputeLayers: byDefault(1, reason) };
}

function backendFacts(document: YamlDocument, backend: Program | undefined): Facts {
  if (backend === undefined) return { precision: byDefault('bf16', sentence`ROLL trains in bf16`) };
  if (backend === onFsdp) return { zeroStage: byDefault(3, sentence`FSDP2 shards weights, gradients and optimizer state`) };
  const stage = /strategy_config:\s*\$\{deepspeed_zero([0-3])/.exec(document.text)?.[1];
  return stage === undefined ? {} : { zeroStage: byDefault(Number(stage), sentence`the strategy is ROLL's deepspeed_zero${stage}`) };
}

/** Workers of the pipeline in addition to the one that trains, with their devices. */
function otherModels({ root }: YamlDocument, reader: KeyReader): readonly OtherModel[] {
  const rewards = root.entries.get('rewards')?.value;
  const names: (readonly [name: string, key: string])[] = [
    ['rollout', 'actor_infer'],
    ['reference', 'reference'],
    ['critic', 'critic'],
    ['teacher', 'teacher'],
    ...(rewards?.kind === 'map' ? [...rewards.entries.keys()].slice(0, 20).map((key) => [`reward ${key}`, `rewards.${key}`] as const) : []),
  ];
  return names.flatMap(([name, key]) => {
    const gpus = reader.one(`${key}.device_mapping`, deviceList)?.value;
    const memory = ['gpu_memory_utilization', 'mem_fraction_static'].map(
      (setting) => reader.one(`${key}.strategy_args.strategy_config.${setting}`, share)?.value,
    );
    return gpus === undefined ? [] : [{ name, gpus, memoryShare: memory.find((found) => found !== undefined) }];
  });
}

import { byDefault } from '../../domain/located';
import { sentence } from '../../sentence';
import { ExpectedError } from '../../errors';
import type { Composition } from '../composition';
import { ownLayer, upwards, type Base, type Layer } from '../../languages/layers';
import type { Facts, Program } from '../../run/facts';
import { choice, count, fixed, on } from '../../languages/reads';
import { isJson, readShardingFacts, withCheckpointing } from '../deepspeed/trainer-files';
import { row, lenient, type Table } from '../tables/table';
import { stateDictKeys } from '../tables/checkpoint-facts';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, word } from '../tables/reads';
import { yamlHead } from '../../languages/yaml/head';
import { accelerateProgram } from './programs';
import { isAccelerate } from './recognise';
import { environmentOnly } from '../../languages/yaml/references';
import { entryAt, parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { own } from '../../records';

/*
 * What `accelerate config` writes and `accelerate launch --config_file` reads. Source: Accelerate 1.15, commands/config/config_args.py
 * (ClusterConfig), utils/dataclasses.py and commands/launch.py; names of older versions without their prefix.
 */

/** Where states or weights are kept; `none` sets nothing. */
export const offloaded = anyOf((written) => (/^(cpu|nvme)$/i.test(written) ? written.toLowerCase() : undefined));

/** Of every run. `mixed_precision: no` leaves the precision to the Trainer's arguments. */
const ofAll: Table = {
  nodes: [row('num_machines', count(1))],
  world: [row('num_processes', count(1))],
  precision: [row('mixed_precision', lenient(choice({ bf16: 'bf16', fp16: 'fp16', fp8: 'fp8' })))],
  tensor: [row('parallelism_config.parallelism_config_tp_size', count(1))],
  context: [row('parallelism_config.parallelism_config_cp_size', count(1))],
  dataReplicate: [row('parallelism_config.parallelism_config_dp_replicate_size', count(1))],
};

/** ZeRO stage that a sharding strategy of FSDP equals, by its name or its number in PyTorch's `ShardingStrategy`. */
export const fsdpStage = anyOf((written) => {
  if (/^(true|full_shard|hybrid_shard|1|4)$/i.test(written)) return 3;
  if (/^(false|shard_grad_op|hybrid_shard_zero2|2|5)$/i.test(written)) return 2;
  return /^(no_shard|3)$/i.test(written) ? 0 : undefined;
});

/** A sharding strategy that shards inside each node only. */
export const fsdpHybrid = lenient(anyOf((written) => (/^(hybrid_shard(_zero2)?|4|5)$/i.test(written) ? true : undefined)));

const ofType: Readonly<Record<string, Table>> = {
  DEEPSPEED: {
    zeroStage: [row('deepspeed_config.zero_stage', count(0, 3))],
    offloadOptimizer: [row('deepspeed_config.offload_optimizer_device', offloaded)],
    offloadParameters: [row('deepspeed_config.offload_param_device', offloaded)],
    gradientAccumulation: [row('deepspeed_config.gradient_accumulation_steps', lenient(count(1)))],
  },
  FSDP: {
    zeroStage: [
      row('fsdp_config.fsdp_sharding_strategy', fsdpStage),
      row('fsdp_config.sharding_strategy', fsdpStage),
      row('fsdp_config.fsdp_reshard_after_forward', fsdpStage),
    ],
    hybridShard: [row('fsdp_config.fsdp_sharding_strategy', fsdpHybrid), row('fsdp_config.sharding_strategy', fsdpHybrid)],
    ...stateDictKeys('fsdp_config.fsdp_state_dict_type', 'fsdp_config.state_dict_type'),
    recomputeGranularity: [row('fsdp_config.fsdp_activation_checkpointing', lenient(fixed('full')))],
  },
  MEGATRON_LM: {
    tensor: [row('megatron_lm_config.megatron_lm_tp_degree', count(1))],
    pipeline: [row('megatron_lm_config.megatron_lm_pp_degree', count(1))],
    context: [row('megatron_lm_config.megatron_lm_context_parallel_size', count(1))],
    expert: [row('megatron_lm_config.megatron_lm_expert_model_parallel_size', count(1))],
    microBatches: [row('megatron_lm_config.megatron_lm_num_micro_batches', count(1))],
    sequenceParallel: [row('megatron_lm_config.megatron_lm_sequence_parallelism', on(true))],
    distributedOptimizer: [row('megatron_lm_config.megatron_lm_use_distributed_optimizer', on(true))],
    recomputeGranularity: [
      row('megatron_lm_config.megatron_lm_recompute_granularity', lenient(choice({ full: 'full', selective: 'selective' }))),
      row('megatron_lm_config.megatron_lm_recompute_activations', lenient(fixed('selective'))),
    ],
  },
};

/** A DeepSpeed JSON that the file names is searched next to it and above it: the path is from where the launcher is started. */
export const accelerateFiles: Composition = {
  findBases: (layer) => {
    if (isJson(layer)) return [];
    const { root } = parsed(layer);
    const type = entryAt(root, ['distributed_type'])?.value;
    const value = entryAt(root, ['deepspeed_config', 'deepspeed_config_file'])?.value;
    if (type?.kind !== 'scalar' || type.text.toUpperCase() !== 'DEEPSPEED') return [];
    if (value?.kind !== 'scalar' || !/\.json$/i.test(value.text)) return [];
    return [{ written: value.text, place: { file: layer.file, range: value.range }, paths: upwards(value.text) }];
  },
  read: (layers) => {
    const own = ownLayer(layers);
    const document = parsed(own);
    const reader = createKeyReader(document, environmentOnly);
    const program = accelerateProgram(readDistributedType(reader));
    return {
      ...launcherFile(document, 'accelerate', readAccelerateFacts(reader, layers), reader),
      ...(program && { program }),
      isPart: true,
    };
  },
};

/** What the file of `--config_file` sets, together with the DeepSpeed JSON that it names; nothing where it is not Accelerate's. */
export function accelerateFacts(own: Layer, layers: readonly Layer[]): Facts {
  return ofAccelerate(own, {}, () => readAccelerateFacts(createKeyReader(parsed(own), environmentOnly), layers));
}

/** The program that such a file starts. */
export function detectAccelerateProgram(own: Layer): Program | undefined {
  return ofAccelerate<Program | undefined>(own, undefined, () =>
    accelerateProgram(readDistributedType(createKeyReader(parsed(own), environmentOnly))),
  );
}

/** What such a file builds on. */
export function accelerateBases(own: Layer): readonly Base[] {
  return ofAccelerate<readonly Base[]>(own, [], () => accelerateFiles.findBases(own));
}

function ofAccelerate<T>({ text }: Layer, otherwise: T, read: () => T): T {
  try {
    return isAccelerate(yamlHead(text)) ? read() : otherwise;
  } catch (error) {
    if (error instanceof ExpectedError) return otherwise;
    throw error;
  }
}

function readDistributedType(reader: KeyReader): string {
  return reader.one('distributed_type', word)?.value.toUpperCase() ?? 'NO';
}

function readAccelerateFacts(reader: KeyReader, layers: readonly Layer[]): Facts {
  const type = readDistributedType(reader);
  const [sharding = {}] = layers.filter(isJson).map(readShardingFacts);
  const facts = {
    ...unsaid(type),
    ...reader.facts(ofAll),
    ...reader.facts(own(ofType, type) ?? {}),
    ...(type === 'DEEPSPEED' && sharding),
  };
  return withCheckpointing(facts);
}

function unsaid(type: string): Facts {
  if (type === 'FSDP') return { zeroStage: byDefault(3, sentence`FSDP shards weights, gradients and optimizer state`) };
  return type === 'MULTI_GPU' ? { zeroStage: byDefault(0, sentence`without DeepSpeed or FSDP nothing is sharded`) } : {};
}

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text, 'last');
}

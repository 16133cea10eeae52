import { byDefault } from '../../domain/located';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { count, on, share } from '../../languages/reads';
import { createResolver } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import type { Facts, LauncherFile, Program } from '../../run/facts';
import { greatestDivisor } from '../../numbers';
import { sentence } from '../../sentence';
import { coreKeys } from '../megatron/core-keys';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly, type OtherModel } from '../tables/launcher-file';
import { knownWord, pathWord, whether, word } from '../tables/reads';
import { joined, row, rows, under, type Table } from '../tables/table';

const trainer = 'models.policy_trainer';

const batchKeys: Table = {
  flavor: [row(`${trainer}.load`, pathWord)],
  globalBatch: [row('runtime_args.train_global_batch_size', count(1))],
  microBatch: rows(count(1), `${trainer}.train_micro_batch_size`, 'runtime_args.train_micro_batch_size'),
  world: [row(`${trainer}.num_gpu`, count(1))],
};

const megatron: Table = {
  ...joined(under([`${trainer}.`], coreKeys), batchKeys),
  precision: [row(`${trainer}.bf16`, knownWord({ true: 'bf16', True: 'bf16', false: 'fp32', False: 'fp32' }))],
};

/** FSDP2 has Ulysses, and shards over `fsdp_size` ranks. */
const sharded: Table = {
  ...batchKeys,
  context: [row(`${trainer}.ulysses_sequence_parallel_size`, count(1))],
  dataShard: [row(`${trainer}.fsdp_size`, count(1))],
  recomputeGranularity: [row(`${trainer}.gradient_checkpointing`, whether('full', 'none'))],
  offloadOptimizer: [row(`${trainer}.cpu_offload`, knownWord({ true: 'cpu', True: 'cpu' }))],
};

const onFsdp: Program = {
  name: 'ChatLearn with FSDP2',
  traits: { runtime: 'fsdp1' },
  capabilities: {
    name: 'ChatLearn with FSDP2',
    source: 'alibaba/ChatLearn at b7af31a9, template/grpo_fsdp.yaml',
    setBy: setBy(['context', 'microBatch', 'recompute']),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: { recomputeGranularity: 'none', recomputeMethod: 'uniform', recomputeLayers: 1, precision: 'bf16', fusedCrossEntropy: false },
  },
};

/** Tokens of a pack where a file names no number (`max_token_in_packing` of chatlearn/configs/base/base_model_config.py). */
const mostPackedTokens = 32768;

/** More samples of a micro-batch than anything trains. */
const maximumPacked = 65536;

/** Models of a run in addition to the one that trains, by what they do. */
const roles: readonly (readonly [name: string, key: string])[] = [
  ['rollout', 'models.policy'],
  ['reference', 'models.ref_policy'],
];

/**
 * A YAML of ChatLearn (`template/grpo_megatron.yaml`): `runtime_args`, and each of `models` with its GPUs. The plan is the training step of
 * `policy_trainer`. A template leaves the path of the model to the command line.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readChatlearn(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text);
  const reader = createKeyReader(document, createResolver(document.root));
  const isFsdp = reader.one('runtime_args.train_backend', word)?.value.startsWith('fsdp') === true;
  const written = reader.facts(isFsdp ? sharded : megatron);
  const sized = { ...lengths(reader), ...backendFacts(isFsdp, written), ...written };
  const facts = { ...sized, ...packedBatch(reader, sized) };
  const base = launcherFile(document, 'chatlearn', facts, reader);
  const isTemplate = facts.flavor === undefined || /^your_/i.test(facts.flavor.value);
  return {
    ...base,
    remarks: [
      ...base.remarks,
      policyOnly(
        base.place,
        roles.flatMap(([name, key]) => otherModel(reader, name, key)),
      ),
    ],
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    ...(isTemplate && { isPart: true as const }),
    ...(isFsdp && { program: onFsdp }),
  };
}

const byLayer = sentence`gradient checkpointing recomputes layer by layer`;
const wholeLayers: Facts = { recomputeMethod: byDefault('uniform', byLayer), recomputeLayers: byDefault(1, byLayer) };

function backendFacts(isFsdp: boolean, { context, recomputeGranularity }: Facts): Facts {
  if (!isFsdp) return { distributedOptimizer: byDefault(true, sentence`ChatLearn's template sets it`) };
  return {
    ...(recomputeGranularity?.value === 'full' && wholeLayers),
    zeroStage: byDefault(3, sentence`FSDP2 shards weights, gradients and optimizer state`),
    ...(context && { contextCommunication: byDefault('ulysses', sentence`ChatLearn's FSDP backend has Ulysses for long sequences`) }),
  };
}

/** A sample is its prompt and the response to it. */
function lengths(reader: KeyReader): Facts {
  const [prompt, response] = ['max_prompt_tokens_length', 'max_response_tokens_length'].map(
    (name) => reader.one(`models.policy.${name}`, count(1))?.value,
  );
  if (prompt === undefined || response === undefined) return {};
  return { sequenceLength: byDefault(prompt + response, sentence`${prompt} tokens of the prompt and ${response} of the response`) };
}

/**
 * Packed, a micro-batch is of as many whole samples as tokens are allowed, and its size in samples is not read (`split_microbatch` of
 * chatlearn/algorithm/grpo_utils/trainer_utils.py; the batch of a step still counts samples): planned are as many as divide the batch of a
 * replica. Attention stays within a sample.
 */
function packedBatch(reader: KeyReader, { sequenceLength, globalBatch, world, tensor, pipeline, context }: Facts): Facts {
  if (reader.one(`${trainer}.packing`, on(true))?.value !== true) return {};
  const tokens = reader.one(`${trainer}.max_token_in_packing`, count(1))?.value ?? mostPackedTokens;
  const ranks = (tensor?.value ?? 1) * (pipeline?.value ?? 1) * (context?.value ?? 1);
  const batch = ((globalBatch?.value ?? 0) * ranks) / (world?.value ?? 0);
  const most = Math.floor(tokens / (sequenceLength?.value ?? Infinity));
  const samples = Number.isInteger(batch) ? greatestDivisor(batch, Math.min(most, maximumPacked)) : 1;
  return { microBatch: byDefault(samples, sentence`packing fills micro-batches by tokens, not by samples`) };
}

function otherModel(reader: KeyReader, name: string, key: string): readonly OtherModel[] {
  const gpus = reader.one(`${key}.num_gpu`, count(1))?.value;
  const memory = reader.one(`${key}.gpu_memory_utilization`, share)?.value;
  return gpus === undefined ? [] : [{ name, gpus, memoryShare: memory }];
}

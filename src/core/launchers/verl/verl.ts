import { allLinear, type GivenAdapters } from '../../run/adapters';
import { byDefault } from '../../domain/located';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import type { Finding } from '../../findings';
import { modelOfHub } from '../../huggingface/hub-models';
import type { Fact, Facts, Program } from '../../run/facts';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { policyOnly } from '../tables/launcher-file';
import { anyOf, pathWord, word } from '../tables/reads';
import { count, keep, largestCount, names, on } from '../../languages/reads';
import { factsOfTable, joined, tableReads, renamed, row, rows, type FlagTable } from '../tables/table';
import { coreSizes, sharedSettings } from '../megatron/core-keys';
import type { ShellProgram } from '../shell/program';
import { isVerlScript } from './recognise';
import { greatestDivisor } from '../../numbers';
import { sentence } from '../../sentence';
import { quoted } from '../../text';

const actor = 'actor_rollout_ref.actor';
const overridden = `${actor}.optim.override_optimizer_config`;
const path = (name: string): string => name.replaceAll('_', '-');
const sizes = count(1);

/** verl's names (verl/trainer/config), of the actor's training step, then of fine-tuning. */
const ownTable: FlagTable = {
  flavor: rows(pathWord, path('actor_rollout_ref.model.path'), path('model.partial_pretrain'), 'model.path'),
  sequenceLength: [row(path('data.max_length'), sizes)],
  microBatch: rows(sizes, path(`${actor}.ppo_micro_batch_size_per_gpu`), path('data.micro_batch_size_per_gpu')),
  globalBatch: rows(sizes, path(`${actor}.ppo_mini_batch_size`), path('data.train_batch_size')),
  nodes: [row('trainer.nnodes', sizes), row('nnodes', sizes)],
  gpusPerNode: rows(sizes, path('trainer.n_gpus_per_node'), 'nproc-per-node'),
  context: rows(sizes, path(`${actor}.ulysses_sequence_parallel_size`), path('ulysses_sequence_parallel_size')),
  optimizer: rows(word, path(`${actor}.optim.optimizer`), path('optim.optimizer')),
  precisionAware: [row(path(`${overridden}.use_precision_aware_optimizer`), { ...on(true), words: 'one' })],
  offloadOptimizer: rows(
    anyOf((written) => (/^true$/i.test(written) ? 'cpu' : undefined)),
    path(`${actor}.fsdp_config.optimizer_offload`),
    path(`${actor}.megatron.optimizer_offload`),
    path(`${overridden}.optimizer_cpu_offload`),
  ),
};

/** Fields of Megatron Core's `TransformerConfig` that a script sets itself. */
const coreFields: FlagTable = renamed(
  {
    firstStageLayers: [row('num_layers_in_first_pipeline_stage', sizes)],
    lastStageLayers: [row('num_layers_in_last_pipeline_stage', sizes)],
    embeddingAsLayer: [row('account_for_embedding_in_pipeline_split', { ...on(true), words: 'one' })],
    lossAsLayer: [row('account_for_loss_in_pipeline_split', { ...on(true), words: 'one' })],
    recomputeGranularity: [row('recompute_granularity', keep(['full', 'selective', 'none']))],
    recomputeMethod: [row('recompute_method', keep(['uniform', 'block']))],
    recomputeLayers: sharedSettings.recomputeLayers,
  },
  (name) => path(`${actor}.megatron.override_transformer_config.${name}`),
);

const table = joined(
  joined(
    renamed(coreSizes, (name) => path(`${actor}.megatron.${name}`)),
    coreFields,
  ),
  ownTable,
);

const mainKey = path('actor_rollout_ref.model.path');
const promptKey = path('data.max_prompt_length');
const responseKey = path('data.max_response_length');
const samplesKey = path('actor_rollout_ref.rollout.n');
const checkpointKey = path('actor_rollout_ref.model.enable_gradient_checkpointing');
const rankKeys = [path('actor_rollout_ref.model.lora_rank'), path('actor_rollout_ref.model.lora.rank'), path('model.lora_rank')];
const targetKeys = [path('actor_rollout_ref.model.target_modules'), path('model.target_modules')];
const projectKeys = [path('trainer.project_name'), path('trainer.experiment_name')];
const strategyKey = path(`${actor}.strategy`);
const dynamicOfSft = path('data.use_dynamic_bsz');
const dynamicKeys = [path(`${actor}.use_dynamic_bsz`), dynamicOfSft];
const mostTokensKey = path(`${actor}.ppo_max_token_len_per_gpu`);
const mostTokensOfSft = path('data.max_token_len_per_gpu');

/** More sequences of a micro-batch than anything trains. */
const mostPacked = 65536;

const known = new Map(tableReads(table).map(([key, { words }]) => [key, words]));
for (const key of [
  promptKey,
  responseKey,
  samplesKey,
  checkpointKey,
  strategyKey,
  ...projectKeys,
  ...rankKeys,
  ...targetKeys,
  ...dynamicKeys,
  mostTokensKey,
  mostTokensOfSft,
])
  known.set(key, 'one');

/** Its FSDP engine splits no weights: Ulysses divides sequences. */
const onFsdp: Program = {
  name: 'verl with FSDP',
  traits: { runtime: 'fsdp1' },
  capabilities: {
    name: 'verl with FSDP',
    source: 'volcengine/verl at b178a3cd, verl/workers/config/engine.py 169 to 174',
    setBy: setBy(['context', 'microBatch', 'recompute', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    // weights and reductions in fp32, flash_attention_2 (verl/workers/fsdp_workers.py)
    silent: { gradAccumulationFp32: true, fusedCrossEntropy: false, attentionKernel: 'flash2' },
  },
};

/** verl's trainers, started by `python -m` with settings as Hydra takes them. */
export const verlProgram: ShellProgram = {
  format: 'verl',
  isIts: isVerlScript,
  settings: { words: (key) => known.get(key), override: /^\+{0,2}([A-Za-z_][\w.]*)=/ },
  read: (flags) => {
    const read = factsOfTable(table, flags);
    const project = projectModel(read, flags);
    const written = { ...defaultNodes(flags), ...read, ...(project && { flavor: project }) };
    const sized = { ...written, ...sampleLength(flags), ...responseBatch(written, flags) };
    const whole = { ...sized, ...wholeBatch(sized) };
    const facts = {
      ...whole,
      ...packedBatch(whole, flags),
      ...backendDefaults(written, flags),
      ...(written.recomputeGranularity === undefined && recomputeDefaults(flags)),
    };
    const rank = rankKeys.map((key) => flagFact(flags.get(key), count(0))).find((found) => found !== undefined);
    const model = flags.get(mainKey);
    return {
      facts,
      notes: [...(model === undefined ? [] : [policyOnly(placeOfValue(model))]), ...projectNotes(project)],
      modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
      ...(facts.distributedOptimizer === undefined && { program: onFsdp }),
      ...readActorAdapters(rank, flags),
    };
  },
};

/** A path that a person is to replace: `/YOUR_MODELPATH`. */
const placeholder = /\byour_|\byour-|<[^>]*>|path[_/-]?to\b/i;

/** Whether a path names no model itself: `/path/to/Qwen2.5-7B` and `/data/your_team/Qwen2.5-7B` do. */
function isPlaceholder(model: string): boolean {
  return placeholder.test(model) && modelOfHub(model).config === null;
}

/** The model that the project is named after, whole (`Qwen2.5-32B`), where the path of the model is left for a person to fill in. */
function projectModel({ flavor }: Facts, flags: ReadonlyMap<string, LocatedFlag>): Fact<string> | undefined {
  if (flavor === undefined || !isPlaceholder(flavor.value)) return undefined;
  return projectKeys
    .map((key) => flagFact(flags.get(key), word))
    .find((name) => name !== undefined && modelOfHub(name.value).config !== null);
}

function projectNotes(project: Fact<string> | undefined): readonly Finding[] {
  if (project?.source.kind !== 'file') return [];
  return [
    {
      code: 'sizes-of-launcher',
      severity: 'information',
      place: project.source.place,
      message: sentence`The path of the model is a placeholder: ${quoted(project.value)}, which the run is named after, is planned`,
      remedy: sentence`name the model that you train`,
      fixes: [],
    },
  ];
}

/** LoRA of the actor where its rank is above 0, on all linear layers unless others are named (verl/trainer/config/model/hf_model.yaml). */
function readActorAdapters(rank: Fact<number> | undefined, flags: ReadonlyMap<string, LocatedFlag>): { readonly adapters?: GivenAdapters } {
  if (rank?.source.kind !== 'file' || rank.value === 0) return {};
  const targets = targetKeys.map((key) => flagFact(flags.get(key), { ...names, words: 'one' })).find((found) => found !== undefined);
  const defaults = { rank: rank.value, targets: [allLinear], reason: sentence`verl's default` };
  const written = targets && targets.value.length > 0 ? { targets } : {};
  return { adapters: { place: rank.source.place, name: rank.name ?? 'lora_rank', rank, ...written, defaults } };
}

/** Of reinforcement learning one node of 8 GPUs unless set otherwise (verl/trainer/config/ppo_trainer.yaml). */
function defaultNodes(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  if (!flags.has(mainKey)) return {};
  const reason = sentence`verl's default`;
  return {
    ...(!flags.has('trainer.nnodes') && { nodes: byDefault(1, reason) }),
    ...(!flags.has(path('trainer.n_gpus_per_node')) && { gpusPerNode: byDefault(8, reason) }),
  };
}

/** A sample is its prompt and the response to it. */
function sampleLength(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const [prompt, response] = [flagFact(flags.get(promptKey), sizes), flagFact(flags.get(responseKey), sizes)];
  if (prompt === undefined || response === undefined) return {};
  return { sequenceLength: { value: prompt.value + response.value, source: { kind: 'default', reason: sentence`${prompt.value} tokens of the prompt and ${response.value} of the response` } } }; // prettier-ignore
}

/** A mini-batch is this many prompts, each with as many responses as are drawn (verl/workers/fsdp_workers.py). */
function responseBatch({ globalBatch }: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const samples = flagFact(flags.get(samplesKey), sizes);
  if (globalBatch === undefined || samples === undefined || samples.value === 1) return {};
  const value = globalBatch.value * samples.value;
  if (value > largestCount) return {};
  return {
    globalBatch: {
      value,
      source: { kind: 'default', reason: sentence`${globalBatch.value} prompts with ${samples.value} responses each` },
    },
  };
}

/** Replicas of the actor; null where the GPUs are not known, or make no whole number of them. */
function actorReplicas({ nodes, gpusPerNode, tensor, pipeline, context }: Facts): number | null {
  if (gpusPerNode === undefined) return null;
  const sizes = (tensor?.value ?? 1) * (pipeline?.value ?? 1) * (context?.value ?? 1);
  const replicas = ((nodes?.value ?? 1) * gpusPerNode.value) / sizes;
  return Number.isInteger(replicas) ? replicas : null;
}

/** A mini-batch loses what does not make a sample more on every replica (`ppo_mini_batch_size //=` of verl/workers/fsdp_workers.py). */
function wholeBatch(facts: Facts): Facts {
  const { globalBatch } = facts;
  const replicas = actorReplicas(facts);
  if (globalBatch === undefined || replicas === null || globalBatch.value % replicas === 0 || globalBatch.value < replicas) return {};
  const batch = Math.floor(globalBatch.value / replicas) * replicas;
  return { globalBatch: byDefault(batch, sentence`as many of ${globalBatch.value} samples as ${replicas} replicas share alike`) };
}

/**
 * With a dynamic batch size micro-batches are packed by tokens, and their size in sequences is not read
 * (verl/trainer/config/actor/actor.yaml and sft_trainer_engine.yaml, whose numbers of tokens these are; `validate_config` of
 * verl/utils/config.py): planned are as many sequences as fit whole and divide the batch of a replica.
 */
function packedBatch(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  if (!dynamicKeys.some((key) => flagFact(flags.get(key), { ...on(true), words: 'one' })?.value === true)) return {};
  const { sequenceLength, globalBatch, context } = facts;
  const isSft = flags.has(dynamicOfSft);
  const tokens = flagFact(flags.get(isSft ? mostTokensOfSft : mostTokensKey), sizes)?.value ?? (isSft ? 8192 : 16384);
  const batch = (globalBatch?.value ?? 0) / (actorReplicas(facts) ?? 0);
  const most = Math.floor((tokens * (context?.value ?? 1)) / (sequenceLength?.value ?? Infinity));
  const sequences = Number.isInteger(batch) ? greatestDivisor(batch, Math.min(most, mostPacked)) : 1;
  return { microBatch: byDefault(sequences, sentence`use_dynamic_bsz fills micro-batches by tokens, not by sequences`) };
}

/** FSDP shards weights, gradients and optimizer; Megatron Core's optimizer is the distributed one. */
function backendDefaults({ tensor, pipeline, expert, context }: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const strategy = flagFact(flags.get(strategyKey), word)?.value;
  const usesMegatron = strategy === 'megatron' || [tensor, pipeline, expert].some((size) => size !== undefined);
  const precision = byDefault('bf16' as const, sentence`verl trains in bf16`);
  return usesMegatron
    ? { precision, distributedOptimizer: byDefault(true, sentence`verl's Megatron backend uses the distributed optimizer`) }
    : {
        precision,
        zeroStage: byDefault(3, sentence`FSDP shards weights, gradients and optimizer state`),
        ...(context && { contextCommunication: byDefault('ulysses', sentence`verl's FSDP backend has Ulysses for long sequences`) }),
      };
}

/** On unless it is turned off (verl/trainer/config/model/hf_model.yaml). */
function recomputeDefaults(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const given = flagFact(flags.get(checkpointKey), { ...on(true), words: 'one' });
  if (given?.value === false) return {};
  const reason = sentence`verl recomputes layer by layer unless enable_gradient_checkpointing is off`;
  const full: Fact<string> = given === undefined ? byDefault('full', reason) : { ...given, value: 'full' };
  return { recomputeGranularity: full, recomputeMethod: byDefault('uniform', reason), recomputeLayers: byDefault(1, reason) };
}

import { byDefault } from '../../domain/located';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { count, fixed, names, on, share } from '../../languages/reads';
import { createResolver } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import { allLinear, type GivenAdapters } from '../../run/adapters';
import type { Facts, LauncherFile, Program } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly, type OtherModel } from '../tables/launcher-file';
import { gradientType, masterType, typeBytes } from '../tables/optimizer-facts';
import { attentionRows, knownWord, pathWord, sizeUnlessOpen, torchDtypes, whether, word } from '../tables/reads';
import { coreKeys } from '../megatron/core-keys';
import { joined, row, under, type Table } from '../tables/table';
import { readAllocation, readAllocations, type Allocation } from './allocation';

/** Fields of `TrainEngineConfig` and of the experiment. */
const keys: Table = {
  flavor: [row('actor.path', pathWord)],
  precision: [row('actor.dtype', knownWord({ ...torchDtypes, bf16: 'bf16' }))],
  optimizer: [row('actor.optimizer.type', word)],
  recomputeGranularity: [row('actor.gradient_checkpointing', whether('full', 'none'))],
  gpusPerNode: [row('cluster.n_gpus_per_node', sizeUnlessOpen)],
};

const coreTable: Table = {
  ...under(['actor.megatron.', 'actor.megatron.ddp.'], coreKeys),
  masterWeightBytes: [row('actor.megatron.main_params_dtype', masterType)],
  firstMomentBytes: [row('actor.megatron.exp_avg_dtype', typeBytes)],
  secondMomentBytes: [row('actor.megatron.exp_avg_sq_dtype', typeBytes)],
  gradAccumulationFp32: [row('actor.megatron.ddp.grad_reduce_in_fp32', on(true)), row('actor.megatron.main_grads_dtype', gradientType)],
  distributedOptimizer: [row('actor.megatron.ddp.use_distributed_optimizer', on(true))],
};

const megatronKeys: Table = joined(keys, coreTable);

const torchKeys: Table = {
  ...keys,
  ...attentionRows('actor.attn_impl'),
  offloadParameters: [row('actor.fsdp.offload_params', fixed('cpu')), row('actor.archon.offload_params', fixed('cpu'))],
  offloadOptimizer: [row('actor.fsdp.offload_params', fixed('cpu')), row('actor.archon.offload_params', fixed('cpu'))],
};

const onFsdp = program('AReaL with FSDP2', 'fsdp1', ['tensor', 'context'], 'areal/engine/fsdp_engine.py and fsdp_utils/parallel.py 385');
const onArchon = program('AReaL with Archon', 'torchtitan', ['tensor', 'pipeline', 'context', 'expert'], 'areal/experimental/engine/archon_engine.py'); // prettier-ignore

function program(name: string, runtime: 'fsdp1' | 'torchtitan', sizes: Parameters<typeof setBy>[0], file: string): Program {
  return {
    name,
    traits: { runtime },
    capabilities: {
      name,
      source: `inclusionAI/AReaL at 4aef98d8, ${file}`,
      setBy: setBy([...sizes, 'microBatch', 'recompute']),
      refuses: [],
      recomputes: wholeLayersOnly,
      silent: { recomputeGranularity: 'none', recomputeMethod: 'uniform', recomputeLayers: 1, precision: 'bf16', fusedCrossEntropy: false },
    },
  };
}

/**
 * A YAML of AReaL (`areal/api/cli_args.py`, read by OmegaConf). The plan is the training step of the actor (in fine-tuning, of the
 * model) on the ranks that its `backend` names; batches are packed by tokens.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readAreal(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text);
  const reader = createKeyReader(document, createResolver(document.root));
  const { actor, rollout } = allocations(reader);
  const isMegatron = actor?.backend === 'megatron';
  const written = reader.facts(isMegatron ? megatronKeys : torchKeys);
  const isGenerated = generates(document);
  const sequenceLength = sequence(reader, isGenerated, takesTurns(document));
  const batch = stepBatch(reader, isGenerated);
  const facts: Facts = {
    ...(actor && ranks(actor, written)),
    ...(sequenceLength && { sequenceLength }),
    ...(batch && { globalBatch: batch }),
    ...packing(reader, sequenceLength?.value, batch?.value, actor),
    ...(isMegatron ? ofMegatron : ofTorch),
    ...layerByLayer(written),
    ...written,
  };
  const base = launcherFile(document, 'areal', facts, reader);
  return {
    ...base,
    remarks: [...base.remarks, ...otherModels(reader, base, rollout)],
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    ...(actor !== null && !isMegatron && { program: actor.backend === 'archon' ? onArchon : onFsdp }),
    ...readAdapters(reader),
  };
}

interface Engines {
  readonly actor: Allocation | null;
  readonly rollout: Allocation | null;
}

function allocations(reader: KeyReader): Engines {
  const one = (name: string): Allocation | null => readAllocation(reader.one(name, word)?.value ?? '');
  const older = readAllocations(reader.one('allocation_mode', word)?.value ?? '');
  const serves = ({ backend }: Allocation): boolean => backend === 'sglang' || backend === 'vllm';
  return {
    actor: one('actor.backend') ?? older.find((engine) => !serves(engine)) ?? null,
    rollout: one('rollout.backend') ?? older.find(serves) ?? null,
  };
}

function ranks({ tensor, pipeline, context, data, expert, expertTensor, gpus }: Allocation, { gpusPerNode }: Facts): Facts {
  const reason = sentence`the backend of the actor`;
  const node = gpusPerNode?.value ?? 8;
  return {
    tensor: byDefault(tensor, reason),
    pipeline: byDefault(pipeline, reason),
    context: byDefault(context, reason),
    data: byDefault(data, reason),
    expert: byDefault(expert, reason),
    ...(expertTensor !== null && { expertTensor: byDefault(expertTensor, reason) }),
    world: byDefault(gpus, reason),
    ...(gpus % node === 0 && { nodes: byDefault(gpus / node, reason) }),
  };
}

/** The longest sequence: of fine-tuning, a sample; else a prompt and its response, or all turns of an agent together. */
function sequence(reader: KeyReader, isGenerated: boolean, hasTurns: boolean): Facts['sequenceLength'] {
  const prompt = reader.one('train_dataset.max_length', count(1))?.value;
  if (!isGenerated) return prompt === undefined ? packedSequence(reader) : byDefault(prompt, sentence`the longest sample of the data`);
  const most = reader.one('gconfig.max_tokens', count(1))?.value;
  if (most !== undefined && (hasTurns || prompt === undefined))
    return byDefault(most, sentence`gconfig.max_tokens: ${hasTurns ? sentence`all turns` : sentence`prompt and response`}`);
  const longest = reader.one('gconfig.max_new_tokens', count(1))?.value ?? defaultResponse;
  const response = Math.min(longest, Math.max(1, (most ?? Infinity) - (prompt ?? 0)));
  return byDefault((prompt ?? 0) + response, sentence`${prompt ?? 0} tokens of the prompt and ${response} of the response`);
}

function packedSequence(reader: KeyReader): Facts['sequenceLength'] {
  const tokens = reader.one('actor.mb_spec.max_tokens_per_mb', count(1));
  return tokens && byDefault(tokens.value, sentence`no length is set: a packed micro-batch is planned as one sequence`);
}

/** `max_new_tokens` of `GenerationHyperparameters`. */
const defaultResponse = 16_384;

/** Whether the run generates what it trains on, as PPO and its kin do: it samples, or has an engine that does. */
function generates({ root }: YamlDocument): boolean {
  return root.entries.has('gconfig') || root.entries.has('rollout');
}

/** Whether an agent generates, in several turns whose tokens add up: it has an environment, or a client of its own. */
function takesTurns({ root }: YamlDocument): boolean {
  const rollout = root.entries.get('rollout')?.value;
  const hasClient = rollout?.kind === 'map' && ['openai', 'agent'].some((key) => rollout.entries.has(key));
  return hasClient || ['econfig', 'agent_run_args', 'max_turns'].some((key) => root.entries.has(key));
}

/** `ppo_n_minibatches` of `PPOActorConfig`; engines of fine-tuning make one update. */
const defaultUpdates = 4;

/** Sequences of one update: prompts times the samples of each, in as many updates as `ppo_n_minibatches`. */
function stepBatch(reader: KeyReader, isGenerated: boolean): Facts['globalBatch'] {
  const prompts = reader.one('train_dataset.batch_size', count(1));
  if (prompts === undefined) return undefined;
  const samples = reader.one('gconfig.n_samples', count(1))?.value ?? 1;
  const updates = reader.one('actor.ppo_n_minibatches', count(1))?.value ?? (isGenerated ? defaultUpdates : 1);
  const batch = Math.max(1, Math.round((prompts.value * samples) / updates));
  return byDefault(batch, sentence`${prompts.value} prompts, ${samples} samples of each, in ${updates} updates`);
}

/** Sequences of a packed micro-batch: as many as its tokens take that also divide the share of a replica. */
function packing(reader: KeyReader, length: number | undefined, batch: number | undefined, actor: Allocation | null): Facts {
  const tokens = reader.one('actor.mb_spec.max_tokens_per_mb', count(1))?.value;
  if (tokens === undefined || length === undefined) return {};
  const most = Math.max(1, Math.floor(tokens / length));
  const shareOfRank = (batch ?? 0) / (actor?.data ?? 1);
  const divides = (size: number): boolean => shareOfRank === 0 || shareOfRank % size === 0;
  const size = Array.from({ length: Math.min(most, 4096) }, (_, index) => Math.min(most, 4096) - index).find(divides) ?? 1;
  return { microBatch: byDefault(size, sentence`sequences of ${length} tokens are packed into micro-batches of at most ${tokens}`) };
}

const megatronReason = sentence`AReaL's default for Megatron Core`;
const ofMegatron: Facts = {
  precision: byDefault('bf16', megatronReason),
  distributedOptimizer: byDefault(true, megatronReason),
  recomputeGranularity: byDefault('none', megatronReason),
};

/** The engines load weights in `dtype`, and update them as they are. */
const loaded = sentence`AReaL trains weights in the type that it loads them in`;
const ofTorch: Facts = {
  precision: byDefault('bf16', sentence`AReaL's default dtype`),
  zeroStage: byDefault(3, sentence`FSDP2 shards weights, gradients and optimizer state`),
  masterWeightBytes: byDefault(0, loaded),
  gradAccumulationFp32: byDefault(false, loaded),
};

function layerByLayer({ recomputeGranularity }: Facts): Facts {
  if (recomputeGranularity?.value !== 'full') return {};
  const reason = sentence`AReaL recomputes layer by layer`;
  return { recomputeMethod: byDefault('uniform', reason), recomputeLayers: byDefault(1, reason) };
}

/** Engines in addition to the one that trains; none for fine-tuning. */
function otherModels(reader: KeyReader, { place }: LauncherFile, rollout: Allocation | null): LauncherFile['remarks'] {
  const memory = ['sglang.mem_fraction_static', 'vllm.gpu_memory_utilization'].map((name) => reader.one(name, share)?.value);
  const memoryShare = rollout?.backend === 'vllm' ? memory[1] : memory[0];
  const engine = (name: string, role: string): readonly OtherModel[] => {
    if (reader.one(`${role}.path`, word) === undefined) return [];
    const gpus = readAllocation(reader.one(`${role}.backend`, word)?.value ?? '')?.gpus;
    return [{ name, gpus }];
  };
  const others = [
    ...(rollout === null ? [] : [{ name: 'rollout', gpus: rollout.gpus, memoryShare }]),
    ...engine('reference', 'ref'),
    ...engine('critic', 'critic'),
    ...engine('teacher', 'teacher'),
  ];
  return others.length === 0 ? [] : [policyOnly(place, others)];
}

/** LoRA of peft, on all linear layers unless others are named. */
function readAdapters(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const isOn = reader.one('actor.use_lora', on(true));
  if (isOn?.value !== true || isOn.source.kind !== 'file') return {};
  const kind = reader.one('actor.peft_type', word);
  const rank = reader.one('actor.lora_rank', count(1));
  const targets = reader.one('actor.target_modules', names);
  const adapters: GivenAdapters = {
    place: isOn.source.place,
    name: 'actor.use_lora',
    ...(kind === undefined || /^lora$/i.test(kind.value) ? {} : { unlike: kind.value }),
    ...(rank && { rank }),
    ...(targets && targets.value.length > 0 && { targets }),
    defaults: { rank: 32, targets: [allLinear], reason: sentence`AReaL's default` },
  };
  return { adapters };
}

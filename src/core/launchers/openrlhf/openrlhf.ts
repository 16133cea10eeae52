import { allLinear, type GivenAdapters } from '../../run/adapters';
import { byDefault } from '../../domain/located';
import type { Facts } from '../../run/facts';
import { count, fixed, names, on, share } from '../../languages/reads';
import { greatestDivisor } from '../../numbers';
import { sentence } from '../../sentence';
import { policyOnly, type OtherModel } from '../tables/launcher-file';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { attentionRows, knownWord, pathWord, torchDtypes, word } from '../tables/reads';
import { factsOfTable, row, rows, tableReads, type FlagTable } from '../tables/table';
import type { ShellProgram } from '../shell/program';
import { isOpenRlhfScript } from './recognise';

type Flags = ReadonlyMap<string, LocatedFlag>;

const path = (name: string): string => name.replaceAll('_', '-');
const sizes = count(1);
const precisions = { ...torchDtypes, bf16: 'bf16', fp16: 'fp16' } as const;
const { attention, attentionKernel } = attentionRows(path('ds.attn_implementation'));

/** Flags of `openrlhf/cli/train_*.py`; of reinforcement learning those of the actor. */
const table: FlagTable = {
  flavor: rows(pathWord, path('actor.model_name_or_path'), path('model.model_name_or_path')),
  sequenceLength: rows(sizes, path('data.max_len'), path('train.max_len')),
  microBatch: [row(path('train.micro_batch_size'), sizes)],
  globalBatch: [row(path('train.batch_size'), sizes)],
  tensor: [row(path('ds.tensor_parallel_size'), sizes)],
  context: [row(path('ds.ring_attn_size'), sizes)],
  zeroStage: [row(path('ds.zero_stage'), count(0, 3))],
  offloadOptimizer: [row(path('ds.adam_offload'), fixed('cpu'))],
  precision: [row(path('ds.param_dtype'), knownWord(precisions))],
  gradAccumulationFp32: [row(path('ds.grad_accum_dtype'), knownWord({ fp32: true }))],
  attention,
  attentionKernel,
  recomputeGranularity: rows(fixed('full'), path('actor.gradient_checkpointing_enable'), path('model.gradient_checkpointing_enable')),
  fusedCrossEntropy: [row(path('ds.use_liger_kernel'), on(true))],
  optimizer: rows(word, 'actor.optim', 'optim'),
  nodes: [row(path('actor.num_nodes'), sizes), row('nnodes', sizes), row(path('num_nodes'), sizes)],
  gpusPerNode: [row(path('actor.num_gpus_per_node'), sizes), row(path('nproc_per_node'), sizes), row(path('num_gpus'), sizes)],
};

const dynamicKey = path('train.dynamic_batch_enable');
const tokensKey = path('train.max_tokens_per_gpu');
const rankKey = path('ds.lora.rank');
const targetsKey = path('ds.lora.target_modules');
const dropoutKey = path('ds.lora.dropout');
const fourBitKey = path('ds.load_in_4bit');
const memoryKey = path('vllm.gpu_memory_utilization');
const enginesKey = path('vllm.num_engines');
const engineTensorKey = path('vllm.tensor_parallel_size');
const klKey = path('algo.kl.init_coef');
const estimatorKey = path('algo.advantage.estimator');
const remoteKey = path('reward.remote_url');
const agentKey = path('train.agent_func_path');
const listGpuKeys = (role: string): readonly [nodes: string, gpus: string] => [
  path(`${role}.num_nodes`),
  path(`${role}.num_gpus_per_node`),
];

const known = new Map(tableReads(table).map(([key, { words }]) => [key, words]));
const single = [tokensKey, rankKey, dropoutKey, memoryKey, enginesKey, engineTensorKey, klKey, estimatorKey, remoteKey, agentKey];
for (const key of single.concat(['ref', 'reward', 'critic'].flatMap(listGpuKeys))) known.set(key, 'one');
known.set(targetsKey, 'many');
for (const key of [dynamicKey, fourBitKey]) known.set(key, 'none');

/** OpenRLHF's programs, started by `python -m` (over Ray), `deepspeed --module` or torchrun. */
export const openRlhfProgram: ShellProgram = {
  format: 'openrlhf',
  isIts: isOpenRlhfScript,
  settings: { words: (key) => known.get(key) },
  read: (flags) => {
    const written = factsOfTable(table, flags);
    const sized = { ...defaults(flags), ...written };
    const facts = { ...sized, ...packedBatch(sized, flags) };
    const policy = flags.get(path('actor.model_name_or_path'));
    const adapters = readAdapters(flags);
    return {
      facts,
      notes: policy === undefined ? [] : [policyOnly(placeOfValue(policy), otherModels(flags))],
      modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
      ...(adapters && { adapters }),
    };
  },
};

/** What differs between its programs. Reinforcement learning trains on the actor's GPUs only, one node of 8 unless set otherwise. */
function defaults(flags: Flags): Facts {
  const reason = sentence`OpenRLHF's default`;
  const isPolicy = flags.has(path('actor.model_name_or_path'));
  return {
    microBatch: byDefault(isPolicy ? 1 : 8, reason),
    ...(isPolicy && { nodes: byDefault(1, reason), gpusPerNode: byDefault(8, reason) }),
  };
}

/** With a dynamic batch size micro-batches are packed by tokens: as many sequences as fit whole and divide the batch of a replica. */
function packedBatch({ sequenceLength, globalBatch, nodes, gpusPerNode, tensor, context }: Facts, flags: Flags): Facts {
  if (!flags.has(dynamicKey)) return {};
  const most = Math.floor((flagFact(flags.get(tokensKey), sizes)?.value ?? 16192) / (sequenceLength?.value ?? 2048));
  const shared = (tensor?.value ?? 1) * (context?.value ?? 1);
  const replicas = ((nodes?.value ?? 1) * (gpusPerNode?.value ?? 0)) / shared;
  const batch = (globalBatch?.value ?? 128) / replicas;
  const sequences = Number.isInteger(batch) && most > 0 ? greatestDivisor(batch, most) : 1;
  return { microBatch: byDefault(sequences, sentence`train.dynamic_batch_enable packs micro-batches by tokens`) };
}

/** Models that a step needs in addition to the actor. Only PPO (`gae`) has a critic; a reward from a URL or an agent has no GPUs. */
function otherModels(flags: Flags): readonly OtherModel[] {
  const engines = flagFact(flags.get(enginesKey), sizes)?.value;
  const width = flagFact(flags.get(engineTensorKey), sizes)?.value ?? 1;
  const memoryShare = flagFact(flags.get(memoryKey), share)?.value;
  const estimator = flagFact(flags.get(estimatorKey), word)?.value ?? 'gae';
  const model = (name: string, role: string): OtherModel => {
    const [nodes, gpus] = listGpuKeys(role).map((key) => flagFact(flags.get(key), sizes)?.value);
    return { name, gpus: gpus === undefined ? undefined : (nodes ?? 1) * gpus };
  };
  const hasKl = flagFact(flags.get(klKey), word)?.value !== '0';
  const isScoredElsewhere = flags.has(remoteKey) || flags.has(agentKey);
  return [
    { name: 'rollout', gpus: engines === undefined ? undefined : engines * width, memoryShare },
    ...(hasKl ? [model('reference', 'ref')] : []),
    ...(estimator === 'gae' ? [model('critic', 'critic')] : []),
    ...(isScoredElsewhere ? [] : [model('reward', 'reward')]),
  ];
}

/** LoRA where its rank is above 0, on all linear layers unless others are named. */
function readAdapters(flags: Flags): GivenAdapters | undefined {
  const rank = flagFact(flags.get(rankKey), count(0));
  if (rank?.source.kind !== 'file' || rank.value === 0) return undefined;
  const targets = flagFact(flags.get(targetsKey), names);
  const dropout = flagFact(flags.get(dropoutKey), share);
  const fourBit = flagFact(flags.get(fourBitKey), on(true));
  return {
    place: rank.source.place,
    name: rank.name ?? '--ds.lora.rank',
    rank,
    ...(targets && targets.value.length > 0 && { targets }),
    ...(dropout && { dropout }),
    ...(fourBit?.value === true && { baseBits: { value: 4 as const, source: fourBit.source } }),
    defaults: { rank: rank.value, targets: [allLinear], reason: sentence`OpenRLHF's default` },
  };
}

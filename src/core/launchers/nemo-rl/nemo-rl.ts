import { allLinear, coreModules } from '../../run/adapters';
import { sectionSettings } from '../tables/adapters';
import { byDefault, type Place } from '../../domain/located';
import { optimizerKeys } from '../tables/optimizer-facts';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import type { Layer } from '../../languages/layers';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import type { Fact, Facts, LauncherFile, Program } from '../../run/facts';
import { coreKeys, fp8RecipeWords } from '../megatron/core-keys';
import { choice, count, fixed, on } from '../../languages/reads';
import { joined, row, lenient, under, type Table, written } from '../tables/table';
import { createKeyReader, factsPlace, type KeyReader } from '../tables/keys';
import { without } from '../../records';
import { launcherFile, policyOnly } from '../tables/launcher-file';
import { torchDtypes, word } from '../tables/reads';
import { createResolver } from '../../languages/yaml/references';
import { entryAt, parseYaml, mergedDocument, type YamlDocument } from '../../languages/yaml/document';

/** What both backends share. */
const policyKeys: Table = {
  flavor: [row('policy.model_name', word)],
  sequenceLength: [row('policy.max_total_sequence_length', count(1))],
  microBatch: [row('policy.train_micro_batch_size', count(1))],
  globalBatch: [row('policy.train_global_batch_size', count(1))],
  precision: [row('policy.precision', lenient(choice(torchDtypes)))],
  nodes: [row('cluster.num_nodes', count(1))],
  gpusPerNode: [row('cluster.gpus_per_node', count(1))],
};

/** Megatron Core. */
export const megatronKeys: Table = joined(
  {
    firstStageLayers: [row('policy.megatron_cfg.num_layers_in_first_pipeline_stage', count(1))],
    lastStageLayers: [row('policy.megatron_cfg.num_layers_in_last_pipeline_stage', count(1))],
    overlapGradReduce: [row('policy.megatron_cfg.distributed_data_parallel_config.overlap_grad_reduce', on(true))],
    overlapParamGather: [row('policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather', on(true))],
    ...under(['policy.megatron_cfg.optimizer.'], optimizerKeys),
    distributedOptimizer: [row('policy.megatron_cfg.optimizer.use_distributed_optimizer', on(true))],
  },
  joined(policyKeys, under(['policy.megatron_cfg.'], coreKeys)),
);

/** PyTorch's DTensor: tensor and context parallelism with FSDP2. */
export const dtensorKeys: Table = joined(policyKeys, {
  tensor: [row('policy.dtensor_cfg.tensor_parallel_size', count(1))],
  context: [row('policy.dtensor_cfg.context_parallel_size', count(1))],
  expert: [row('policy.dtensor_cfg.expert_parallel_size', count(1))],
  sequenceParallel: [row('policy.dtensor_cfg.sequence_parallel', on(true))],
  optimizer: [row('policy.optimizer.name', word)],
  recomputeGranularity: [
    row(
      'policy.dtensor_cfg.activation_checkpointing',
      written(fixed('full'), (value) => value === 'full'),
    ),
  ],
});

/** DTensor has no pipeline, and FSDP2 shards everything. */
const onTensors: Program = {
  name: 'NeMo-RL with DTensor',
  traits: { runtime: 'fsdp1' },
  capabilities: {
    name: 'NeMo-RL with DTensor',
    source: 'NVIDIA-NeMo/RL, nemo_rl/models/policy/workers/dtensor_policy_worker.py 300 and nemo_rl/models/dtensor/parallelize.py 507',
    setBy: setBy(['tensor', 'context', 'expert', 'sequenceParallel', 'microBatch', 'recompute']),
    refuses: [],
    recomputes: wholeLayersOnly,
    // reductions and logits in fp32
    silent: { gradAccumulationFp32: true, fusedCrossEntropy: false, recomputeGranularity: 'none' },
  },
};

/**
 * NeMo-RL: reinforcement learning and fine-tuning of a policy, whose training step is what is read. A file builds on others by `defaults`,
 * paths next to it (`nemo_rl/utils/config.py`); the model is one of Hugging Face, by its name or a folder.
 */
export const nemoRlFiles: Composition = {
  findBases: (layer) => {
    const value = parsed(layer).root.entries.get('defaults')?.value;
    const items = value === undefined || value.kind === 'map' ? [] : value.kind === 'list' ? value.items : [value];
    return items.flatMap((item) => {
      if (item.kind !== 'scalar' || item.text.includes('${') || item.text === '') return [];
      return [{ written: item.text, place: { file: layer.file, range: item.range }, paths: [item.text] }];
    });
  },
  read: (layers) => {
    const document = mergedDocument(layers.map(parsed));
    const reader = createKeyReader(document, createResolver(document.root));
    const usesMegatron = reader.one('policy.megatron_cfg.enabled', on(true))?.value === true;
    const written = reader.facts(usesMegatron ? megatronKeys : dtensorKeys);
    const backend = usesMegatron ? asMegatronRuns(reader, written) : { ...written, ...sharded };
    const trained = withTrainingNodes(reader, layerByLayer(backend));
    const facts = usesMegatron ? trained : withLocalBatch(trained);
    const launcher = launcherFile(document, 'nemo-rl', facts, { ...reader, also: [policyOnly(placeOfPolicy(document, facts))] });
    const program = usesMegatron ? {} : { program: onTensors };
    return { ...launcher, ...program, modelFiles: modelFolders(facts), ...readNemoRlAdapters(reader, usesMegatron) };
  },
};

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text);
}

const sharded: Pick<Facts, 'zeroStage'> = {
  zeroStage: byDefault(3, sentence`FSDP2, which the DTensor backend of NeMo-RL uses, shards weights`),
};

/** Nothing is recomputed unless `activation_checkpointing` is on, whatever the granularity, and no pass is in FP8 unless that is on. */
function asMegatronRuns(reader: KeyReader, written: Facts): Facts {
  const { recomputeGranularity, recomputeModules } = written;
  const rest = without(written, 'recomputeGranularity', 'recomputeModules', 'recomputeMethod', 'recomputeLayers');
  const isOn = reader.one('policy.megatron_cfg.activation_checkpointing', on(true));
  const recompute = recomputeGranularity ?? (isOn && { ...isOn, value: 'full' });
  const isFp8 = reader.one('policy.megatron_cfg.fp8_cfg.enabled', on(true))?.value === true;
  const fp8 = isFp8 ? reader.one('policy.megatron_cfg.fp8_cfg.fp8', lenient(choice({ e4m3: 'fp8', hybrid: 'fp8' }))) : undefined;
  const fp8Recipe = isFp8 ? reader.one('policy.megatron_cfg.fp8_cfg.fp8_recipe', lenient(choice(fp8RecipeWords))) : undefined;
  return {
    ...rest,
    ...(fp8 && { precision: fp8 }),
    ...(fp8Recipe && { fp8Recipe }),
    ...(isOn?.value === true && recompute && { recomputeGranularity: recompute }),
    ...(isOn?.value === true && recompute?.value === 'selective' && recomputeModules && { recomputeModules }),
  };
}

/** The DTensor backend takes what a replica has at once where that is less than a micro-batch. */
function withLocalBatch(facts: Facts): Facts {
  const { microBatch, globalBatch, nodes, gpusPerNode, tensor, context } = facts;
  const world = (nodes?.value ?? 0) * (gpusPerNode?.value ?? 0);
  const replicas = world / ((tensor?.value ?? 1) * (context?.value ?? 1));
  const local = (globalBatch?.value ?? 0) / replicas;
  if (microBatch === undefined || !Number.isInteger(local) || local < 1 || local >= microBatch.value) return facts;
  return { ...facts, microBatch: { ...microBatch, value: local } };
}

function layerByLayer(facts: Facts): Facts {
  if (facts.recomputeGranularity?.value !== 'full') return facts;
  const reason = sentence`NeMo-RL recomputes layer by layer`;
  return { ...facts, recomputeMethod: byDefault('uniform', reason), recomputeLayers: byDefault(1, reason) };
}

/**
 * Generation that is not colocated has nodes of its own, or GPUs of the single node. Files do not always give the GPUs of the run's other
 * models: GPUs that are not divisible by the replicas are not all for training.
 */
function withTrainingNodes(reader: KeyReader, facts: Facts): Facts {
  const generation = 'policy.generation.colocated.';
  if (reader.one(`${generation}enabled`, on(true))?.value !== false) return facts;
  const free = less(facts.nodes, (facts.nodes?.value ?? 1) > 1 ? reader.one(`${generation}resources.num_nodes`, count(1)) : undefined);
  const gpus = less(facts.gpusPerNode, facts.nodes?.value === 1 ? reader.one(`${generation}resources.gpus_per_node`, count(1)) : undefined);
  const sizes = [facts.tensor, facts.pipeline, facts.context].reduce((product, size) => product * (size?.value ?? 1), 1);
  // the judges of NeMo Gym have nodes of the cluster (0.5), or others (later): where the batch shows that they have
  const perNode = gpus?.value ?? 0;
  const splitsBatch = (count = 0): boolean => ((facts.globalBatch?.value ?? 0) * sizes) % Math.max(1, count * perNode) === 0;
  const withoutJudges = less(free, reader.one('env.nemo_gym.num_gpu_nodes', count(0)));
  const nodes = splitsBatch(free?.value) || !splitsBatch(withoutJudges?.value) ? free : withoutJudges;
  const world = (nodes?.value ?? 0) * perNode;
  const expert = (facts.expert?.value ?? 1) * (facts.pipeline?.value ?? 1);
  const rest = without(facts, 'nodes', 'gpusPerNode');
  if (world % sizes !== 0 || world % expert !== 0) return { ...rest, ...(gpus && { gpusPerNode: gpus }) };
  return { ...rest, ...(nodes && { nodes }), ...(gpus && { gpusPerNode: gpus }) };
}

function less(all: Fact<number> | undefined, taken: Fact<number> | undefined): Fact<number> | undefined {
  return all === undefined || taken === undefined || taken.value >= all.value ? all : { ...all, value: all.value - taken.value };
}

function readNemoRlAdapters(reader: KeyReader, usesMegatron: boolean): Pick<LauncherFile, 'adapters'> {
  const name = usesMegatron ? 'policy.megatron_cfg.peft' : 'policy.dtensor_cfg.lora_cfg';
  const setting = reader.one(`${name}.enabled`, on(true));
  if (setting?.value !== true || setting.source.kind !== 'file') return {};
  const written = sectionSettings((key, read) => reader.one(`${name}.${key}`, read));
  const defaults = {
    rank: 8,
    targets: usesMegatron ? coreModules : [allLinear],
    ofCore: usesMegatron,
    reason: sentence`NeMo-RL's default`,
  };
  return { adapters: { place: setting.source.place, name, ...written, defaults } };
}

/** A folder of the model; a name of Hugging Face's hub is one only where somebody keeps it so. */
function modelFolders({ flavor }: Facts): LauncherFile['modelFiles'] {
  return flavor === undefined || /\s/.test(flavor.value) ? [] : [flavor];
}

/** The model of the policy, or the first value of a file that leaves it to another. */
function placeOfPolicy(document: YamlDocument, facts: Facts): Place {
  const entry = entryAt(document.root, ['policy', 'model_name']);
  const isHere = entry !== null && (entry.document ?? document).file === document.file;
  return isHere ? { file: document.file, range: entry.value.range } : factsPlace(document, facts);
}

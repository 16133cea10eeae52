import type { FactName, LauncherFile } from '../../formats/facts';
import type { LauncherFormat } from '../../formats/config-format';
import { engineOf } from '../../launchers/nanotron/engines';
import { mapAt, type YamlDocument, type YamlMap } from '../../languages/yaml/document';
import { bridgeKeys, megatronConfigKeys, megatronFlags, nanotronKeys, nemoKeys, neoxKeys, titanKeys, type KeyNames } from './key-names';
import type { SettingValue } from './desired-setting';

/** In what the YAML of one launcher is written otherwise than that of the others. */
export interface YamlDialect {
  /** Paths of each setting from the root of a file; the first is written where none is there. */
  readonly keys: (document: YamlDocument, launcher: LauncherFile) => KeyNames;
  /** What is not set is taken out; otherwise it is null, so that a remark behind it stays. */
  readonly removes: boolean;
  /** Where precisions stand that are switches of their own names; null: a precision is a value. */
  readonly switchesIn: ((document: YamlDocument) => readonly string[]) | null;
  /** What is written for values of ours that have other words. */
  readonly spelled: Readonly<Partial<Record<FactName, (value: SettingValue) => SettingValue>>>;
}

const shardings: Readonly<Record<number, string>> = { 2: 'optim_grads', 3: 'optim_grads_params' };

const bridge: YamlDialect = {
  keys: () => bridgeKeys,
  removes: false,
  switchesIn: null,
  spelled: {
    precision: (value) => (typeof value === 'string' ? `${value}_mixed` : value),
    zeroStage: (value) => (value === undefined ? undefined : (shardings[Number(value)] ?? 'optim')),
  },
};

/** Of each launcher whose YAML is edited. */
export const yamlDialects = {
  'megatron-yaml': {
    keys: (document) => (hasArguments(document) ? under('MODEL_ARGS.', megatronFlags) : megatronConfigKeys),
    removes: true,
    switchesIn: (document) => (hasArguments(document) ? ['MODEL_ARGS'] : []),
    spelled: {},
  },
  nemo: {
    keys: () => nemoKeys,
    removes: false,
    switchesIn: null,
    spelled: {
      distributedOptimizer: (value) => (value === true ? 'mcore_distributed_optim' : 'fused_adam'),
      precision: (value) => (value === 'bf16' ? 'bf16' : value === 'fp16' ? 16 : 32),
    },
  },
  'megatron-bridge': bridge,
  primus: {
    keys: (document) => under(overridesOf(document, 'megatron'), argumentNames),
    removes: false,
    switchesIn: (document) => overridesOf(document, 'megatron').split('.').slice(0, -1),
    spelled: {},
  },
  'primus-torchtitan': {
    keys: (document) => under(overridesOf(document, 'torchtitan'), titanKeys),
    removes: false,
    switchesIn: null,
    spelled: {},
  },
  'primus-bridge': {
    ...bridge,
    keys: (document) => under(overridesOf(document, 'megatron_bridge'), leavesOf(bridgeKeys)),
  },
  flagscale: { keys: flagScaleKeys, removes: false, switchesIn: (document) => [...trainOf(document), 'system'], spelled: {} },
  'nemo-rl': { keys: (_, { program }) => (program === undefined ? rlKeys : dtensorKeys), removes: false, switchesIn: null, spelled: {} },
  'gpt-neox': {
    keys: ({ root }) => (isDashed(root) ? spelledWith(neoxKeys, (name) => name.replaceAll('_', '-')) : neoxKeys),
    removes: true,
    switchesIn: null,
    spelled: { recomputeGranularity: (value) => value !== undefined },
  },
  'hf-trainer': { keys: ({ root }) => trainerKeys(root), removes: false, switchesIn: null, spelled: {} },
  nanotron: {
    keys: () => nanotronKeys,
    removes: false,
    switchesIn: null,
    spelled: {
      recomputeGranularity: (value) => value === 'full',
      sequenceParallel: (value) => (value === true ? 'REDUCE_SCATTER' : 'ALL_REDUCE'),
      schedule: (value) => engineOf(String(value)),
    },
  },
} as const satisfies Partial<Record<LauncherFormat, YamlDialect>>;

/** Launchers whose YAML is edited. */
export type YamlFormat = keyof typeof yamlDialects;

export function hasArguments({ root }: YamlDocument): boolean {
  return mapAt(root, ['MODEL_ARGS']) !== null;
}

function spelledWith(keys: KeyNames, spelling: (path: string) => string): KeyNames {
  return Object.fromEntries(Object.entries(keys).map(([fact, paths]) => [fact, paths.map(spelling)]));
}

function under(prefix: string, keys: KeyNames): KeyNames {
  return spelledWith(keys, (path) => prefix + path);
}

/** Names without their sections. */
function leavesOf(keys: KeyNames): KeyNames {
  return spelledWith(keys, (path) => path.slice(path.lastIndexOf('.') + 1));
}

/** Megatron-LM's flags as keys. */
const argumentNames: KeyNames = spelledWith(megatronFlags, (flag) => flag.slice(2).replaceAll('-', '_'));

/** `modules.pre_trainer.overrides.` of a Primus experiment; nothing for a preset, whose settings are at its root. */
function overridesOf({ root }: YamlDocument, backend: string): string {
  const modules = [...(mapAt(root, ['modules'])?.entries ?? [])];
  const own = modules.find(([, { value }]) => value.kind === 'map' && textAt(value, 'framework') === backend);
  return own === undefined ? '' : `modules.${own[0]}.overrides.`;
}

function textAt(map: YamlMap, name: string): string | null {
  const value = map.entries.get(name)?.value;
  return value?.kind === 'scalar' ? value.text : null;
}

/** A task has its training in a section; a file of the group `train` is that section. */
function trainOf({ root }: YamlDocument): readonly string[] {
  return root.entries.has('experiment') ? ['train'] : [];
}

const inModel: readonly FactName[] = ['layers', 'sequenceLength', 'maxPositions', 'microBatch', 'globalBatch'];

function flagScaleKeys(document: YamlDocument): KeyNames {
  const train = [...trainOf(document), ''].join('.');
  const named = Object.entries(argumentNames) as [FactName, readonly string[]][];
  return {
    ...Object.fromEntries(
      named.map(([fact, names]) => [fact, names.map((name) => `${train}${inModel.includes(fact) ? 'model' : 'system'}.${name}`)]),
    ),
    ...(train === '' ? {} : { nodes: ['experiment.runner.nnodes'], gpusPerNode: ['experiment.runner.nproc_per_node'] }),
  };
}

/** NeMo-RL's policy, whose names of lengths and batches its backends share. */
const policyKeys: KeyNames = {
  sequenceLength: ['policy.max_total_sequence_length'],
  microBatch: ['policy.train_micro_batch_size'],
  globalBatch: ['policy.train_global_batch_size'],
  precision: ['policy.precision'],
  nodes: ['cluster.num_nodes'],
  gpusPerNode: ['cluster.gpus_per_node'],
};

const rlKeys: KeyNames = {
  ...under('policy.megatron_cfg.', leavesOf(nemoKeys)),
  ...policyKeys,
  distributedOptimizer: ['policy.megatron_cfg.optimizer.use_distributed_optimizer'],
  overlapGradReduce: ['policy.megatron_cfg.distributed_data_parallel_config.overlap_grad_reduce'],
  overlapParamGather: ['policy.megatron_cfg.distributed_data_parallel_config.overlap_param_gather'],
  recomputeGranularity: ['policy.megatron_cfg.recompute_granularity'],
};

const dtensorKeys: KeyNames = {
  ...policyKeys,
  tensor: ['policy.dtensor_cfg.tensor_parallel_size'],
  context: ['policy.dtensor_cfg.context_parallel_size'],
  expert: ['policy.dtensor_cfg.expert_parallel_size'],
  sequenceParallel: ['policy.dtensor_cfg.sequence_parallel'],
  recomputeGranularity: ['policy.dtensor_cfg.activation_checkpointing'],
};

/** Axolotl's names, or those of the Trainer, which LLaMA-Factory and TRL take. */
function trainerKeys({ entries }: YamlMap): KeyNames {
  return {
    microBatch: [entries.has('base_model') ? 'micro_batch_size' : 'per_device_train_batch_size'],
    gradientAccumulation: ['gradient_accumulation_steps'],
    tensor: ['tensor_parallel_size'],
    context: ['context_parallel_size'],
  };
}

/** Whether keys of a GPT-NeoX file are written with dashes, as it takes them too. */
function isDashed({ entries }: YamlMap): boolean {
  const names = [...entries.keys()];
  return names.filter((name) => name.includes('-')).length > names.filter((name) => name.includes('_')).length;
}

import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import { ownLayer } from '../../languages/layers';
import type { Facts } from '../../run/facts';
import { coreKeys } from '../megatron/core-keys';
import { recipePrecision } from '../megatron-bridge/megatron-bridge';
import { count, on } from '../../languages/reads';
import { titanFile } from '../torchtitan/reader';
import { checkpointPath } from '../tables/checkpoint-facts';
import { joined, row, type Table } from '../tables/table';
import { createKeyReader, factsPlace } from '../tables/keys';
import { launcherFile, replacedKeys } from '../tables/launcher-file';
import { word, phrase } from '../tables/reads';
import type { YamlDocument } from '../../languages/yaml/document';
import { readSettings } from '../tables/settings';
import { readPrimusAdapters, environmentDefaults, mergedSettings, namedWithoutSizes, parsed, findPresets } from './presets';

/** Experiments whose trainer is TorchTitan: its settings by the names of its `JobConfig`, in YAML. */
export const primusTitanFiles: Composition = {
  findBases: (layer) => findPresets(layer, 'torchtitan'),
  read: (layers) => {
    const document = mergedSettings(layers, 'torchtitan');
    const settings = readSettings(document, environmentDefaults);
    const launcher = titanFile(document.file, document.text, settings);
    const facts = { ...launcher.facts, ...namedWithoutSizes(parsed(ownLayer(layers)), 'torchtitan', launcher.facts) };
    return { ...launcher, facts, format: 'primus-torchtitan', remarks: [...launcher.remarks, ...replacedKeys(document)] };
  },
};

const bridgeKeys: Table = joined(
  {
    flavor: [row('hf_path', word), row('flavor', word)],
    sequenceLength: [row('seq_length', count(1))],
    microBatch: [row('micro_batch_size', count(1))],
    globalBatch: [row('global_batch_size', count(1))],
    batchSchedule: [row('rampup_batch_size', phrase)],
    precision: [row('precision_config', recipePrecision)],
    distributedOptimizer: [row('use_distributed_optimizer', on(true))],
    loadCheckpoint: [row('load', checkpointPath)],
    checkpointFormat: [row('ckpt_format', word)],
    stagesBeforeReplicas: [row('use_tp_pp_dp_mapping', on(true))],
    overlapGradReduce: [row('overlap_grad_reduce', on(true))],
    overlapParamGather: [row('overlap_param_gather', on(true))],
  },
  coreKeys,
);

/** Experiments whose trainer is Megatron-Bridge: arguments of one of its recipes, which is Python and sets what they leave out. */
export const primusBridgeFiles: Composition = {
  findBases: (layer) => findPresets(layer, 'megatron_bridge'),
  read: (layers) => {
    const document = mergedSettings(layers, 'megatron_bridge');
    const reader = createKeyReader(document, environmentDefaults);
    const written = reader.facts(bridgeKeys);
    const facts = { ...written, ...namedWithoutSizes(parsed(ownLayer(layers)), 'megatron_bridge', written) };
    return {
      ...launcherFile(document, 'primus-bridge', facts, { ...reader, also: [sizesRemark(document, facts)] }),
      ...readPrimusAdapters(document),
    };
  },
};

function sizesRemark(document: YamlDocument, facts: Facts): Finding {
  return {
    code: 'sizes-unknown',
    severity: 'information',
    place: factsPlace(document, facts),
    message: sentence`Megatron-Bridge keeps the sizes of this model in the Python recipe that the file overrides`,
    remedy: sentence`name the model's HuggingFace config.json as "model" in a terapipe.json`,
    fixes: [],
  };
}

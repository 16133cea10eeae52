import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import type { Setting } from '../fact-table';
import type { Facts } from '../facts';
import { coreKeys } from '../megatron/core-keys';
import { recipePrecision } from '../megatron-bridge/megatron-bridge';
import { count, on } from '../shell/flag-reads';
import { titanFile } from '../torchtitan/reader';
import { createKeyReader, firstPlace, joined, key, type KeyTable } from '../yaml/keys';
import { launcherFile, replacedKeys } from '../yaml/launcher-file';
import { word, phrase } from '../yaml/reads';
import { removalOf } from '../yaml/removal';
import type { YamlDocument, YamlEntry, YamlMap } from '../yaml/yaml-document';
import { quoted } from '../../text';
import { environmentDefaults, mergedSettings, presetsOf } from './presets';

/** Experiments whose trainer is TorchTitan: its settings by the names of its `JobConfig`, in YAML. */
export const primusTitanFiles: Composition = {
  basesOf: (layer) => presetsOf(layer, 'torchtitan'),
  read: (layers) => {
    const document = mergedSettings(layers, 'torchtitan');
    const settings = new Map(settingsOf(document, document.root, ''));
    const launcher = titanFile(document.file, document.text, settings);
    return { ...launcher, format: 'primus-torchtitan', remarks: [...launcher.remarks, ...replacedKeys(document)] };
  },
};

function settingsOf(document: YamlDocument, map: YamlMap, prefix: string): (readonly [string, Setting])[] {
  return [...map.entries.values()].flatMap((entry) => {
    const name = prefix + entry.key;
    if (entry.value.kind === 'map') return settingsOf(document, entry.value, `${name}.`);
    const setting = settingOf(entry.document ?? document, entry, name);
    return setting === null ? [] : [[name, setting] as const];
  });
}

/** Null where only the run can tell the value, and for null itself: TorchTitan's own default holds then. */
function settingOf({ file, text }: YamlDocument, { key: _key, ...entry }: YamlEntry, name: string): Setting | null {
  const { value: node } = entry;
  const nodes = node.kind === 'list' ? node.items : [node];
  const values = nodes.map((item) => (item.kind === 'scalar' ? environmentDefaults(item, []) : { kind: 'unknown' as const }));
  const known = values.map((each) => (each.kind === 'value' ? each.value : undefined));
  if (node.kind !== 'list' && (known[0] ?? null) === null) return null;
  const whole = removalOf(text, { key: _key, ...entry }) ?? { start: entry.keyRange.start, end: entry.end };
  return {
    name,
    value: node.kind === 'list' ? known : known[0],
    described: node.kind === 'list' ? sentence`a list` : quoted(String(known[0])),
    place: { file, range: node.range },
    whole,
  };
}

const bridgeKeys: KeyTable = joined(
  {
    flavor: [key('hf_path', word), key('flavor', word)],
    sequenceLength: [key('seq_length', count(1))],
    microBatch: [key('micro_batch_size', count(1))],
    globalBatch: [key('global_batch_size', count(1))],
    batchSchedule: [key('rampup_batch_size', phrase)],
    precision: [key('precision_config', recipePrecision)],
    distributedOptimizer: [key('use_distributed_optimizer', on(true))],
    overlapGradReduce: [key('overlap_grad_reduce', on(true))],
    overlapParamGather: [key('overlap_param_gather', on(true))],
  },
  coreKeys,
);

/** Experiments whose trainer is Megatron-Bridge: arguments of one of its recipes, which is Python and sets what they leave out. */
export const primusBridgeFiles: Composition = {
  basesOf: (layer) => presetsOf(layer, 'megatron_bridge'),
  read: (layers) => {
    const document = mergedSettings(layers, 'megatron_bridge');
    const reader = createKeyReader(document, environmentDefaults);
    const facts = reader.facts(bridgeKeys);
    return launcherFile(document, 'primus-bridge', facts, { ...reader, also: [sizesRemark(document, facts)] });
  },
};

function sizesRemark(document: YamlDocument, facts: Facts): Finding {
  return {
    code: 'sizes-unknown',
    severity: 'information',
    place: firstPlace(document, facts),
    message: sentence`Megatron-Bridge keeps the sizes of this model in the Python recipe that the file overrides`,
    remedy: sentence`name the model's HuggingFace config.json as "model" in a terapipe.json`,
    fixes: [],
  };
}

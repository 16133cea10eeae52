import { count, share } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import type { LauncherFile } from '../../run/facts';
import { addArguments, noArguments } from '../megatron/yaml-arguments';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly } from '../tables/launcher-file';
import type { LocatedFlag } from '../tables/located-flag';
import { word } from '../tables/reads';
import { settingsOfFlags } from '../tables/written-settings';
import { swiftAdapters, swiftFacts, swiftWords } from './arguments';
import { swiftYamlProcesses } from './environment';

/**
 * A YAML of `megatron sft`, or of its trainers under Ray, whose section `train` has arguments and the GPUs of the trainer.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readMegatronSwiftYaml(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const flags = argumentsIn(document);
  const reader = createKeyReader(document, environmentOnly);
  const gpus = reader.one('train.gpus', count(1));
  const facts = { ...swiftYamlProcesses(reader), ...swiftFacts(flags), ...(gpus && { world: gpus }) };
  const base = launcherFile(document, 'megatron-swift-yaml', facts, { placeholders: () => [] });
  return {
    ...base,
    remarks: [...base.remarks, ...others(reader, base)],
    modelFiles: facts.flavor === undefined ? [] : [facts.flavor],
    written: { names: 'megatron', settings: settingsOfFlags(flags.values(), (key) => swiftWords(key) !== undefined) },
    ...swiftAdapters(flags),
  };
}

function argumentsIn(document: YamlDocument): ReadonlyMap<string, LocatedFlag> {
  const { root } = document;
  const found = noArguments();
  const ofAll = new Map([...root.entries].filter(([, { value }]) => value.kind !== 'map'));
  const train = root.entries.get('train')?.value;
  for (const map of [{ ...root, entries: ofAll }, ...(train?.kind === 'map' ? [train] : [])])
    addArguments(found, document, map, (written) => (written.includes('${') ? null : written));
  return found.flags;
}

/** What runs in addition to the trainer, with its GPUs. */
function others(reader: KeyReader, { place }: LauncherFile): LauncherFile['remarks'] {
  const kind = reader.one('rlhf_type', word)?.value.toLowerCase();
  if (kind === undefined) return [];
  const gpus = reader.one('rollout.gpus', count(1))?.value;
  const memoryShare = reader.one('rollout.vllm_gpu_memory_utilization', share)?.value;
  const teacher = reader.one('teacher_model', word) === undefined ? [] : [{ name: 'teacher' }];
  const reference = kind === 'gkd' ? [] : [{ name: 'reference' }];
  return [policyOnly(place, [...(gpus === undefined ? [] : [{ name: 'rollout', gpus, memoryShare }]), ...reference, ...teacher])];
}

import { byDefault } from '../../domain/located';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { count, fixed, on } from '../../languages/reads';
import { megatronDefaultValues } from './megatron-defaults';
import type { FlagWord, LocatedFlag } from '../tables/located-flag';
import { flagKey, flagTable, flagWords, megatronFacts, megatronRemarks } from './megatron-flags';
import { nvidia } from './forks/nvidia';
import { coreKeys, gated } from './core-keys';
import { sharedExperts, withoutIdleExperts } from './derived-facts';
import { joined, row, under, type Table } from '../tables/table';
import { createKeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { megatronArguments } from '../tables/written-settings';
import { environmentOnly, scalarValue } from '../../languages/yaml/references';
import { entryRemovalRange } from '../../languages/yaml/removal';
import { parseYaml, type YamlDocument, type YamlEntry, type YamlNode } from '../../languages/yaml/document';
import { sentence } from '../../sentence';

/**
 * Megatron-LM's `--yaml-cfg` (examples/gpt3/gpt_config.yaml): sizes in `language_model`, layout in `model_parallel`, the rest at the root.
 */
const configKeys: Table = joined(
  {
    gatedMlp: [row('swiglu', on(true)), row('language_model.gated_linear_unit', on(true)), row('language_model.activation_func', gated)],
    tiedEmbeddings: [row('untie_embeddings_and_output_weights', on(false))],
    attention: [row('use_flash_attn', fixed('flash'))],
    encoderLayers: [row('encoder_num_layers', count(1))],
    decoderLayers: [row('decoder_num_layers', count(1))],
    splitRank: [row('pipeline_model_parallel_split_rank', count(1))],
    decoderSequenceLength: [row('decoder_seq_length', count(1))],
  },
  under(['language_model.', 'model_parallel.', ''], coreKeys),
);

/** Where argparse takes something and the functional tests count on it. */
const defaultNames = ['tensor', 'pipeline', 'context', 'expert', 'sequenceParallel', 'distributedOptimizer'] as const;

/**
 * What a Megatron-LM YAML sets: `MODEL_ARGS` of a functional test, whose keys are command-line flags, or a `--yaml-cfg` file.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readMegatronYaml(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const args = document.root.entries.get('MODEL_ARGS');
  return args?.value.kind === 'map' ? readArguments(document, [...args.value.entries.values()]) : readConfig(document);
}

function readArguments(document: YamlDocument, entries: readonly YamlEntry[]): LauncherFile {
  const given = entries.filter(({ value }) => value.kind !== 'scalar' || scalarValue(value) !== null);
  const flags = new Map(given.map((entry) => [flagKey(entry.key), entryFlag(document, entry)]));
  const facts = megatronFacts(flags);
  const noticed = { remarks: () => megatronRemarks(flags, nvidia), placeholders: () => placeholderNames(document, flags) };
  return {
    ...launcherFile(document, 'megatron-yaml', { ...defaultsFor(facts, flags), ...facts }, noticed),
    written: megatronArguments(flags),
  };
}

function readConfig(document: YamlDocument): LauncherFile {
  const reader = createKeyReader(document, environmentOnly);
  const written = withoutIdleExperts(reader.facts(configKeys));
  const facts = { ...written, ...sharedExperts(written) };
  return launcherFile(document, 'megatron-yaml', { ...defaultsFor(facts, new Map()), ...facts }, reader);
}

function entryFlag(document: YamlDocument, entry: YamlEntry): LocatedFlag {
  const { file, text } = document;
  const whole = entryRemovalRange(text, entry);
  const words = nodeWords(file, entry.value);
  return { name: entry.key, place: { file, range: entry.keyRange }, words, ...(whole && { whole }) };
}

function nodeWords(file: string, node: YamlNode): readonly FlagWord[] {
  if (node.kind === 'map') return [];
  if (node.kind === 'list') return node.items.flatMap((item) => nodeWords(file, item));
  return [{ text: variable.test(node.text) ? null : node.text, place: { file, range: node.range } }];
}

/** `${NAME}` or `$NAME`, which the test runner fills from the environment. */
const variable = /\$(?:\{(\w+)\}|([A-Za-z_]\w*))/;

function placeholderNames(document: YamlDocument, flags: ReadonlyMap<string, LocatedFlag>): readonly string[] {
  const unknown = [...flags].flatMap(([name, { words }]) =>
    flagWords(name) === undefined ? [] : words.filter(({ text }) => text === null),
  );
  const names = unknown.flatMap(({ place }) => {
    const found = variable.exec(document.text.slice(place.range.start, Math.min(place.range.end, place.range.start + 1000)));
    return [found?.[1] ?? found?.[2] ?? []].flat();
  });
  return [...new Set(names)];
}

/** What argparse takes for flags that are missing; one whose value the environment gives stays open. */
function defaultsFor(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const isWritten = (name: (typeof defaultNames)[number]): boolean => (flagTable[name] ?? []).some((entry) => flags.has(entry.name));
  const missing = defaultNames.filter((name) => facts[name] === undefined && !isWritten(name));
  const reason = sentence`Megatron-LM takes it when the flag is not given`;
  return Object.fromEntries(missing.map((name): [string, Fact<unknown>] => [name, byDefault(megatronDefaultValues[name], reason)]));
}

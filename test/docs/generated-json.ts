import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gpuPresetNames, gpuTitle } from '../../src/core/cluster/presets';
import { namedSchedules } from '../../src/core/domain/schedule-names';
import { profileJsonSchema, withRules, type RootSchema } from './schema';

const root = path.resolve(import.meta.dirname, '../..');
const key = (name: string): string => `configuration.defaultGpu.${name}`;

type Json = Readonly<Record<string, unknown>>;

function parsed(file: string): Json {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Json;
}

/** A copy of a JSON value in which `change` has had a look at each object, the inner ones first. */
function changed(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((entry) => changed(entry, change));
  if (typeof value !== 'object' || value === null) return value;
  return change(Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, changed(entry, change)])));
}

const listsGpus = ({ enum: names }: Json): boolean => Array.isArray(names) && names.includes(gpuPresetNames[0]);

const listsSchedules = ({ enum: names }: Json): boolean => Array.isArray(names) && names.includes(namedSchedules[0]);

/** package.json with the GPUs and the schedules that settings may have. */
function manifest(): unknown {
  const descriptions = gpuPresetNames.map((name) => `%${key(name)}%`);
  return changed(parsed('package.json'), (object) =>
    listsGpus(object)
      ? { ...object, enum: gpuPresetNames, enumDescriptions: descriptions }
      : listsSchedules(object)
        ? { ...object, enum: ['all', ...namedSchedules] }
        : object,
  );
}

/** package.nls.json with the name of each GPU after the description of the setting. */
function texts(): unknown {
  const titles = gpuPresetNames.map((name) => [key(name), gpuTitle(name)] as const);
  const others = Object.entries(parsed('package.nls.json')).filter(([name]) => !name.startsWith(key('')));
  return Object.fromEntries(others.flatMap((entry) => (`${entry[0]}.` === key('') ? [entry, ...titles] : [entry])));
}

/** The schema of terapipe.json with the GPUs that it may name, and with values as their rules take them. */
function schema(file: string): unknown {
  return withRules(changed(parsed(file), (object) => (listsGpus(object) ? { ...object, enum: gpuPresetNames } : object)) as RootSchema);
}

/**
 * JSON files made from code: every GPU by the records of src/core/cluster, what a value of terapipe.json may be by the rules of
 * src/core/terapipe/fields.ts, and what a profile is by src/core/measured-profile.
 */
export const generatedJson: readonly { readonly file: string; readonly text: () => string }[] = [
  { file: 'package.json', text: () => JSON.stringify(manifest()) },
  { file: 'package.nls.json', text: () => JSON.stringify(texts()) },
  { file: 'media/schemas/profile.schema.json', text: () => JSON.stringify(profileJsonSchema()) },
  { file: 'media/schemas/terapipe.schema.json', text: () => JSON.stringify(schema('media/schemas/terapipe.schema.json')) },
];

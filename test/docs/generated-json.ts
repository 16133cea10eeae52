import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gpuPresetNames, gpuTitle } from '../../src/core/cluster/presets';
import { askedSchedules, namedSchedules, type ScheduleName } from '../../src/core/domain/schedule-names';
import { runtimeProfile, runtimes } from '../../src/core/domain/runtime';
import { scheduleDescriptions } from '../../src/core/schedules/descriptions';
import { interleavedKind } from '../../src/core/schedules/registry';
import { say } from '../../src/core/sentence';
import { answerSchemasText } from './answer-schemas';
import { agentTools, agentToolsText } from './agent-tools';
import { elasticRunJsonSchema, profileJsonSchema, torchPlanJsonSchema, withRules, type RootSchema } from './schema';

const root = path.resolve(import.meta.dirname, '../..');
const key = (name: string): string => `configuration.defaultGpu.${name}`;
const toolKey = (name: string): string => `languageModelTools.${name.replace('terapipe_', '')}`;

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

const listsRuntimes = ({ enum: names }: Json): boolean => Array.isArray(names) && names.includes(runtimes[0]);

/** The tools of agents as VS Code lists them: not in a browser, except one that shows an extension host of Node.js elsewhere. */
function languageModelTools(): unknown {
  return agentTools().map(({ name, description, inputSchema }) => ({
    name,
    displayName: `%${toolKey(name)}%`,
    toolReferenceName: name.replace('terapipe_', 'terapipe-'),
    canBeReferencedInPrompt: true,
    userDescription: `%${toolKey(name)}%`,
    modelDescription: description,
    icon: 'media/terapipe.svg',
    when: '!isWeb || remoteName',
    tags: ['terapipe', 'training'],
    inputSchema,
  }));
}

/** package.json with the GPUs and the schedules that settings may have, and the tools of agents. */
function manifest(): unknown {
  const descriptions = gpuPresetNames.map((name) => `%${key(name)}%`);
  const before = parsed('package.json');
  const contributes = { ...(before['contributes'] as Json), languageModelTools: languageModelTools() };
  return changed({ ...before, contributes }, (object) =>
    listsGpus(object)
      ? { ...object, enum: gpuPresetNames, enumDescriptions: descriptions }
      : listsSchedules(object)
        ? { ...object, enum: ['all', ...namedSchedules] }
        : object,
  );
}

/** package.nls.json with the name of each GPU after the description of the setting, and the titles of the tools of agents. */
function texts(): unknown {
  const titles = gpuPresetNames.map((name) => [key(name), gpuTitle(name)] as const);
  const others = Object.entries(parsed('package.nls.json')).filter(([name]) => !name.startsWith(key('')) && !name.startsWith(toolKey('')));
  return Object.fromEntries([
    ...others.flatMap((entry) => (`${entry[0]}.` === key('') ? [entry, ...titles] : [entry])),
    ...agentTools().map(({ name, title }) => [toolKey(name), title]),
  ]);
}

/** The schema of terapipe.json with the GPUs that it may name, and with values as their rules take them. */
function schema(file: string): unknown {
  return withRules(
    changed(parsed(file), (object) =>
      listsGpus(object) ? { ...object, enum: gpuPresetNames } : 'markdownEnumDescriptions' in object ? describedChoices(object) : object,
    ) as RootSchema,
  );
}

/** What code knows of each choice: schedules and runtimes have a text. */
function describedChoices(object: Json): Json {
  if (listsSchedules(object)) return { ...object, markdownEnumDescriptions: namedSchedules.map(scheduleText) };
  if (listsRuntimes(object)) return { ...object, markdownEnumDescriptions: runtimes.map((runtime) => runtimeProfile({ runtime }).name) };
  return object;
}

function scheduleText(name: ScheduleName): string {
  const interleaved = interleavedKind(name);
  const asked: readonly string[] = askedSchedules;
  return [
    say(scheduleDescriptions[name].text),
    ...(interleaved === undefined ? [] : [`With \`layout.virtualStages\` above 1: ${interleaved.name}.`]),
    ...(asked.includes(name) ? ['Planned only where it is asked for.'] : []),
  ].join(' ');
}

/**
 * JSON files made from code: every GPU by the records of src/core/cluster, what a value of terapipe.json may be by the rules of
 * src/core/terapipe/fields.ts, what a profile is by src/core/measured-profile, and what commands answer by src/api.
 */
export const generatedJson: readonly { readonly file: string; readonly text: () => string }[] = [
  { file: 'package.json', text: () => JSON.stringify(manifest()) },
  { file: 'package.nls.json', text: () => JSON.stringify(texts()) },
  { file: 'src/features/agents/json/tools.json', text: agentToolsText },
  { file: 'media/schemas/answers.schema.json', text: answerSchemasText },
  { file: 'media/schemas/profile.schema.json', text: () => JSON.stringify(profileJsonSchema()) },
  { file: 'media/schemas/torch-elastic.schema.json', text: () => JSON.stringify(elasticRunJsonSchema()) },
  { file: 'media/schemas/torch-plan.schema.json', text: () => JSON.stringify(torchPlanJsonSchema()) },
  { file: 'media/schemas/terapipe.schema.json', text: () => JSON.stringify(schema('media/schemas/terapipe.schema.json')) },
];

import { toJsonSchema } from '@valibot/to-json-schema';
import { elasticFields } from '../../src/core/terapipe/elastic-section';
import {
  calibrationFields,
  clusterFields,
  constantFields,
  gpuFields,
  latencyFields,
  layoutFields,
  instanceFields,
  linkFields,
  intraNodeBusFields,
  peakTflopsFields,
  keepFreeRule,
  schedulesRule,
  slicingFields,
  tableFields,
  trainingFields,
} from '../../src/core/terapipe/fields';
import { modelFields } from '../../src/core/run/written-model';
import { path as pathRule, type Rule } from '../../src/core/domain/settings/rules';
import { explainSetting, settingOfKey, settings } from '../../src/core/domain/settings/table';
import { say } from '../../src/core/sentence';
import { torchPlanSchema } from '../../src/core/export/torch/schema';
import { elasticRunSchema } from '../../src/features/elastic/core/torch-run-schema';
import { profileParts, profileSchema } from '../../src/core/measured-profile/schema';

/** The rules of every value of terapipe.json that is not a section, by section and key. */
export const rulesOfKeys: Readonly<Record<string, Readonly<Record<string, Rule<unknown>>>>> = {
  model: modelFields,
  cluster: { ...clusterFields, ...instanceFields },
  'cluster.groups': { nodes: clusterFields.nodes, gpusPerNode: clusterFields.gpusPerNode, ...instanceFields },
  'cluster.gpu': gpuFields,
  'cluster.gpu.peakTflops': peakTflopsFields,
  'cluster.links': linkFields,
  'cluster.links.intraNodeBusGBps': intraNodeBusFields,
  'cluster.links.allReduceLatencyUs': latencyFields,
  training: trainingFields,
  layout: layoutFields,
  slicing: slicingFields,
  cost: { ...constantFields, profile: pathRule },
  'cost.table': tableFields,
  calibration: calibrationFields,
  elastic: elasticFields,
  '': { schedule: settings.training.schedule.key, schedules: schedulesRule, keepFree: keepFreeRule },
};

interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
}

/** The schema of terapipe.json. */
export interface RootSchema extends ObjectSchema {
  readonly definitions: Readonly<Record<string, ObjectSchema>>;
}

/** What is written by hand of a property, in addition to what its rule gives. */
const annotations = new Set(['markdownDescription', 'markdownEnumDescriptions', 'default', 'defaultSnippets']);

/** The schema in which each value may be what its rule takes; descriptions and defaults stay. */
export function withRules(schema: RootSchema): RootSchema {
  const ruled = (section: string, object: ObjectSchema): ObjectSchema => {
    const rules = rulesOfKeys[section] ?? {};
    const properties = Object.entries(object.properties).map(([key, property]) => {
      const rule = rules[key];
      if (rule === undefined) return [key, property];
      const written = Object.entries(property).filter(([name]) => annotations.has(name));
      return [key, { ...plainSchema(rule), ...Object.fromEntries(written) }];
    });
    const added = Object.entries(rules).flatMap(([key, rule]) =>
      Object.hasOwn(object.properties, key) ? [] : [[key, { ...plainSchema(rule), ...describedAs(section, key) }]],
    );
    return { ...object, properties: Object.fromEntries([...properties, ...added]) as ObjectSchema['properties'] };
  };
  const sections = Object.keys(rulesOfKeys).filter((section) => section !== '');
  const definitions = Object.entries(schema.definitions).map(([name, object]) => {
    const section = sections.find((each) => each.split('.').at(-1) === name);
    return [name, section === undefined ? object : ruled(section, object)];
  });
  return { ...schema, ...ruled('', schema), definitions: Object.fromEntries(definitions) as RootSchema['definitions'] };
}

/** What a setting means, where nobody has described its key by hand. */
function describedAs(section: string, key: string): object {
  const name = settingOfKey(section === '' ? key : `${section}.${key}`);
  return name === null ? {} : { markdownDescription: say(explainSetting(name).meaning) };
}

/** The schema of a profile, whole: its descriptions are with its values. */
export function profileJsonSchema(): object {
  // A list of versions, which `v.record` would take, is refused before: the output schema is what is left.
  return toJsonSchema(profileSchema, { target: 'draft-07', definitions: profileParts, typeMode: 'output' });
}

/** The schema of the file that the PyTorch runtime trains from. */
export function torchPlanJsonSchema(): object {
  return toJsonSchema(torchPlanSchema, { target: 'draft-07' });
}

/** The schema of the file of a run that freezes layers. */
export function elasticRunJsonSchema(): object {
  return toJsonSchema(elasticRunSchema, { target: 'draft-07' });
}

/** The JSON schema of a rule; a value or null in one list of types, as editors show it best. */
function plainSchema({ schema }: Rule<unknown>): object {
  const { anyOf, ...whole } = toJsonSchema(schema, { target: 'draft-07' });
  const rest = Object.fromEntries(Object.entries(whole).filter(([name]) => name !== '$schema'));
  const [value, none] = anyOf ?? [];
  if (typeof value !== 'object' || typeof none !== 'object' || none.type !== 'null') return anyOf === undefined ? rest : { ...rest, anyOf };
  return { ...value, type: [value.type, 'null'] };
}

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { markdownTable } from './markdown';

const root = resolve(import.meta.dirname, '../..');

/** What is used of a JSON schema. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly markdownEnumDescriptions?: readonly string[];
  readonly enumDescriptions?: readonly string[];
  readonly markdownDescription?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema | readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly order?: number;
}

interface Manifest {
  readonly contributes: { readonly configuration: { readonly properties: Readonly<Record<string, Schema>> } };
}

interface RootSchema extends Schema {
  readonly definitions: Readonly<Record<string, Schema>>;
}

/**
 * The body of docs/configuration.md: every key of terapipe.json by section, from its JSON schema, and the settings of VS Code, from
 * package.json.
 */
export function configurationText(): string {
  const schema = readJson('media/schemas/terapipe.schema.json') as RootSchema;
  return [
    '# Configuration',
    '',
    'Every key of a `terapipe.json` and every setting of VS Code. Everything may be left out except `model`: the planner chooses what the files do not set, and reports it with the plan. Comments and trailing commas are allowed. On a terminal `--set KEY=VALUE` overrides a key, as `--set layout.tensor=8`.',
    '',
    '```jsonc',
    '{',
    '  "model": { "from": "config.json", "vocab": 0 },',
    '  "cluster": { "gpu": "V100-16GB", "nodes": 48, "gpusPerNode": 8 },',
    '  "training": { "sequenceLength": 2048, "globalBatch": 2, "precision": "fp16" },',
    '  "layout": { "tensor": 4, "pipeline": 96, "data": 1 },',
    '  "slicing": { "unit": 8 },',
    '}',
    '```',
    '',
    'This is setting (9) of the TeraPipe paper.',
    '',
    ...sectionsOf(schema),
    '## Settings of VS Code',
    '',
    ...settingsTable(),
    '',
  ].join('\n');
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

/** A section for the file and one for every object in it, each definition where it comes first. */
function sectionsOf(schema: RootSchema): string[] {
  const lines: string[] = [];
  const done = new Map<Schema, string>();
  const section = (path: string, object: Schema): void => {
    done.set(object, path);
    lines.push(`## ${path === '' ? 'The file' : path}`, '');
    if (path !== '' && object.markdownDescription !== undefined) lines.push(object.markdownDescription, '');
    const members = Object.entries(object.properties ?? {}).filter(([key]) => key !== '$schema');
    const required = new Set(object.required);
    lines.push(
      ...markdownTable(
        ['key', 'value', 'default', 'meaning'],
        members.map(([key, member]) => {
          const resolved = deref(schema, member);
          const inner = innerOf(schema, member)
            .map((one) => done.get(one))
            .find((known) => known !== undefined);
          const see = inner === undefined ? '' : ` As \`${inner}\`.`;
          return [
            `\`${key}\`${required.has(key) ? ', needed' : ''}`,
            valueText(schema, member),
            resolved.default === undefined ? '' : `\`${JSON.stringify(resolved.default)}\``,
            `${member.markdownDescription ?? resolved.markdownDescription ?? ''}${see}${choicesText(resolved)}`,
          ];
        }),
      ),
      '',
    );
    for (const [key, member] of members)
      for (const inner of innerOf(schema, member)) if (!done.has(inner)) section(`${path === '' ? '' : `${path}.`}${key}`, inner);
  };
  section('', schema);
  return lines;
}

function deref(schema: RootSchema, one: Schema): Schema {
  const name = one.$ref?.replace('#/definitions/', '');
  return name === undefined ? one : (schema.definitions[name] ?? one);
}

/** The objects that a value may be or hold. */
function innerOf(schema: RootSchema, member: Schema): readonly Schema[] {
  const one = deref(schema, member);
  const items = one.items === undefined ? [] : [one.items].flat();
  const inside = [...(one.anyOf ?? []), ...items].flatMap((each) => innerOf(schema, each));
  return [...(one.properties === undefined ? [] : [one]), ...inside];
}

function valueText(schema: RootSchema, member: Schema): string {
  const one = deref(schema, member);
  if (one.anyOf !== undefined) return one.anyOf.map((each) => valueText(schema, each)).join(', or ');
  if (one.enum !== undefined) return one.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (one.type === 'array') {
    const items = [one.items ?? []].flat();
    return `list of ${items.length === 0 ? 'anything' : items.map((each) => valueText(schema, each)).join(', then ')}`;
  }
  const [type = '', ...others] = [one.type ?? 'anything'].flat();
  return [`${type}${rangeText(one)}`, ...others].join(', or ');
}

function rangeText({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  const format = (value: number): string => value.toLocaleString('en-US');
  const low =
    exclusiveMinimum === undefined ? (minimum === undefined ? '' : `from ${format(minimum)}`) : `above ${format(exclusiveMinimum)}`;
  const high =
    exclusiveMaximum === undefined ? (maximum === undefined ? '' : `to ${format(maximum)}`) : `below ${format(exclusiveMaximum)}`;
  return [low, high]
    .filter((text) => text !== '')
    .map((text) => ` ${text}`)
    .join('');
}

function choicesText({ enum: choices = [], markdownEnumDescriptions, enumDescriptions }: Schema): string {
  const about = markdownEnumDescriptions ?? enumDescriptions ?? [];
  return about.map((text, index) => `<br>\`${String(choices[index])}\`: ${text}`).join('');
}

function settingsTable(): string[] {
  const nls = readJson('package.nls.json') as Readonly<Record<string, string>>;
  const { contributes } = readJson('package.json') as Manifest;
  const described = (text = ''): string => (nls[text.slice(1, -1)] ?? text).replace(/#(terapipe\.[\w.]+)#/g, '$1');
  const settings = Object.entries(contributes.configuration.properties).sort(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0));
  return markdownTable(
    ['setting', 'default', 'meaning'],
    settings.map(([key, setting]) => [
      `\`${key}\``,
      `\`${JSON.stringify(setting.default ?? null)}\``,
      `${described(setting.markdownDescription ?? setting.description)}${choicesText({ ...setting, enumDescriptions: (setting.enumDescriptions ?? []).map(described) })}`,
    ]),
  );
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { loadReader } from '../../../../../src/core/config-files/readers';
import { writtenInto } from '../../../../../src/core/export/launchers/edit-launcher';
import { parseYaml, type YamlMap, type YamlNode } from '../../../../../src/core/languages/yaml/document';
import { parseToml } from '../../../../../src/core/launchers/torchtitan/toml';
import type { LauncherFormat } from '../../../../../src/core/run/config-format';
import { shellReader } from '../../launchers/shell/shell-reader';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { editable, writerOf, type WrittenFormat } from './editors';
import { anyPlan } from './plans';

const fixtures = path.join(import.meta.dirname, '../../../../fixtures/launchers');

/** Keys of each launcher with their types (`int bool`, `=full =selective`, or nothing that its source has), by `test/witness/keys.py`. */
type Keys = Readonly<Record<string, string>>;
const tables = JSON.parse(readFileSync(path.join(fixtures, '../launcher-keys.json'), 'utf8')) as Readonly<
  Record<string, { readonly source: string; readonly keys: Keys }>
>;

function keysIn(table: string, prefix = '', under = ''): Keys {
  const { keys } = tables[table] ?? assert.fail(table);
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, type]) => (key.startsWith(under) ? [[prefix + key.slice(under.length), type]] : [])),
  );
}

function underscored(keys: Keys): Keys {
  return Object.fromEntries(Object.entries(keys).map(([name, type]) => [name.replaceAll('-', '_'), type]));
}

const flags = keysIn('megatron-lm');
const names = underscored(flags);
const core = keysIn('megatron-core');
const bridge = keysIn('megatron-bridge');
/** Of `torchrun` (torch/distributed/run.py), which scripts start, in either spelling. */
const starters = new Set([
  'standalone',
  'nproc-per-node',
  'nnodes',
  'node-rank',
  'master-addr',
  'master-port',
  'rdzv-id',
  'rdzv-backend',
  'rdzv-endpoint',
]);

function byLastName(keys: Keys): Keys {
  return Object.fromEntries(Object.entries(keys).map(([key, type]) => [key.split('.').at(-1) ?? '', type]));
}

/** What a table has of a path: its type; undefined: it has no such key. */
type Lookup = (path: string) => string | undefined;

/** A key by its last name, in whatever section a launcher has it. */
const byName =
  (keys: Keys): Lookup =>
  (at) =>
    keys[at.split('.').at(-1) ?? ''];

const takenFlag: Lookup = (flag) => (starters.has(flag.replaceAll('_', '-')) ? '' : flags[flag]);

const deepspeedKey: Lookup = (at) => {
  const { [at]: zero } = keysIn('deepspeed-zero');
  if (zero !== undefined || at.startsWith('zero_optimization.')) return zero;
  const words = keysIn('deepspeed');
  return at.split('.').every((word) => word in words) ? (words[at.split('.').at(-1) ?? ''] ?? '') : undefined;
};

/** Every file that is edited, with its launcher's keys. */
const files: readonly (readonly [file: string, format: LauncherFormat, lookup: Lookup])[] = [
  ['megatron-moe.sh', 'megatron-shell', takenFlag],
  ['shell/arrays.sh', 'megatron-shell', takenFlag],
  ['megatron-arguments.yaml', 'megatron-yaml', (at) => flags[at.replace(/^.*--/, '')]],
  ['megatron-config.yaml', 'megatron-yaml', byName({ ...names, ...keysIn('megatron-core', '', 'model.') })],
  ['nemo.yaml', 'nemo', (at) => ({ ...core, ...keysIn('nemo') })[at]],
  ['megatron-bridge.yaml', 'megatron-bridge', (at) => bridge[at]],
  ['primus.yaml', 'primus', byName({ ...names, ...keysIn('primus') })],
  ['primus-bridge.yaml', 'primus-bridge', byName({ ...byLastName(keysIn('primus-bridge')), ...byLastName(bridge) })],
  ['primus-torchtitan.yaml', 'primus-torchtitan', (at) => keysIn('torchtitan')[at.replace(/^.*overrides\./, '')]],
  ['flagscale.yaml', 'flagscale', (at) => keysIn('flagscale')[at] ?? byName(names)(at)],
  ['nemo-rl.yaml', 'nemo-rl', (at) => keysIn('nemo-rl')[at] ?? keysIn('megatron-core', 'policy.megatron_cfg.', 'model.')[at]],
  ['gpt-neox.yml', 'gpt-neox', (at) => (at === 'zero_optimization.stage' ? 'int' : keysIn('gpt-neox')[at.replaceAll('-', '_')])],
  ['nanotron.yaml', 'nanotron', (at) => keysIn('nanotron')[at]],
  ['torchtitan-2025.toml', 'torchtitan', (at) => keysIn('torchtitan')[at]],
  ['deepspeed.json', 'deepspeed', deepspeedKey],
];

/** Every new file that is written. */
const newFiles: readonly (readonly [format: WrittenFormat, file: string, lookup: Lookup])[] = [
  ['megatron-shell', 'new.sh', takenFlag],
  ['megatron-bridge', 'new.yaml', (at) => bridge[at]],
  ['torchtitan', 'new.toml', (at) => keysIn('torchtitan')[at]],
  ['deepspeed', 'new.json', deepspeedKey],
];

type Entries = ReadonlyMap<string, unknown>;

/** Every setting of a text by its path. */
function readEntries(format: LauncherFormat, file: string, text: string): Entries {
  if (format === 'megatron-shell') return shellFlags(text);
  if (format === 'torchtitan') return new Map([...parseToml(file, text)].map(([name, { value }]) => [name, value]));
  if (format === 'deepspeed') return jsonEntries(JSON.parse(text) as object);
  return yamlEntries(parseYaml(file, text, 'last').root);
}

/** The flags of a script, each with the words after it that are plain; a variable is what its default is, and may be anything without. */
function shellFlags(text: string): Entries {
  const found = new Map<string, unknown>();
  for (const line of text.split('\n')) {
    const code = line.replace(/(^|\s)#.*$/, '').replaceAll(/\$\{\w+:-?([^}]*)\}/g, '$1');
    for (const [, flag = '', words = ''] of code.matchAll(/--([A-Za-z][\w-]+)((?:[ =](?!--)[^\s\\);|&]+)*)/g)) {
      const plain = words.replaceAll(/["']/g, '').trim();
      found.set(flag, plain.includes('$') ? null : plain.replace(/ \S+\.py.*/, ''));
    }
  }
  return found;
}

function jsonEntries(value: object, prefix = ''): Entries {
  return new Map(
    Object.entries(value).flatMap(([key, item]: [string, unknown]) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? [...jsonEntries(item, `${prefix}${key}.`)]
        : [[`${prefix}${key}`, item] as const],
    ),
  );
}

function yamlEntries(map: YamlMap, prefix = ''): Entries {
  return new Map(
    [...map.entries].flatMap(([key, { value }]) =>
      value.kind === 'map' ? [...yamlEntries(value, `${prefix}${key}.`)] : [[`${prefix}${key}`, plain(value)] as const],
    ),
  );
}

function plain(node: YamlNode): unknown {
  if (node.kind === 'list') return node.items.map(plain);
  if (node.kind === 'map') return {};
  // an interpolation is its default
  const text = node.text.replace(/^\$\{\w+:([^}]*)\}$/, '$1');
  if (/^(true|false)$/i.test(text)) return /^true$/i.test(text);
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text === 'null' ? null : text;
}

/** Whether a value is of a type as the tables have it. A type of the launcher's own takes its names. */
function fits(value: unknown, type: string): boolean {
  if (type === '' || value === null) return true;
  return type.split(' ').some((kind) => {
    if (kind.startsWith('=')) return value === kind.slice(1);
    if (kind === 'int') return Number.isInteger(value) || (typeof value === 'string' && /^\d+$/.test(value));
    if (kind === 'float') return typeof value === 'number' || (typeof value === 'string' && value !== '' && Number.isFinite(Number(value)));
    if (kind === 'bool') return typeof value === 'boolean' || value === '';
    if (kind === 'list') return Array.isArray(value) || (typeof value === 'string' && value !== '');
    return typeof value === 'string' && value !== '';
  });
}

/** Settings that a text has and another has not, or otherwise, that the launcher does not take. */
function unknownIn(before: Entries, after: Entries, lookup: Lookup): readonly string[] {
  return [...after].flatMap(([at, value]) => {
    if (before.has(at) && JSON.stringify(before.get(at)) === JSON.stringify(value)) return [];
    const type = lookup(at);
    if (type === undefined) return [`${at}: no such key`];
    return fits(value, type) ? [] : [`${at}: ${JSON.stringify(value)} is not ${type}`];
  });
}

describe('every key that is written', () => {
  for (const [file, format, lookup] of files)
    it(`into ${file} is one of ${format}'s own, with a value that it takes`, async () => {
      const text = readFileSync(path.join(fixtures, file), 'utf8');
      const read = await loadReader(format, shellReader);
      const target = editable(read(file, text), read);
      const unknown = new Set<string>();
      let written = 0;
      fc.assert(
        fc.property(anyPlan, (plan) => {
          const { text: after } = writtenInto(plan, target);
          written += after === text ? 0 : 1;
          for (const each of unknownIn(readEntries(format, file, text), readEntries(format, file, after), lookup)) unknown.add(each);
        }),
        { seed: 37, numRuns: format === 'megatron-shell' ? 6 : 30 },
      );
      assert.ok(written > 5, `${written} files`);
      assert.deepEqual([...unknown].sort(), []);
    });

  for (const [format, file, lookup] of newFiles)
    it(`into a new file of ${format} is one of its own, with a value that it takes`, () => {
      const unknown = new Set<string>();
      fc.assert(
        fc.property(anyPlan, (plan) => {
          const entries = readEntries(format, file, newLauncher(plan, writerOf(format)).text);
          assert.ok(entries.size > 5, `${entries.size} settings`);
          for (const each of unknownIn(new Map(), entries, lookup)) unknown.add(each);
        }),
        { seed: 37, numRuns: 60 },
      );
      assert.deepEqual([...unknown].sort(), []);
    });
});

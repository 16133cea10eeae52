import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'jsonc-parser';
import * as v from 'valibot';
import { gpuPresetNames } from '../../../../src/core/cluster/presets';
import { terapipeKeys } from '../../../../src/core/terapipe/terapipe';
import { defaultConstants } from '../../../../src/core/domain/slice-cost';
import { rulesOfKeys } from '../../../docs/schema';

const root = path.join(import.meta.dirname, '../../../..');
const schemaFile = path.join(root, 'media/schemas/terapipe.schema.json');

interface ObjectSchema {
  readonly properties: Readonly<
    Record<
      string,
      {
        readonly markdownDescription?: string;
        readonly default?: unknown;
        readonly $ref?: string;
        readonly enum?: readonly unknown[];
        readonly markdownEnumDescriptions?: readonly string[];
      }
    >
  >;
}
const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as ObjectSchema & {
  readonly definitions: Readonly<Record<string, ObjectSchema>>;
};

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(schema, 'terapipe');

function validator(pointer: string): ValidateFunction {
  const found = ajv.getSchema(`terapipe#${pointer}`);
  assert.ok(found, `${pointer} is not in the schema: run npm run docs -- --write`);
  return found;
}

/** Definition of each object by its path in terapipe.json. */
function definition(section: string): string {
  return section === '' ? '' : `/definitions/${section.split('.').at(-1) ?? ''}`;
}

describe('terapipe.schema.json', () => {
  it('has exactly the keys that the reader knows', () => {
    for (const [section, keys] of Object.entries(terapipeKeys)) {
      const object = section === '' ? schema : schema.definitions[section.split('.').at(-1) ?? ''];
      assert.deepEqual(Object.keys(object?.properties ?? {}).sort(), [...keys].sort(), `${section}: run npm run docs -- --write`);
    }
    assert.equal(Object.keys(schema.definitions).length, Object.keys(terapipeKeys).length - 1);
  });

  it('describes every key', () => {
    for (const object of [schema, ...Object.values(schema.definitions)])
      for (const [key, { markdownDescription, $ref }] of Object.entries(object.properties))
        assert.ok(key === '$schema' || $ref !== undefined || (markdownDescription ?? '') !== '', key);
  });

  it('describes each choice of a key, or none', () => {
    for (const [name, { properties }] of [['', schema] as const, ...Object.entries(schema.definitions)])
      for (const [key, { enum: choices = [], markdownEnumDescriptions: texts }] of Object.entries(properties))
        if (texts !== undefined) assert.equal(texts.length, choices.length, `${name}.${key}`);
  });

  it('judges every value as the reader does', () => {
    const bounds = [1, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
    const numbers = [0, 0.5, 1.5, 2, 3, 4, 8, 1e308, ...bounds.flatMap((bound) => [bound - 1, bound, bound + 0.5, bound + 1]), -1, -0.5];
    const words = ['', 'x', 'none', 'full', 'selective', 'fp16', 'fp32', 'bf16', 'adam', 'sgd', 'flash', 'unfused', 'rotary', 'learned'];
    const lists = [
      [],
      [1],
      [0],
      [1, 2.5],
      [[1]],
      [[-1]],
      [[]],
      [[1, [2]]],
      [[1, [2], 3]],
      [[0, [2]]],
      [[1, []]],
      [[1.5, [2]]],
      [['a', [1]]],
      [[0, 8, 430]],
      [[0, 0, 430]],
      [[0, 8, 0]],
      [[0, 8, 1, 1]],
    ];
    const probes: unknown[] = [
      ...numbers,
      ...words,
      'layernorm',
      'rmsnorm',
      'TeraPipe',
      '1F1B',
      'GPipe',
      'scaled',
      'alpha',
      'greedy',
      'search',
      ...lists,
      true,
      false,
      null,
      {},
    ];
    for (const [section, fields] of Object.entries(rulesOfKeys))
      for (const [key, rule] of Object.entries(fields)) {
        const validate = validator(`${definition(section)}/properties/${key}`);
        for (const probe of probes) assert.equal(validate(probe), v.is(rule.schema, probe), `${section}.${key}: ${JSON.stringify(probe)}`);
      }
  });

  it('offers every GPU preset', () => {
    const validate = validator('/definitions/cluster/properties/gpu');
    for (const name of gpuPresetNames) assert.ok(validate(name), name);
    assert.ok(!validate('A100'));
    assert.ok(!validate({ memoryGB: 80 }));
  });

  it('gives the defaults that the planner takes', () => {
    for (const [key, value] of Object.entries(defaultConstants)) assert.equal(schema.definitions['cost']?.properties[key]?.default, value);
  });

  it('accepts the sample plans and the fixtures', () => {
    const validate = validator('');
    const folders = ['media/samples', 'test/fixtures/configs']
      .map((folder) => path.join(root, folder))
      .filter((folder) => existsSync(folder));
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => path.basename(name) === 'terapipe.json')
        .map((name) => path.join(folder, name)),
    );
    assert.ok(files.length > 0);
    for (const file of files) assert.ok(validate(parse(readFileSync(file, 'utf8'), [], { allowTrailingComma: true })), file);
  });

  it('wants a model', () => {
    const validate = validator('');
    assert.ok(!validate({}));
    assert.ok(validate({ model: 'config.json' }));
    assert.ok(!validate({ model: 3 }));
    assert.ok(!validate({ model: { layers: 0 } }));
  });
});

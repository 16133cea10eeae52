import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { sliceRuntimes } from '../../src/core/slice-runtimes/registry';
import { newFileLaunchers } from '../../src/core/export/export-menu';
import { plannedModel, roundTrip, roundTrippers, type RoundTripper } from '../corpus/round-trip';
import { golden } from '../golden/data';

const fixtures = path.resolve(import.meta.dirname, '../fixtures');

interface Configs {
  readonly cases: readonly { readonly id: string; readonly config: object }[];
  readonly further: readonly { readonly id: string; readonly config: object }[];
}

/** Every config.json of the fixtures and of the golden data, by its name. */
function configs(): readonly (readonly [name: string, text: string])[] {
  const { cases, further } = golden('transformers-parameters') as Configs;
  const files = readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));
  return [
    ...[...cases, ...further].map(({ id, config }) => [id, JSON.stringify(config)] as const),
    ...files
      .map((file) => [file, readFileSync(path.join(fixtures, file), 'utf8')] as const)
      .filter(([, text]) => text.includes('"model_type"')),
  ];
}

describe('a model that is written into a new file and read back', () => {
  let trippers: readonly RoundTripper[];

  before(async () => {
    trippers = await roundTrippers();
  });

  const cases = [
    ...newFileLaunchers.map(({ id }) => ({ id, runtime: null, least: 150 })),
    ...sliceRuntimes.map(({ id }) => ({ id: 'megatron', runtime: id, least: 1 })),
  ];
  for (const { id, runtime, least } of cases)
    it(`is the same in every field that the gaps do not name: ${runtime ?? id}`, () => {
      const silent: string[] = [];
      let models = 0;
      for (const [name, text] of configs()) {
        const model = plannedModel(text);
        const tripper = trippers.find((each) => each.id === id);
        const trip = model === null || tripper === undefined ? null : roundTrip(model, tripper, runtime);
        if (trip === null) continue;
        models += 1;
        if (trip.silent.length > 0) silent.push(`${name}: ${trip.silent.join(', ')}`);
      }
      assert.deepEqual(silent, []);
      assert.ok(models >= least, `${models} models`);
    });
});

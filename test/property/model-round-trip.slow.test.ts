import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { sliceRuntimes } from '../../src/core/slice-runtimes/registry';
import type { LauncherReader } from '../../src/core/run/facts';
import { plannedModel, roundTrip } from '../corpus/round-trip';
import { golden } from '../golden/data';
import { writerOf } from '../unit/core/export/launchers/editors';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';

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

describe('a model that is written into a new script and read back', () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  for (const runtime of [null, ...sliceRuntimes.map(({ id }) => id)])
    it(`is the same in every field that the gaps do not name: ${runtime ?? 'Megatron-LM'}`, () => {
      const silent: string[] = [];
      let models = 0;
      for (const [name, text] of configs()) {
        const model = plannedModel(text);
        const trip = model === null ? null : roundTrip(model, writerOf('megatron-shell'), read, runtime);
        if (trip === null) continue;
        models += 1;
        if (trip.silent.length > 0) silent.push(`${name}: ${trip.silent.join(', ')}`);
      }
      assert.deepEqual(silent, []);
      assert.ok(models > (runtime === null ? 150 : 0), `${models} models`);
    });
});

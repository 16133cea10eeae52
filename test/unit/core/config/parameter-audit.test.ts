import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { configError } from '../../../../src/core/config/errors';
import { startOf } from '../../../../src/core/config/json-document';
import { modelSpecOf } from '../../../../src/core/config/written-model';
import { loadConfig } from '../../../../src/core/launch/load-config';
import { parameterCount } from '../../../../src/core/model/parameters';

const folder = path.join(import.meta.dirname, '../../../../../shared/configs');

/** Parameters as the publishers' weights have them. Of BERT the weights hold a second sentence's head and a pooler, which masked language modelling has not. */
const published: readonly (readonly [file: string, parameters: number])[] = [
  ['hf/gpt2-large.config.json', 774030080],
  ['hf/mistral-7b-v0.3.config.json', 7248023552],
  ['hf/phi-4.config.json', 14659507200],
  ['hf/qwen2.5-32b.config.json', 32763876352],
  ['hf/simai-qwen3-30B-A3B_config.json', 30532122624],
  ['hf/simai-deepseek_v3_config.json', 671026404352],
  ['torchtitan/deepseek_v3_671b.toml', 671026404352],
  ['torchtitan/deepseek_v3_16b.toml', 15706484224],
  ['torchtitan/qwen3_32b.toml', 32762123264],
  ['torchtitan/llama4_17bx128e.toml', 400711848960],
];

describe('parameters of configurations as others wrote them', () => {
  for (const [name, parameters] of published)
    it(`are ${parameters} of ${name}`, async function () {
      const file = path.join(folder, name);
      if (!existsSync(file)) this.skip();
      const refuse = () => Promise.reject(configError('config-not-found', 'There is no other file', 'plan without it', startOf(file)));
      const { run } = await loadConfig(file, readFileSync(file, 'utf8'), { read: refuse, shell: refuse });
      assert.equal(run === null ? null : parameterCount(modelSpecOf(run.model, run.traits)), parameters);
    });
});

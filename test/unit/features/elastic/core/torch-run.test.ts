import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { decoderEnds } from '../../../../../src/core/model/ends';
import { planElastic } from '../../../../../src/features/elastic/core/make-plan';
import type { ElasticRequest } from '../../../../../src/features/elastic/core/request';
import { elasticRunFolder } from '../../../../../src/features/elastic/core/torch-run';
import { gptSmall, requestOf } from './models';

const file = path.join(import.meta.dirname, '../../../../../media/schemas/torch-elastic.schema.json');
const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(readFileSync(file, 'utf8')) as object);

function written(changes: Partial<ElasticRequest>): Record<string, unknown> {
  const plan = planElastic(requestOf({ shrink: 'fastest', ...changes }));
  return JSON.parse(elasticRunFolder(plan).files.get('elastic.json') ?? '') as Record<string, unknown>;
}

describe('elastic.json', () => {
  const spec = { ...gptSmall, tiedEmbeddings: false };

  it('is what its schema describes, of images and of tokens, by every rule', () => {
    const tokens = { model: { spec, ends: decoderEnds(spec) }, batch: 8, schedule: '1F1B' } as const;
    for (const changes of [{}, tokens, { freezing: { kind: 'given', frozenLayers: [0, 6] } }] as const) {
      assert.ok(validate(written(changes)), JSON.stringify(validate.errors));
    }
  });

  it('is refused by its schema with another version, rule or epoch', () => {
    const run = written({});
    assert.equal(validate({ ...run, version: 2 }), false);
    assert.equal(validate({ ...run, freezing: { rule: 'some', alpha: 0, frozenLayers: [] } }), false);
    assert.equal(validate({ ...run, planned: [{ epoch: 0, frozenLayers: 0 }] }), false);
    assert.equal(validate({ ...run, pipelineLength: 0 }), false);
  });
});

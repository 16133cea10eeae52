import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { without } from '../../../src/core/records';
import { answerTypes } from '../../docs/answer-schemas';
import { printedBy } from '../../docs/printed';

const root = path.resolve(import.meta.dirname, '../../..');
const schema = JSON.parse(readFileSync(path.join(root, 'media/schemas/answers.schema.json'), 'utf8')) as object;
const run = 'test/fixtures/configs/pipeline/terapipe.json';

/** A command line for each answer. */
const lines: Readonly<Record<keyof typeof answerTypes, string>> = {
  plan: `plan ${run}`,
  search: `plan ${run} --search --quick --set schedule=1F1B --set training.recompute=none --set training.zeroStage=1`,
  check: 'check test/fixtures/problems/heads.terapipe.json',
  memory: `memory ${run}`,
  solve: 'solve test/fixtures/problems/solve.json',
  simulate: 'simulate test/fixtures/problems/simulate.json',
  prefill: 'prefill test/fixtures/configs/llama-tiny/config.json --prompt 256 --set layout.pipeline=2 --gpu H100-80GB',
  elastic: 'elastic media/samples/vit-elastic/terapipe.json',
  diff: 'diff media/samples/terapipe-paper/setting-5-4096.terapipe.json media/samples/terapipe-paper/setting-5-6144.terapipe.json',
  inspect: 'inspect test/fixtures/configs/llama-tiny/config.json',
  export: `export ${run} --to pytorch-csv --schedule GPipe`,
  where: `where ${run} --on H100-80GB:8,A100-80GB:8 --prices H100-80GB=2.5`,
  days: `days ${run} --tokens 1T`,
  oom: `oom test/fixtures/oom/fragmentation.log ${run}`,
  max: `max ${run} layers`,
  error: 'plan missing.json',
};

describe('the schema of answers', () => {
  const ajv = new Ajv({ allErrors: true }).addSchema(schema, 'answers');

  for (const [name, type] of Object.entries(answerTypes))
    it(`holds for ${name}, and for no answer that lacks a field`, async () => {
      const holds = ajv.getSchema(`answers#/definitions/${type}`)!;
      const answer = JSON.parse(await printedBy([...lines[name as keyof typeof answerTypes].split(' '), '--json'])) as object;
      assert.ok(holds(answer), JSON.stringify(holds.errors));
      const { required } = (schema as { definitions: Record<string, { required: string[] }> }).definitions[type]!;
      for (const field of required) {
        assert.equal(holds(without(answer as Record<string, unknown>, field)), false, field);
      }
    });

  it('holds for an error with others', async () => {
    const refused = `plan ${run} --set layout.tensor=3 --set layout.pipeline=81 --json`;
    const answer = JSON.parse(await printedBy(refused.split(' '))) as { readonly error: { readonly further?: readonly object[] } };
    assert.ok((answer.error.further?.length ?? 0) > 0, JSON.stringify(answer));
    const holds = ajv.getSchema('answers#/definitions/ErrorAnswer')!;
    assert.ok(holds(answer), JSON.stringify(holds.errors));
  });
});

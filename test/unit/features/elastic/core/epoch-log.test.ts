import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gradientPolicy } from '../../../../../src/features/elastic/core/freeze';
import { readGradientNorms } from '../../../../../src/features/elastic/core/gradient-norms';
import { planElastic } from '../../../../../src/features/elastic/core/make-plan';
import { toGradientNorms } from '../../../../../src/features/elastic/core/norm-table';
import { studyElastic } from '../../../../../src/features/elastic/core/study';
import { elasticJson } from '../../../../../src/features/elastic/json';
import { requestOf } from './models';

const file = path.join(import.meta.dirname, '../../../../fixtures/measured/elastic-epochs.jsonl');
const text = readFileSync(file, 'utf8');
const epochs = text
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

/** What a run measures and no plan has. */
const measured = new Set(['loss', 'norms', 'processorMs', 'accuracy', 'evaluationLoss']);

describe('the log of epochs that the PyTorch runtime writes', () => {
  it('is a log of gradient norms, from which the planner freezes the layers that the run froze', () => {
    const policy = gradientPolicy(6, 0.4, toGradientNorms(readGradientNorms(text, file)));
    const frozen = epochs.map(({ frozenLayers }) => frozenLayers as number);
    assert.deepEqual(frozen, [0, 3, 5, 6, 6]);
    assert.deepEqual(frozen.map((_, epoch) => policy.frozenLayers(epoch, frozen[epoch - 1] ?? 0)), frozen); // prettier-ignore
  });

  it('names what it has as terapipe elastic --json does', () => {
    const plan = planElastic(requestOf({}));
    const [planned] = (elasticJson(plan, studyElastic(plan)) as { epochs: Readonly<Record<string, unknown>>[] }).epochs;
    for (const epoch of epochs)
      for (const [name, value] of Object.entries(epoch)) {
        if (measured.has(name)) continue;
        assert.equal(typeof value, typeof planned?.[name], name);
        assert.equal(Array.isArray(value), Array.isArray(planned?.[name]), name);
      }
  });
});

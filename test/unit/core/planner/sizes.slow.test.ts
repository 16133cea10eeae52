import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadRun } from '../../../load-run';
import { ExpectedError } from '../../../../src/core/errors';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';

const model = { layers: 16, hidden: 1024, heads: 16, vocab: 50304 };
const cluster = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 };
const training = { sequenceLength: 1024, microBatch: 1, globalBatch: 64 };
const layout = { tensor: 1, pipeline: 8, data: 1 };

/** Sizes that no run has, each with what they are refused for; null: they may be planned. */
const hostile: Readonly<Record<string, readonly [object, string | null]>> = {
  'stages without number': [
    {
      model: { ...model, layers: 10_000 },
      cluster: { ...cluster, nodes: 1250 },
      training: { ...training, globalBatch: 1000 },
      layout: { ...layout, pipeline: 10_000 },
    },
    'plan-too-large',
  ],
  'two million micro-batches on two stages': [
    { training: { ...training, globalBatch: 1_999_000 }, layout: { tensor: 4, pipeline: 2, data: 1 } },
    'plan-too-large',
  ],
  'a million layers': [{ model: { ...model, layers: 1_000_000 } }, null],
  'a vocabulary of a billion': [{ model: { ...model, vocab: 1e9 } }, null],
  'a batch of a trillion': [{ training: { ...training, globalBatch: 1e12 } }, null],
  'a sequence of a billion tokens, token by token': [{ training: { ...training, sequenceLength: 1e9 }, slicing: { unit: 1 } }, null],
  'a million tokens, token by token': [{ training: { ...training, sequenceLength: 2 ** 20, globalBatch: 8 }, slicing: { unit: 1 } }, null],
  'a hundred thousand nodes': [{ cluster: { ...cluster, nodes: 100_000 }, layout: {} }, null],
  'a billion heads': [{ model: { ...model, heads: 1e9 } }, null],
  '64k experts': [{ model: { ...model, experts: 65_536, activeExperts: 8 } }, null],
  'virtual stages without number': [{ layout: { ...layout, virtualStages: 1e6 } }, null],
};

async function planned(given: object, options?: Parameters<typeof makePlan>[1]): Promise<Plan> {
  const text = JSON.stringify({ model, cluster, training, layout, ...given });
  const run = await loadRun('terapipe.json', text, () => Promise.reject(new Error('no other file')));
  return makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }), options);
}

describe('sizes that no run has', () => {
  for (const [name, [given, code]] of Object.entries(hostile))
    it(`are planned or refused, with little memory: ${name}`, async () => {
      const beforeKb = process.resourceUsage().maxRSS;
      const error = await planned(given).then(
        () => null,
        (thrown: unknown) => thrown,
      );
      assert.ok(error === null || error instanceof ExpectedError, String(error));
      if (code !== null) assert.equal(error?.code, code);
      const grownMb = (process.resourceUsage().maxRSS - beforeKb) / 1024;
      assert.ok(grownMb < 900, `${grownMb} MB`);
    });
});

describe('timelines of a plan', () => {
  it('are those of the chosen schedule first, and of others while there is room', async () => {
    const whole = await planned({});
    const drawn = ({ candidates }: Plan): readonly string[] => candidates.flatMap(({ id, timeline }) => (timeline === null ? [] : [id]));
    assert.ok(drawn(whole).length > 3);
    const size = chosenCandidate(whole).timeline?.kind.length ?? 0;
    assert.deepEqual(drawn(await planned({}, { drawnOperations: size })), [whole.chosen]);
    assert.ok(!drawn(await planned({}, { drawnOperations: size - 1 })).includes(whole.chosen));
    assert.deepEqual(drawn(await planned({}, { drawnOperations: 0 })), []);
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { makePlan } from '../../../src/core/planner/make-plan';
import { answerElastic } from '../../../src/core/elastic/answer';
import { answerSearch, type SearchStanding } from '../../../src/core/planner/search/answer';
import { createPlannerClient, type PlannerClient } from '../../../src/worker/client';
import { gpt, llama3, request } from '../../golden/requests';
import { requestOf, vitBase } from '../core/elastic/models';
import { bundleWorker, type BundledWorker } from './bundle';

const small = request('A100-80GB', gpt(8, 1024, 16, 50304), {
  training: { globalBatch: 4, sequenceLength: 512 },
  layout: { tensor: 2, pipeline: 4 },
});
/** Seconds of solving: 2048 units and 8 batch sizes. */
const long = {
  ...request('A100-80GB', gpt(96, 12288, 96, 50304, 16384), {
    training: { globalBatch: 8, sequenceLength: 16384 },
    layout: { tensor: 8, pipeline: 48 },
  }),
  slicing: { unit: 8, scheme: null },
};

/** A ViT that freezes a hundredth of its layers after each epoch. */
function freezing({ layers, epochs } = { layers: 12, epochs: 5 }) {
  const model = { ...vitBase, spec: { ...vitBase.spec, layers } };
  return requestOf({ model, epochs, freezing: { kind: 'alpha', alpha: 0.01 }, microBatches: 'search', balance: 'time' });
}

/** In which standings of a search come. */
const order: readonly SearchStanding['kind'][] = ['searching', 'found', 'helping'];

describe('planner worker', () => {
  let worker: BundledWorker;
  let client: PlannerClient;

  before(async () => {
    worker = await bundleWorker(join(__dirname, '../../../src/worker/main.ts'));
    client = createPlannerClient(worker.file);
  });
  after(async () => {
    await client.dispose();
    await worker.remove();
  });

  it('returns the plan that the planner makes', async () => {
    assert.deepEqual(await client.plan(small), makePlan(small));
  });

  it('returns it again, since nothing it keeps went away with the first answer', async () => {
    assert.deepEqual(await client.plan(small), await client.plan(small));
  });

  it('returns the plan of a run that freezes layers', async () => {
    assert.deepEqual(await client.planElastic(freezing()), answerElastic(freezing()));
  });

  it('returns what a search finds and what would help, and tells how far it is', async () => {
    const problem = { request: small, fixed: new Set(['tensor' as const, 'recompute' as const]) };
    const asked = { tokenBudget: 1e9, improvements: true };
    const told: SearchStanding[] = [];
    const result = await client.search(problem, { ...asked, onStanding: (standing) => told.push(standing) });
    assert.deepEqual(result, answerSearch(problem, asked));
    assert.ok(result.improvements.length > 1);
    const kinds = told.map(({ kind }) => kind);
    assert.deepEqual(kinds, [...kinds].sort((a, b) => order.indexOf(a) - order.indexOf(b))); // prettier-ignore
    assert.deepEqual(new Set(kinds), new Set(order));
    const helping = told.filter((standing) => standing.kind === 'helping');
    assert.deepEqual(
      helping.map(({ index, count, improvements }) => [index, count, improvements.length]),
      result.improvements.map((_, index) => [index, result.improvements.length, index]),
    );
  });

  it('gives up a search of a large cluster in under 200 ms when cancelled', async () => {
    const large = request('H100-80GB', llama3('405b', 126), {
      training: { globalBatch: 2048, sequenceLength: 8192 },
      layout: { tensor: 8, pipeline: 16, data: 128 },
    });
    const abort = new AbortController();
    const searched = client.search({ request: large, fixed: new Set() }, { signal: abort.signal });
    const cancelledAt = await new Promise<number>((resolve) =>
      setTimeout(() => {
        abort.abort();
        resolve(performance.now());
      }, 400),
    );
    await assert.rejects(searched, { name: 'CancelledError' });
    assert.ok(performance.now() - cancelledAt < 200);
  });

  it('places what is wrong in a log', async () => {
    const norms = {
      file: 'file:///w/norms.csv',
      norms: new Map(),
      places: new Map(),
      end: { file: 'file:///w/norms.csv', range: { start: 3, end: 4 } },
    };
    await assert.rejects(client.planElastic({ ...freezing(), freezing: { kind: 'gradients', alpha: 0.5, norms } }), {
      code: 'elastic-norms',
      place: norms.end,
    });
  });

  it('gives up a long run that freezes layers in under 200 ms when cancelled, and keeps the thread', async () => {
    const abort = new AbortController();
    let cancelledAt = 0;
    setTimeout(() => {
      cancelledAt = performance.now();
      abort.abort();
    }, 50);
    await assert.rejects(client.planElastic(freezing({ layers: 1000, epochs: 1000 }), { signal: abort.signal }), {
      name: 'CancelledError',
    });
    assert.ok(cancelledAt > 0 && performance.now() - cancelledAt < 200);
  });

  it('gives up a long search in under 200 ms when cancelled', async () => {
    const abort = new AbortController();
    let cancelledAt = 0;
    setTimeout(() => {
      cancelledAt = performance.now();
      abort.abort();
    }, 300);
    await assert.rejects(client.plan(long, { signal: abort.signal }), { name: 'CancelledError' });
    const waitedMs = performance.now() - cancelledAt;
    assert.ok(cancelledAt > 0 && waitedMs < 200, `${waitedMs} ms`);
  });
});

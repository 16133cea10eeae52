import assert from 'node:assert/strict';
import { join } from 'node:path';
import { makePlan } from '../../../src/core/planner/make-plan';
import { createPlannerClient, type PlannerClient } from '../../../src/worker/client';
import { gpt, request } from '../../golden/requests';
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

import assert from 'node:assert/strict';
import { defaults } from '../../../../src/cli/common-options';
import { readConfig } from '../../../../src/cli/read-config';
import { planRun } from '../../../../src/core/export/planned-config';
import { mayRunInstead } from '../../../../src/core/schedules/runtimes';

const model = { layers: 32, hidden: 4096, heads: 32, vocab: 50_257 };
const layout = { tensor: 2, pipeline: 8, data: 1 };
const run = (schedule: string, runtime?: string): string =>
  JSON.stringify({
    model,
    layout,
    cluster: { gpu: 'A100-40GB', nodes: 2, gpusPerNode: 8 },
    training: { sequenceLength: 4096, globalBatch: 64, precision: 'fp16', ...(runtime === undefined ? {} : { runtime }) },
    schedule,
  });

const planned = async (text: string, isCompared: boolean) => {
  const reading = { sets: [], shell: () => Promise.reject(new Error('no shell here')) };
  return planRun(await readConfig({ file: 'terapipe.json', text }, reading, new Map()), defaults, { isCompared });
};

describe('remedies of a plan that is not compared', () => {
  const cases = [run('GPipe'), run('GPipe', 'torchtitan')];

  it('are those of the plan with all its comparisons', async () => {
    for (const text of cases) {
      const [plain, whole] = [await planned(text, false), await planned(text, true)];
      assert.ok((whole.remedies ?? []).length > 0, text);
      const named = ({ remedies = [] }: typeof whole) => remedies.map(({ sets, iterationMs, slower }) => ({ sets, iterationMs, slower }));
      assert.deepEqual(named(plain), named(whole), text);
      assert.equal(plain.plan.chosen, whole.plan.chosen);
    }
  });

  it('take no schedule that the run may not take: no slices are solved for where it runs whole micro-batches only', async () => {
    for (const text of cases) {
      const { plan } = await planned(text, false);
      const asked = plan.request.schedule;
      for (const { schedule } of plan.candidates) assert.ok(schedule === asked || mayRunInstead(schedule, plan.request), schedule);
      assert.ok(plan.candidates.length > 1, 'others that it may take are planned');
    }
  });
});

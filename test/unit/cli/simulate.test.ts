import assert from 'node:assert/strict';
import { simulateAnswer } from '../../../src/cli/answers/simulate';
import { ExpectedError } from '../../../src/core/errors';
import { say } from '../../../src/core/sentence';

const equal = { forwardMs: 1, backwardInputMs: 1, backwardWeightMs: 1 };
const oneForward = { schedule: '1F1B', stages: 4, microBatches: 8, times: equal };

async function simulate(problem: unknown, files: Readonly<Record<string, string>> = {}) {
  const text = typeof problem === 'string' ? problem : JSON.stringify(problem);
  const read = (_from: string, name: string) => Promise.resolve({ file: name, text: files[name] ?? '' });
  return (await simulateAnswer({ file: 'problem.json', text }, read)).json;
}

/** The error for a problem, and the text it points at. */
async function refusal(
  problem: unknown,
  files: Readonly<Record<string, string>> = {},
): Promise<{ code: string; at: string; message: string }> {
  const text = JSON.stringify(problem);
  try {
    await simulate(text, files);
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    assert.ok(error.place !== undefined && say(error.remedy).length > 0);
    const read = error.place.file === 'problem.json' ? text : (files[error.place.file] ?? '');
    return { code: error.code, message: error.message, at: read.slice(error.place.range.start, error.place.range.end) };
  }
  return assert.fail('was accepted');
}

describe('terapipe simulate', () => {
  it('answers with the fields it promises, version first', async () => {
    const answer = await simulate(oneForward);
    assert.deepEqual(Object.keys(answer), ['version', 'schedule', 'makespanMs', 'bubbleRate', 'stages', 'order']);
    assert.deepEqual(Object.keys(answer.stages[0] ?? {}), ['busyMs', 'idleMs', 'spanMs', 'peakMemory']);
  });

  it('takes a CSV of more than 100,000 actions by itself, each pass a millisecond', async () => {
    const microBatches = Array.from({ length: 25_001 }, (_, index) => index);
    const csv = [0, 1].map((stage) => microBatches.map((index) => `${stage}F${index},${stage}B${index}`).join(',')).join('\n');
    const { makespanMs, stages } = await simulate(`${csv}\n`);
    assert.deepEqual([makespanMs, stages.map(({ busyMs }) => busyMs)], [6 * 25_001, [75_003, 75_003]]);
  });

  it('finds the bubble of 1F1B on every stage: (p - 1)(F + B)', async () => {
    const { makespanMs, bubbleRate, stages } = await simulate(oneForward);
    assert.equal(makespanMs, (8 + 3) * 3);
    assert.ok(Math.abs(bubbleRate - 3 / 11) < 1e-12);
    for (const { busyMs, idleMs } of stages) assert.deepEqual([busyMs, idleMs], [24, 9]);
  });

  it('gives a virtual stage its share of the time', async () => {
    const { makespanMs } = await simulate({ ...oneForward, schedule: 'Interleaved1F1B', virtualStages: 2 });
    assert.equal(makespanMs, 24 + (3 * 3) / 2);
  });

  it('cuts micro-batches in slices and adds the sends', async () => {
    const { makespanMs, order } = await simulate({
      schedule: 'TeraPipe',
      stages: 2,
      microBatches: 1,
      slices: 2,
      times: { ...equal, sendMs: 0.5 },
    });
    assert.deepEqual(order, [
      ['0F0', '0F1', '0B1', '0B0'],
      ['1F0', '1F1', '1B1', '1B0'],
    ]);
    assert.equal(makespanMs, 1 + 0.5 + 2 + 2 * 2 + 0.5 + 2);
  });

  it('takes one time for all stages or one for each', async () => {
    const { stages } = await simulate({ ...oneForward, times: { ...equal, forwardMs: [1, 2, 3, 4] } });
    assert.deepEqual(stages.map(({ busyMs }) => busyMs), [24, 32, 40, 48]); // prettier-ignore
  });

  it('counts memory from the start of a forward to the end of what frees it', async () => {
    const memory = { forward: 34, backwardInput: -2, backwardWeight: -32 };
    const { stages } = await simulate({ ...oneForward, memory });
    assert.deepEqual(stages.map(({ peakMemory }) => peakMemory), [136, 102, 68, 34]); // prettier-ignore
  });

  it('runs a schedule from a CSV, which shows how many stages and micro-batches it has', async () => {
    const files = { 'mine.csv': '0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n' };
    const { makespanMs, stages, schedule } = await simulate({ schedule: { csv: 'mine.csv' }, times: equal }, files);
    assert.deepEqual([schedule, stages.length, makespanMs], ['mine.csv', 2, 9]);
  });

  it('points at the cell of a CSV that cannot run', async () => {
    const files = { 'mine.csv': '0F0,0B0\n1B0,1F0\n' };
    const { code, at } = await refusal({ schedule: { csv: 'mine.csv' }, times: equal }, files);
    assert.deepEqual([code, at], ['schedule-csv', '1B0']);
  });

  it('refuses what is malformed where it is', async () => {
    assert.equal((await refusal({ ...oneForward, schedule: '1F1' })).at, '"1F1"');
    assert.equal((await refusal({ ...oneForward, stages: 0 })).at, '0');
    assert.equal((await refusal({ ...oneForward, times: { ...equal, forwardMs: -1 } })).at, '-1');
    assert.equal((await refusal({ ...oneForward, times: { ...equal, forwardMs: [1, 2] } })).at, '[1,2]');
    assert.equal((await refusal({ ...oneForward, microbatches: 3 })).code, 'unknown-key');
    assert.equal((await refusal({ ...oneForward, memoryLimit: 3 })).code, 'config-inconsistent');
    assert.equal((await refusal({ ...oneForward, microBatches: 1_000_000, slices: 100 })).code, 'simulate-too-large');
  });

  it('shows at the schedule what it cannot do', async () => {
    const { code, at } = await refusal({ ...oneForward, schedule: 'Interleaved1F1B', slices: 4 });
    assert.deepEqual([code, at], ['schedule-unmet', '"Interleaved1F1B"']);
  });
});

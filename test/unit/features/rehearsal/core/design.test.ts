import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Plan } from '../../../../../src/core/planner/plan';
import { fittingDesign, neededBytes, type Scale } from '../../../../../src/features/rehearsal/core/design';
import { rowHandling, peakHeldBytes } from '../../../../../src/features/rehearsal/core/handling';
import { rankedSchemes } from '../../../../../src/features/rehearsal/core/schemes';
import { unslicedSchedule } from '../../../../../src/features/rehearsal/core/unsliced';
import { deadlockedAt } from '../../../../../src/core/schedules/simulate/simulate';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { asPlanned, tinyPlan } from '../profiler/tiny-plan';

const plan = tinyPlan();
const designed = async (scale: Partial<Scale> = {}, bytes = Infinity) => fittingDesign(await plan, { ...asPlanned, ...scale }, bytes);

async function changed(change: (request: PlanRequest) => Partial<PlanRequest>): Promise<Plan> {
  const known = await plan;
  return { ...known, request: { ...known.request, ...change(known.request) } };
}

describe('what a rehearsal runs', () => {
  it('is the schedule of the plan, on its layers', async () => {
    const { schedule, chunks, scheme, tokens, batch, notes, tied } = await designed();
    assert.deepEqual(
      chunks,
      [0, 2].map((first) => ({ first, count: 2, recomputed: 0 })),
    );
    assert.deepEqual(scheme, (await plan).request.slicing.scheme);
    assert.deepEqual([tokens, batch, tied, schedule.units.length], [64, 2, true, 5]);
    assert.deepEqual(notes, []);
  });

  it('is smaller where it is asked to be, and notes each difference', async () => {
    const { scheme, shape, layers, notes, schedule } = await designed({ sequence: 17, hidden: 16, layers: 2, batch: 1 });
    assert.deepEqual(scheme, [{ batch: 1, tokens: [11, 6] }]);
    assert.deepEqual([shape.hidden, shape.heads * shape.headDim, shape.ffn, layers], [16, 16, 32, 2]);
    assert.equal(notes.length, 4);
    assert.deepEqual(deadlockedAt(schedule), []);
    const single = await designed({ sequence: 2 });
    assert.ok(single.scheme.every(({ tokens }) => tokens.every((length) => length > 0)));
    assert.ok(single.scheme.every(({ tokens }) => tokens.reduce((sum, length) => sum + length, 0) === 2));
  });

  it('has as many layers as fit into memory, and one a chunk at least', async () => {
    const whole = await designed();
    const least = await designed({}, 1);
    assert.equal(least.layers, 2);
    assert.ok(neededBytes(least) < neededBytes(whole));
    assert.equal((await designed({}, neededBytes(whole))).layers, 4);
    await assert.rejects(designed({ layers: 1 }), { code: 'rehearsal-layers' });
  });

  it('keeps only the input of layers that are recomputed', async () => {
    const recomputing = await changed(({ training }) => ({ training: { ...training, recompute: 'full', recomputeLayers: 1 } }));
    const { chunks, stageBytes } = fittingDesign(recomputing, asPlanned, Infinity);
    assert.deepEqual(
      chunks.map(({ recomputed }) => recomputed),
      [1, 1],
    );
    assert.ok(stageBytes[0]! < (await designed()).stageBytes[0]!);
  });

  it('is refused in words where no graph runs it', async () => {
    const refused = async (change: (request: PlanRequest) => Partial<PlanRequest>, code: string, words: RegExp) => {
      const changedPlan = await changed(change);
      assert.throws(
        () => fittingDesign(changedPlan, asPlanned, Infinity),
        (error: Error & { readonly code: string }) => error.code === code && words.test(error.message),
      );
    };
    const latent = { qRank: null, kvRank: 8, nopeHeadDim: 8, ropeHeadDim: 8, vHeadDim: 8 };
    await refused(({ model }) => ({ model: { ...model, latent } }), 'rehearsal-model', /latent attention/);
    await refused(({ model }) => ({ model: { ...model, experts: { count: 4, active: 1 } } }), 'rehearsal-model', /experts/);
    await refused(
      ({ model }) => ({ model: { ...model, experts: { count: 4, active: 1, sharedFfn: 8 } } }),
      'rehearsal-model',
      /shared experts/,
    );
    await refused(({ model }) => ({ model: { ...model, mtpLayers: 1 } }), 'rehearsal-model', /multi-token prediction/);
    await refused(({ layout }) => ({ layout: { ...layout, context: 2 } }), 'rehearsal-layout', /Context parallelism/);
    await refused(({ layout }) => ({ layout: { ...layout, expert: 2 } }), 'rehearsal-layout', /Expert parallelism/);
    await refused(({ training }) => ({ training: { ...training, recompute: 'selective' } }), 'rehearsal-recompute', /selective/);
    await refused(({ training }) => ({ training: { ...training, recompute: 'full', recomputeGroup: 2 } }), 'rehearsal-recompute', /full/);
  });
});

describe('passes of a rehearsed step', () => {
  it('need what earlier ones made and nobody freed, and leave nothing', async () => {
    const { schedule } = await designed();
    for (const order of [schedule, unslicedSchedule(schedule)]) {
      const there = new Set<string>();
      for (let stage = 0; stage < order.stages; stage++)
        for (let row = order.rowStart[stage]!; row < order.rowStart[stage + 1]!; row++) {
          const { needs, makes, frees } = rowHandling(order, row);
          for (const { what, chunk, unit } of needs)
            if (what !== 'activation' && what !== 'gradient') assert.ok(there.has(`${what} ${chunk} ${unit}`));
          for (const { what, chunk, unit } of makes) there.add(`${what} ${chunk} ${unit}`);
          for (const { what, chunk, unit } of frees) there.delete(`${what} ${chunk} ${unit}`);
        }
      assert.deepEqual(
        [...there].filter((name) => !/^(?:activation|gradient)/.test(name)),
        [],
      );
      assert.deepEqual(deadlockedAt(order), []);
    }
  });

  it('hold as many units as the order has in flight', async () => {
    const { schedule } = await designed();
    const saved = ({ what }: { readonly what: string }): number => (what === 'saved' ? 1 : 0);
    assert.equal(peakHeldBytes(schedule, 0, saved), 5);
    assert.equal(peakHeldBytes(unslicedSchedule(schedule), 0, saved), 1);
  });
});

describe('ranked cuts', () => {
  const cut = (name: string, predictedMs: number, ...stepMs: number[]): Parameters<typeof rankedSchemes>[0][number] =>
    ({ name, predictedMs, stepMs, workedStepMs: stepMs, waitedShare: 0, tokens: [1], gradients: null }) as unknown as Parameters<
      typeof rankedSchemes
    >[0][number];

  it('are in the order of their predictions, with the correlation of ranks and the noise', () => {
    const same = rankedSchemes([cut('b', 2, 20, 22, 21), cut('a', 1, 10, 10, 10), cut('c', 3, 30, 30, 30)]);
    assert.deepEqual(
      same.schemes.map(({ name, measuredMs }) => [name, measuredMs]),
      [
        ['a', 10],
        ['b', 21],
        ['c', 30],
      ],
    );
    assert.equal(same.rankCorrelation, 1);
    assert.ok(Math.abs(same.noise - 2 / 21) < 1e-12);
    assert.deepEqual(same.pairs, { apart: 3, right: 3 });
    // 10 and 10.5 are not distinguished where steps of one cut differ by a tenth.
    const close = rankedSchemes([cut('a', 1, 10.5, 10.5), cut('b', 2, 10, 11), cut('c', 3, 9, 9)]);
    assert.deepEqual(close.pairs, { apart: 2, right: 0 });
    assert.equal(rankedSchemes([cut('a', 1, 3), cut('b', 2, 2), cut('c', 3, 1)]).rankCorrelation, -1);
  });
});

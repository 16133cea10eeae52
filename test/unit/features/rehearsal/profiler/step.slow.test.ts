import assert from 'node:assert/strict';
import { after, describe, it } from 'mocha';
import { toScheduleProblem, scheduleKind, scheduleKinds } from '../../../../../src/core/schedules/registry';
import type { Scheme } from '../../../../../src/core/domain/scheme';
import { initialWeights } from '../../../../../src/features/rehearsal/profiler/parameters';
import { cases, isFullRun } from '../../../../property/cases';
import type { StepSessions } from '../../../../../src/features/rehearsal/profiler/step-sessions';
import { gpt, llama, random } from '../../../profiler/graph/run-graph';
import { batchOf, chunksOf, errorsOf, runAsWritten, runTiny, runWhole, scheduleOf, tinyModel } from './tiny-step';

const tolerance = 1e-4;

describe('a rehearsed step', () => {
  const models = {
    gpt: tinyModel(gpt()),
    fused: tinyModel(gpt(), { attention: 'MultiHeadAttention' }),
    llama: tinyModel(llama()),
    grouped: tinyModel(llama({ qkNorm: true }), { attention: 'Attention' }),
  };
  after(async () => {
    for (const model of Object.values(models)) await (await model).sessions.release();
  });

  for (const { name, slices } of scheduleKinds)
    it(`has the loss and gradients of the whole batch in one piece: ${name}`, async () => {
      const model = await models.gpt;
      const scheme: Scheme = slices
        ? [4, 8, 3, 12].map((tokens) => ({ batch: 1, tokens: tokens < 12 ? [tokens, 12 - tokens] : [12] }))
        : wholes(4);
      const ran = await runTiny(model, scheduleOf(name, 2, scheme), 4);
      assertEqual(ran, await runWhole(model, 4), name);
    });

  it('has them for any schedule, slicing, attention, number of stages and of sequences at a time', async () => {
    const next = random(7);
    for (let time = 0; time < cases(8, 50 * scheduleKinds.length); time++) {
      const any = await models[(['gpt', 'fused', 'llama', 'grouped'] as const)[time % 4] ?? 'gpt'];
      // In the quick run only those that run slices: each of the others has its own test above.
      const kinds = isFullRun ? scheduleKinds : scheduleKinds.filter(({ slices }) => slices);
      const { name, slices } = kinds[time % kinds.length] ?? kinds[0]!;
      const stages = [8, 3, 2, 4, 1][Math.floor(time / kinds.length) % 5] ?? 1;
      const model = any.withLayers(1 + chunksOf(name, stages) + pickOf(next, 2));
      const microBatches = runnable(name, stages, 2 * stages + pickOf(next, 3));
      const scheme = slices ? randomScheme(next, model.tokens) : wholes(microBatches, 1 + pickOf(next, 2));
      const ran = await runTiny(model, scheduleOf(name, stages, scheme), batchOf(scheme));
      assertEqual(ran, await runWhole(model, batchOf(scheme)), `${name} of ${JSON.stringify(scheme)} on ${stages} stages`);
    }
  });

  for (const [name, scheme] of [
    ['TeraPipe', [4, 8, 3].map((tokens) => ({ batch: 1, tokens: [tokens, 12 - tokens] }))],
    ['ZB-H1', wholes(3)],
  ] as const)
    it(`has them where layers keep only their input and run again: ${name}`, async () => {
      const model = await models.llama;
      let runs = 0;
      const counting: StepSessions = {
        ...model.sessions,
        of(part, pass) {
          if (part === 'layer' && pass === 'forward') runs += 1;
          return model.sessions.of(part, pass);
        },
      };
      const runsOf = async (recomputed: number) => {
        runs = 0;
        const ran = await runTiny({ ...model.withLayers(4, recomputed), sessions: counting }, scheduleOf(name, 2, scheme), 3);
        assertEqual(ran, await runWhole(model, 3), name);
        assert.deepEqual(
          ran.left.filter((item) => item.startsWith('saved')),
          [],
        );
        return runs;
      };
      // Looked at once to run and once for what it saves.
      const [kept, some, all] = [await runsOf(0), await runsOf(1), await runsOf(2)];
      assert.ok(kept < some && some < all, `${kept}, ${some} and ${all} times`);
    });

  it('has gradients along which the loss changes as they should', async () => {
    const model = await models.llama;
    const { gradients } = await runWhole(model, 2);
    for (const prefix of ['layer 0', 'layer 3', 'embedding', 'head']) {
      const ours = [...gradients].filter(([name]) => name.startsWith(prefix));
      const length = Math.sqrt(ours.reduce((sum, [, values]) => sum + values.reduce((squares, value) => squares + value * value, 0), 0));
      const lossAt = async (way: number): Promise<number> => {
        const { loss } = await runWhole(model, 2, (name, kind, elements) => {
          const along = name.startsWith(prefix) ? gradients.get(name) : undefined;
          return initialWeights(name, kind, elements).map((value, i) => value + (way * (along?.[i] ?? 0)) / length);
        });
        return loss;
      };
      const far = 0.02;
      const slope = ((await lossAt(far)) - (await lossAt(-far))) / (2 * far);
      assert.ok(Math.abs(slope / length - 1) < 0.02, `${prefix}: ${slope} along a gradient of ${length}`);
    }
  });

  it('frees what nobody needs any more', async () => {
    const model = await models.gpt;
    const { left } = await runTiny(model, scheduleOf('ZB-H1', 2, wholes(3)), 3);
    assert.deepEqual(left, []);
  });

  describe('fails', () => {
    const halves: Scheme = wholes(2).map(() => ({ batch: 1, tokens: [5, 7] }));

    it('when slices go backward in the order of forward', async () => {
      const schedule = scheduleOf('TeraPipe', 1, [{ batch: 1, tokens: [5, 7] }]);
      const wrong = { ...schedule, unit: schedule.unit.map((unit, row) => (row < 2 ? unit : 1 - unit)) };
      await assert.rejects(
        runAsWritten(await models.gpt, wrong),
        /later slices' gradient of the keys and values of unit 0 on chunk 0 is missing/,
      );
    });

    it('when slices go forward in the wrong order', async () => {
      const schedule = scheduleOf('TeraPipe', 1, [{ batch: 1, tokens: [5, 7] }]);
      const wrong = { ...schedule, unit: schedule.unit.map((unit, row) => (row < 2 ? 1 - unit : unit)) };
      await assert.rejects(runAsWritten(await models.gpt, wrong), /the keys and values of unit 0 on chunk 0 is missing/);
    });

    it('when weight gradients come before those of the inputs', async () => {
      const schedule = scheduleOf('ZB-H1', 1, wholes(1));
      const wrong = { ...schedule, kind: Uint8Array.of(0, 3, 2) };
      await assert.rejects(runAsWritten(await models.gpt, wrong), /what makes the weight gradient of unit 0 on chunk 0 is missing/);
    });

    it('when a stage does not hand on', async () => {
      const wrong = runTiny(await models.gpt, scheduleOf('1F1B', 2, wholes(2)), 2, {
        between: (runner) => ({ ...runner, give: () => undefined }),
      });
      await assert.rejects(wrong, /the input of unit 0 on chunk 1 is missing/);
    });

    it('when a slice has another context than its unit states', async () => {
      const schedule = scheduleOf('TeraPipe', 1, halves);
      const wrong = { ...schedule, units: schedule.units.map((unit) => ({ ...unit, context: unit.context === 0 ? 0 : 4 })) };
      await assert.rejects(runAsWritten(await models.gpt, wrong), /slice 1 of micro-batch 0 has 4 tokens before it, and keys of 5 came/);
    });
  });

  describe('is distinguished from a right one', () => {
    it('when later slices do not reach earlier keys and values', async () => {
      const model = await models.gpt;
      const schedule = scheduleOf('TeraPipe', 1, [{ batch: 1, tokens: [5, 7] }]);
      // As sequences of their own, neither keys nor their gradients go from one to the other.
      const wrong = { ...schedule, units: schedule.units.map((unit) => ({ ...unit, microBatch: unit.slice, slice: 0, context: 0 })) };
      assert.ok(errorsOf(await runTiny(model, wrong, 1), await runWhole(model, 1)).error > 1e-2);
    });

    it('when a gradient is lost on its way', async () => {
      const model = await models.gpt;
      const lost = await runTiny(model, scheduleOf('1F1B', 2, wholes(2)), 2, {
        between: (runner) => ({
          ...runner,
          give: ({ item, tensor }) => {
            if (item.what === 'gradient' && item.unit === 1) (tensor.data as Float32Array).fill(0);
            runner.give({ item, tensor });
          },
        }),
      });
      assert.ok(errorsOf(lost, await runWhole(model, 2)).error > 1e-2);
    });

    it('when the loss is of fewer tokens', async () => {
      const model = await models.gpt;
      const whole = await runWhole(model, 2);
      const half = await runTiny({ ...model, step: (chunks) => model.step(chunks, 1) }, scheduleOf('1F1B', 2, wholes(2)), 2);
      assert.ok(errorsOf(half, whole).error > 0.5 && errorsOf(half, whole).lossError > 0.5);
    });
  });
});

function wholes(count: number, batch = 1): Scheme {
  return Array.from({ length: count }, () => ({ batch, tokens: [12] }));
}

function assertEqual(ran: Parameters<typeof errorsOf>[0], whole: Parameters<typeof errorsOf>[1], what: string): void {
  const { error, tensor, lossError } = errorsOf(ran, whole);
  assert.ok(error < tolerance, `${what}: the gradient of ${tensor ?? 'nothing'} is off by ${error}`);
  assert.ok(lossError < 1e-6, `${what}: the loss is off by ${lossError}`);
  assert.ok(ran.gradients.size > 12);
}

/** One to three micro-batches of one or two sequences, each cut at random. */
function randomScheme(next: () => number, tokens: number): Scheme {
  return Array.from({ length: 1 + pickOf(next, 3) }, () => {
    const lengths: number[] = [];
    for (let left = tokens; left > 0; left -= lengths.at(-1) ?? left) lengths.push(1 + pickOf(next, left));
    return { batch: 1 + pickOf(next, 2), tokens: lengths };
  });
}

/** This many micro-batches, or the next number of them that the schedule takes. */
function runnable(name: string, stages: number, count: number): number {
  let tried = count;
  while (scheduleKind(name).unmet(toScheduleProblem(wholes(tried), stages, chunksOf(name, stages) / stages)) !== null) tried++;
  return tried;
}

/** A number below `count`. @param next in [-1, 1). */
function pickOf(next: () => number, count: number): number {
  return Math.floor(((next() + 1) / 2) * count);
}

import assert from 'node:assert/strict';
import { CancelledError, ExpectedError } from '../../../../src/core/errors';
import { megatronBoundary } from '../../../../src/core/time-model/boundary';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes, type Plan } from '../../../../src/core/planner/plan';
import { evenStageContents } from '../../../../src/core/partition/stages';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { neededFor } from '../../../../src/core/schedules/runtimes';
import { scheduleNames } from '../../../../src/core/schedules/registry';
import { namedSchedules, otherSchedules } from '../../../../src/core/domain/schedule-names';
import { gpt, llama3, request } from '../../../golden/requests';
import { toText } from '../../sentence-text';
import { sentence } from '../../../../src/core/sentence';

const small = request('A100-80GB', gpt(8, 1024, 16, 50304), {
  training: { globalBatch: 8, sequenceLength: 1024, attention: 'flash', dropout: false },
  layout: { tensor: 2, pipeline: 4 },
});

function candidate(wanted: PlanRequest, id: string) {
  const found = makePlan(wanted).candidates.find((one) => one.id === id);
  assert.ok(found, id);
  return found;
}

describe('plan', () => {
  it('compares the TeraPipe optimum, best uniform, whole sequences, 1F1B, GPipe and every other schedule', () => {
    assert.deepEqual(
      new Set(makePlan(small).candidates.map(({ id }) => id)),
      new Set(['terapipe', 'uniform', 'whole', '1f1b', 'gpipe', ...otherSchedules]),
    );
    assert.deepEqual([...namedSchedules].sort(), [...scheduleNames].sort());
  });

  it('reports the schedule that is asked for first, before slices are solved for or others are simulated', () => {
    const planned = (schedule: PlanRequest['schedule']) => {
      const order: string[] = [];
      const first: Plan[] = [];
      const plan = makePlan(
        { ...small, schedule },
        { onFirst: (early) => order.push('first') && first.push(early), onProgress: () => order.push('progress') },
      );
      return { order, first, plan };
    };
    for (const [schedule, ids] of [
      ['1F1B', ['1f1b']],
      ['ZB-H1', ['ZB-H1']],
      ['TeraPipe', ['terapipe', 'uniform', 'whole']],
    ] as const) {
      const { order, first, plan } = planned(schedule);
      assert.deepEqual(
        first.map(({ candidates }) => candidates.map(({ id }) => id)),
        [ids],
      );
      assert.equal(first[0]?.chosen, plan.chosen);
      assert.deepEqual(chosenCandidate(first[0]), chosenCandidate(plan));
      assert.equal(order.indexOf('first') === 0, schedule !== 'TeraPipe', 'before the solver begins');
      assert.ok(plan.candidates.length > 10);
    }
    assert.deepEqual(planned(null).first, []);
  });

  it('with the schedule open chooses among the fastest that fit, within 5 %, the one with the least memory', () => {
    for (const globalBatch of [1, 4, 8, 32]) {
      const plan = makePlan({ ...small, training: { ...small.training, globalBatch } });
      const chosen = chosenCandidate(plan);
      const schedules = plan.candidates.filter(({ id, fits }) => fits && ['terapipe', '1f1b', 'gpipe'].includes(id));
      const shortestMs = Math.min(...schedules.map(({ iterationMs }) => iterationMs));
      assert.ok(chosen.iterationMs <= 1.05 * shortestMs);
      for (const other of schedules.filter(({ iterationMs }) => iterationMs <= 1.05 * shortestMs))
        assert.ok(candidatePeakBytes(chosen) <= 1.02 * candidatePeakBytes(other), toText(other.name));
    }
  });

  it('chooses the least memory when nothing fits', () => {
    const plan = makePlan({ ...small, cluster: { ...small.cluster, gpu: { ...small.cluster.gpu, memoryBytes: 2 ** 20 } } });
    assert.equal(plan.chosen, '1f1b');
    assert.equal(chosenCandidate(plan).fits, false);
  });

  it('predicts exactly the schedule that is fixed', () => {
    for (const [schedule, id] of [
      ['TeraPipe', 'terapipe'],
      ['1F1B', '1f1b'],
      ['GPipe', 'gpipe'],
    ] as const)
      assert.equal(makePlan({ ...small, schedule }).chosen, id);
  });

  it('predicts exactly the slices that are given', () => {
    const scheme = Array.from({ length: 4 }, () => ({ batch: 2, tokens: [512, 256, 256] }));
    const plan = makePlan({ ...small, slicing: { unit: 8, scheme } });
    assert.equal(plan.chosen, 'given');
    assert.deepEqual(chosenCandidate(plan).scheme, scheme);
  });

  it('refuses slices that do not cover the batch', () => {
    const scheme = [{ batch: 2, tokens: [512, 256] }];
    assert.throws(
      () => makePlan({ ...small, slicing: { unit: 8, scheme } }),
      (error) => error instanceof ExpectedError && error.code === 'plan-scheme-incomplete',
    );
  });

  it('simulates the formula of fill-drain when all stages are equal', () => {
    const equal = { ...small, model: gpt(8, 1024, 16, 0), training: { ...small.training, runtime: 'terapipe' as const } };
    const { certificate, pipelineMs } = candidate(equal, 'terapipe');
    assert.ok(Math.abs(pipelineMs / certificate!.optimumMs - 1) < 1e-9);
  });

  it('adds gradient exchange and optimizer to the pipeline', () => {
    const { iterationMs, pipelineMs, gradientExchangeMs, optimizerMs } = candidate(
      { ...small, training: { ...small.training, globalBatch: 16 }, layout: { ...small.layout, data: 2 } },
      '1f1b',
    );
    assert.ok(gradientExchangeMs > 0 && optimizerMs > 0);
    assert.equal(iterationMs, pipelineMs + gradientExchangeMs + optimizerMs);
  });

  it('with one stage leaves token slices out: there is no pipeline to fill', () => {
    assert.deepEqual(
      makePlan({ ...small, layout: { ...small.layout, pipeline: 1 } }).candidates.map(({ id }) => id),
      ['1f1b', 'gpipe'],
    );
  });

  it('interleaves 1F1B over virtual stages, with a smaller bubble', () => {
    const interleaved = candidate({ ...small, layout: { ...small.layout, virtualStages: 2 } }, '1f1b');
    assert.ok(interleaved.pipelineMs < candidate(small, '1f1b').pipelineMs);
    assert.deepEqual([interleaved.timeline?.name, interleaved.chunksPerStage], ['Interleaved1F1B', 2]);
  });

  it('takes m max + (sum - max) / v + (p - 1) x for interleaved 1F1B on equal stages, as Megatron-LM does', () => {
    for (const [virtualStages, globalBatch] of [
      [2, 8],
      [2, 16],
      [4, 8],
    ] as const) {
      const wanted = {
        ...small,
        model: gpt(16, 1024, 16, 0),
        training: { ...small.training, globalBatch },
        layout: { ...small.layout, virtualStages },
      };
      const { timeline, pipelineMs, busyMs } = candidate(wanted, '1f1b');
      assert.ok(timeline !== null);
      const wholeMs = busyMs[0]! / globalBatch;
      const boundaryMs = 2 * megatronBoundary(wanted, 1, 1024);
      const formulaMs = globalBatch * wholeMs + (3 * wholeMs) / virtualStages + 3 * boundaryMs;
      assert.ok(Math.abs(pipelineMs / formulaMs - 1) < 1e-9, `${pipelineMs} ${formulaMs}`);
    }
  });

  it('interleaves 1F1B only, and reports it', () => {
    const layout = { ...small.layout, virtualStages: 2 };
    for (const schedule of ['TeraPipe', 'GPipe'] as const)
      assert.throws(
        () => makePlan({ ...small, layout, schedule }),
        (error) => error instanceof ExpectedError && error.code === 'plan-virtual-stages',
      );
    assert.equal(makePlan({ ...small, layout, schedule: '1F1B' }).chosen, '1f1b');
  });

  it("predicts each schedule when it is asked for, at its own number of chunks or the layout's", () => {
    for (const schedule of otherSchedules) {
      const plan = makePlan({ ...small, schedule });
      assert.deepEqual([plan.chosen, chosenCandidate(plan).schedule], [schedule, schedule]);
    }
    const layout = { ...small.layout, virtualStages: 2 };
    const interleaved = makePlan({ ...small, layout, schedule: 'Interleaved1F1B' });
    assert.deepEqual([interleaved.chosen, chosenCandidate(interleaved).schedule], ['1f1b', 'Interleaved1F1B']);
    assert.equal(makePlan({ ...small, layout, schedule: 'ZBVZeroBubble' }).chosen, 'ZBVZeroBubble');
    assert.ok(makePlan({ ...small, layout }).candidates.every(({ chunksPerStage }) => chunksPerStage === 2));
  });

  it('explains why a schedule that is asked for cannot run, and leaves it out where nobody asks', () => {
    const few = { ...small, training: { ...small.training, globalBatch: 4 } };
    const code = (wanted: PlanRequest) => {
      try {
        makePlan(wanted);
      } catch (error) {
        return error instanceof ExpectedError ? `${error.code}: ${error.message}` : String(error);
      }
      return 'no error';
    };
    assert.match(code({ ...few, schedule: 'DualPipeV' }), /^schedule-unmet: DualPipeV needs at least 8 micro-batches/);
    assert.ok(!makePlan(few).candidates.some(({ id }) => id === 'DualPipeV'));
    const shallow = { ...small, model: gpt(6, 1024, 16, 50304) };
    assert.match(
      code({ ...shallow, schedule: 'ZBVZeroBubble' }),
      /^schedule-unmet: ZBVZeroBubble .* needs 8 layers or more, but there are 6/,
    );
    assert.ok(makePlan(shallow).candidates.every(({ chunksPerStage }) => chunksPerStage === 1));
  });

  it('of a launcher never chooses a schedule that it does not run, but shows what the fastest takes, and which runtime runs it', () => {
    const wanted = request('H100-80GB', llama3('70b', 80), {
      training: {
        globalBatch: 64,
        sequenceLength: 4096,
        attention: 'flash',
        dropout: false,
        precision: 'bf16',
        sequenceParallel: true,
        zeroStage: 1,
      },
      layout: { tensor: 8, pipeline: 8, data: 2 },
    });
    const plan = makePlan({ ...wanted, runs: ['1F1B'] });
    const chosen = chosenCandidate(plan);
    assert.equal(chosen.schedule, '1F1B');
    const faster = plan.candidates.filter(
      ({ id, fits, iterationMs }) => fits && id !== 'uniform' && id !== 'whole' && iterationMs * 1.05 < chosen.iterationMs,
    );
    const best = faster.reduce((a, b) => (b.iterationMs < a.iterationMs ? b : a));
    assert.ok(
      plan.reasons.some((reason) => toText(reason).startsWith(`${toText(best.name)}, which TorchTitan `)),
      plan.reasons.map((one) => toText(one)).join('\n'),
    );
    const open = makePlan(wanted);
    assert.ok(chosenCandidate(open).fits && chosenCandidate(open).iterationMs <= 1.05 * best.iterationMs);
    assert.ok(
      open.reasons.some((reason) => toText(reason).includes(`does not run ${toText(chosenCandidate(open).name)}; `)),
      open.reasons.map((one) => toText(one)).join('\n'),
    );
  });

  it('without comparisons chooses the same candidate, and plans nothing that cannot be chosen', () => {
    const full = { ...small.cluster, gpu: { ...small.cluster.gpu, memoryBytes: 2 ** 20 } };
    const scheme = Array.from({ length: 8 }, () => ({ batch: 1, tokens: [512, 512] }));
    const wanted: readonly PlanRequest[] = [
      { ...small, runs: ['1F1B'] },
      { ...small, runs: ['1F1B'], cluster: full },
      { ...small, runs: ['1F1B', 'ZBVZeroBubble', 'GPipe'] },
      { ...small, runs: ['1F1B'], freeVirtualStages: true },
      { ...small, runs: ['TeraPipe', '1F1B'] },
      { ...small, schedule: 'TeraPipe' },
      { ...small, schedule: 'ZB-H1' },
      { ...small, slicing: { ...small.slicing, scheme } },
      { ...small, schedule: 'Seq1F1B', slicing: { ...small.slicing, scheme } },
      small,
    ];
    for (const asked of wanted) {
      const [all, some] = [makePlan(asked), makePlan(asked, { isCompared: false })];
      assert.deepEqual(chosenCandidate(some), chosenCandidate(all));
      assert.deepEqual(some.request, all.request);
      assert.deepEqual(some.reasons, []);
    }
    const [first] = wanted;
    assert.deepEqual(
      makePlan(first ?? small, { isCompared: false }).candidates.map(({ id }) => id),
      ['1f1b'],
    );
  });

  it('lists the chosen way first, then what fits, then what does not, in each what the runtime runs first', () => {
    const plan = makePlan({ ...small, runs: ['1F1B'] });
    const [first, ...others] = plan.candidates;
    assert.equal(first?.id, plan.chosen);
    const ranks = others.map(({ fits, schedule }) => (fits ? 0 : 2) + (neededFor(schedule, plan.request) === null ? 0 : 1));
    assert.deepEqual(ranks, ranks.toSorted());
  });

  it('chooses virtual stages where no file gives them, of numbers that cut layers and micro-batches evenly, as if they were given', () => {
    const wanted = { ...small, runs: ['1F1B' as const] };
    const plan = makePlan({ ...wanted, freeVirtualStages: true });
    const chosen = chosenCandidate(plan);
    const { model, layout } = plan.request;
    assert.equal(chosen.schedule, 'Interleaved1F1B');
    assert.equal(layout.virtualStages, chosen.chunksPerStage);
    assert.equal(model.layers % (layout.pipeline * layout.virtualStages), 0);
    assert.deepEqual(
      plan.request.assumptions.filter(({ key }) => key === 'layout.virtualStages').map(({ value }) => value),
      [String(chosen.chunksPerStage)],
    );
    const given = chosenCandidate(makePlan({ ...wanted, layout }));
    assert.deepEqual([given.iterationMs, candidatePeakBytes(given)], [chosen.iterationMs, candidatePeakBytes(chosen)]);
    assert.deepEqual(chosenCandidate(makePlan(plan.request)).iterationMs, chosen.iterationMs, 'planned again');
    const odd = {
      ...wanted.training,
      globalBatch: 4 * layout.data * wanted.training.microBatch + layout.data * wanted.training.microBatch,
    };
    assert.equal(
      makePlan({ ...wanted, training: odd, freeVirtualStages: true }).request.layout.virtualStages,
      1,
      'no multiple of the stages',
    );
    assert.equal(makePlan(wanted).request.layout.virtualStages, 1);
  });

  it('reports the same range with virtual stages that it chose as with the same ones given', () => {
    const reason = sentence`assumed`;
    const wanted: PlanRequest = {
      ...small,
      model: gpt(32, 1024, 16, 50304),
      runs: ['1F1B'],
      cluster: { ...small.cluster, nodes: 4, gpusPerNode: 2 },
      assumptions: [{ key: 'cluster.links.nicGBps', value: String(small.cluster.links.nicGBps), reason }],
    };
    const chosen = makePlan({ ...wanted, freeVirtualStages: true });
    assert.ok(chosen.request.layout.virtualStages > 2);
    const given = makePlan({ ...wanted, layout: chosen.request.layout });
    assert.deepEqual(chosen.cost.range, given.cost.range);
  });

  it('names which schedules it left out because they take long', () => {
    const many = { ...small, training: { ...small.training, globalBatch: 400 } };
    const plan = makePlan(many);
    assert.ok(!plan.candidates.some(({ id }) => id === 'ZeroBubble'));
    assert.ok(plan.reasons.some((reason) => /^not compared.*ZeroBubble, ZeroBubbleV/.test(toText(reason))));
    assert.equal(makePlan({ ...small, training: { ...small.training, globalBatch: 90 }, schedule: 'ZeroBubble' }).chosen, 'ZeroBubble');
  });

  it('refuses more stages than layers and a batch that replicas cannot share', () => {
    const code = (wanted: PlanRequest) => {
      try {
        makePlan(wanted);
      } catch (error) {
        return error instanceof ExpectedError ? error.code : String(error);
      }
      return 'no error';
    };
    assert.equal(code({ ...small, layout: { ...small.layout, pipeline: 9 } }), 'plan-more-stages-than-layers');
    // BLOOM's own: the embedding and the head have stages of their own
    const ends = [0, ...Array.from({ length: small.model.layers }, () => 1), 0];
    assert.doesNotThrow(() => makePlan({ ...small, layout: { ...small.layout, pipeline: ends.length, stageLayers: ends } }));
    assert.equal(code({ ...small, layout: { ...small.layout, data: 3 } }), 'plan-batch-not-divisible');
    assert.equal(code({ ...small, schedule: '1F1B', training: { ...small.training, microBatch: 3 } }), 'plan-batch-not-divisible');
  });

  it('refuses a step of more operations than can be simulated at once, whatever its size', () => {
    for (const globalBatch of [1e7, 1e9, 1e15])
      assert.throws(
        () => makePlan({ ...small, training: { ...small.training, globalBatch } }),
        (error) => error instanceof ExpectedError && error.code === 'plan-too-large',
      );
  });

  it('never lets its slices lose to equal ones, uneven ends or not', () => {
    for (const vocab of [0, 50304])
      for (const globalBatch of [1, 4, 8]) {
        const wanted = { ...small, model: gpt(8, 1024, 16, vocab), training: { ...small.training, globalBatch } };
        assert.ok(
          candidate(wanted, 'terapipe').iterationMs <= candidate(wanted, 'uniform').iterationMs * (1 + 1e-9),
          `${vocab} ${globalBatch}`,
        );
      }
  });

  it('stops when cancelled', () => {
    assert.throws(() => makePlan(small, { signal: { aborted: true } }), CancelledError);
  });

  it('reports growing progress', () => {
    const fractions: number[] = [];
    makePlan(small, { onProgress: (fraction) => fractions.push(fraction) });
    assert.deepEqual(
      fractions,
      [...fractions].sort((a, b) => a - b),
    );
    assert.ok(Math.abs(fractions.at(-1)! - 1) < 1e-9);
  });

  it('gives the same plan twice', () => {
    assert.deepEqual(makePlan(small), makePlan(small));
  });

  it('takes measured slice times from a table, transfers included', () => {
    const table = { tokens: [256, 1024], contexts: [0], forwardMs: [[2], [6]], backwardMs: [[4], [12]] };
    const plan = makePlan({ ...small, costTable: table });
    assert.equal(plan.cost.kind, 'table');
    const whole = plan.candidates.find(({ id }) => id === 'whole')!;
    assert.ok(Math.abs(whole.pipelineMs - (8 + 3) * 18) < 1e-9);
  });

  it('reports that a Llama on Ethernet-class links is good to 35 % at best', () => {
    const plan = makePlan(request('V100-16GB', llama3('70b', 8), { training: { globalBatch: 4 }, layout: { tensor: 8, pipeline: 4 } }));
    assert.ok(plan.cost.errorPercent >= 35);
  });
});

describe('layers of stages', () => {
  it('are equal where they can be', () => {
    assert.deepEqual(
      evenStageContents(96, 4).map(({ layers }) => layers),
      [24, 24, 24, 24],
    );
  });

  it('are lighter at the ends where they cannot', () => {
    assert.deepEqual(
      evenStageContents(14, 4).map(({ layers }) => layers),
      [3, 4, 4, 3],
    );
  });

  it('mark both ends on a single stage', () => {
    assert.deepEqual(evenStageContents(3, 1), [{ layers: 3, first: true, last: true }]);
  });
});

import assert from 'node:assert/strict';
import { scheduleOn } from '../../../../../src/core/schedules/on-layout';
import { planJson } from '../../../../../src/core/export/plan-json';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import type { Plan } from '../../../../../src/core/planner/plan';
import { predict } from '../../../../../src/core/planner/predict/predict';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { runtimes } from '../../../../../src/core/domain/runtime';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import type { ScheduleName } from '../../../../../src/core/domain/schedule-names';
import { readTeraPipeSamples, terapipeRequest, terapipeSettings } from '../../../../golden/terapipe';
import { gpt, request } from '../../../../golden/requests';
import { loadRun } from '../../../../load-run';

/** A step of whole sequences, ms. */
function stepMs(wanted: PlanRequest, schedule: ScheduleName): number {
  const { training, layout } = wanted;
  const count = training.globalBatch / layout.data / training.microBatch;
  const scheme = Array.from({ length: count }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  return predict(buildPipeline(wanted), { id: 'whole', name: schedule, kind: scheduleOn(schedule, layout), scheme, certificate: null })
    .pipelineMs;
}

const written = (more: object): Promise<PlanRequest> =>
  loadRun(
    'terapipe.json',
    JSON.stringify({
      model: { layers: 8, hidden: 1024, heads: 16, vocab: 1024 },
      cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 },
      training: { sequenceLength: 1024, microBatch: 1, globalBatch: 8 },
      layout: { tensor: 1, pipeline: 4, data: 1, context: 1 },
      ...more,
    }),
    () => Promise.reject(new Error('no other file')),
  ).then((run) => resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 }));

/** The runtime and its way of sending, as a plan's JSON has them. */
function answered(plan: Plan): readonly unknown[] {
  const { runtime, sends } = planJson(plan).plan as { readonly runtime?: unknown; readonly sends?: unknown };
  return [runtime, sends];
}

describe('sends', () => {
  before(readTeraPipeSamples);

  it('are those of the runtime: whole sequences take as long as TeraPipe and as GPipe, whichever it is', () => {
    const setting = terapipeSettings.find((row) => row.setting === 5);
    assert.ok(setting);
    const wanted = terapipeRequest(setting);
    const times = runtimes.map((runtime) => {
      const under = { ...wanted, training: { ...wanted.training, runtime } };
      const ms = stepMs(under, 'TeraPipe');
      assert.ok(Math.abs(stepMs(under, 'GPipe') / ms - 1) < 1e-9, runtime);
      return [runtime, ms] as const;
    });
    const of = new Map(times);
    assert.ok(of.get('terapipe')! > 1.2 * of.get('megatron')!);
  });

  it('are paid by the further chunks of a stage where a runtime exchanges and waits, and hidden where it does not', () => {
    const on = (gpu: 'A100-80GB' | 'B200') => {
      const wanted = request(gpu, gpt(16, 4096, 32, 1024), {
        training: { microBatch: 4, globalBatch: 64, gradAccumulationFusion: true, attentionKernel: 'cudnn' },
        layout: { pipeline: 8 },
      });
      return (runtime: 'megatron' | 'torchtitan', virtualStages: number): number =>
        stepMs({ ...wanted, training: { ...wanted.training, runtime }, layout: { ...wanted.layout, virtualStages } }, '1F1B');
    };
    const under = on('A100-80GB');
    assert.equal(under('megatron', 1), under('torchtitan', 1));
    assert.ok(under('megatron', 2) > 1.001 * under('torchtitan', 2));
    // no release of Megatron-LM that runs there waits for them
    const later = on('B200');
    assert.equal(later('megatron', 2), later('torchtitan', 2));
  });

  it("are TeraPipe's own for all that is compared where TeraPipe is asked for and no runtime is named, and in every answer", async () => {
    const asked = await written({ schedule: 'TeraPipe' });
    assert.equal(asked.training.runtime, 'terapipe');
    assert.ok(asked.assumptions.some(({ key }) => key === 'training.runtime'));
    const plan = makePlan(asked);
    const of = (id: string): number => plan.candidates.find((candidate) => candidate.id === id)!.iterationMs;
    assert.ok(Math.abs(of('whole') / of('gpipe') - 1) < 1e-9);
    assert.deepEqual(answered(plan), ['terapipe', 'blocking']);

    const named = await written({
      schedule: 'TeraPipe',
      training: { sequenceLength: 1024, microBatch: 1, globalBatch: 8, runtime: 'torchtitan' },
    });
    assert.deepEqual(answered(makePlan(named)), ['torchtitan', 'asynchronous']);

    const open = makePlan(await written({}));
    const openOf = (id: string): number => open.candidates.find((candidate) => candidate.id === id)!.iterationMs;
    assert.deepEqual(answered(open), ['megatron', 'exchange']);
    assert.ok(Math.abs(openOf('whole') / openOf('gpipe') - 1) < 1e-9);
  });
});

import assert from 'node:assert/strict';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import type { Candidate } from '../../../../src/core/planner/plan';
import { predict } from '../../../../src/core/planner/predict/predict';
import { idleCauses } from '../../../../src/core/schedules/simulate/gaps';
import { busyTimes } from '../../../../src/core/schedules/simulate/idle';
import type { Runtime } from '../../../../src/core/domain/runtime';
import type { ScheduleName } from '../../../../src/core/domain/schedule-names';
import { gpt, request } from '../../../golden/requests';
import { loadRun } from '../../../load-run';
import { resolveRun } from '../../../../src/core/plan-request/resolve';

function predicted(schedule: ScheduleName, runtime: Runtime, maxPendingBackward?: number): Candidate {
  const microBatches = 16;
  const wanted = request('A100-80GB', gpt(8, 2048, 16, 1024), {
    training: {
      runtime,
      microBatch: 1,
      globalBatch: microBatches,
      gradAccumulationFusion: false,
      ...(maxPendingBackward !== undefined && { maxPendingBackward }),
    },
    layout: { tensor: 1, pipeline: 4, data: 1 },
  });
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [2048] }));
  const id = schedule === '1F1B' ? '1f1b' : (schedule as Candidate['id']);
  return predict(buildPipeline(wanted), { id, name: schedule, kind: scheduleOn(schedule, wanted.layout), scheme, certificate: null });
}

describe('a planned order with a limit of pending backwards', () => {
  it('holds no more than this many forwards take, 1F1B holding as many as stages, and takes no longer with more', () => {
    const [one, two, unlimited] = [4, 8, undefined].map((pending) => predicted('ZeroBubble', 'megatron', pending));
    const held = ({ memory }: Candidate): number =>
      Math.max(...memory.stages.map(({ parts }) => parts.activations + parts.logits + parts.keptForWeights));
    const four = held(predicted('1F1B', 'megatron'));
    assert.ok(held(one!) <= four * (1 + 1e-9) && held(two!) <= 2 * four * (1 + 1e-9));
    assert.ok(held(two!) > 1.5 * four && held(unlimited!) > held(two!));
    assert.ok(one!.iterationMs > two!.iterationMs && two!.iterationMs >= unlimited!.iterationMs);
  });
});

describe('the end of a step', () => {
  it('comes on each stage by itself where the optimizer is validated afterwards, and on all together elsewhere', () => {
    for (const schedule of ['ZB-H1', 'ZB-H2', 'ZBVZeroBubble', 'ZeroBubble', 'ZeroBubbleV'] as const) {
      const megatron = predicted(schedule, 'megatron');
      const torch = predicted(schedule, 'torchtitan');
      assert.equal(megatron.pipelineMs, Math.max(...busyTimes(megatron.timeline!).spanMs), schedule);
      assert.equal(torch.pipelineMs, torch.timeline!.makespanMs, schedule);
    }
    const gained = predicted('ZB-H2', 'megatron');
    assert.ok(gained.pipelineMs < gained.timeline!.makespanMs);
    for (const schedule of ['1F1B', 'InterleavedZeroBubble', 'DualPipeV'] as const) {
      const waiting = predicted(schedule, 'megatron');
      assert.equal(waiting.pipelineMs, waiting.timeline!.makespanMs, schedule);
    }
  });

  it('leaves idle time that adds up with busy time to the pipeline', () => {
    for (const schedule of ['ZB-H2', 'ZBVZeroBubble', '1F1B'] as const) {
      const { idle, busyMs, pipelineMs } = predicted(schedule, 'megatron');
      busyMs.forEach((busy, stage) => {
        const idleMs = idleCauses.reduce((sum, cause) => sum + idle[cause][stage]!, 0);
        assert.ok(
          Math.abs(busy + idleMs - pipelineMs) < 1e-9 * pipelineMs,
          `${schedule}, stage ${stage}: ${busy} + ${idleMs}, ${pipelineMs}`,
        );
      });
    }
  });
});

describe('a cut with an entry for each chunk of a V', () => {
  it('is that of the schedule, without virtual stages being named, with only the embedding and the head on the first stage', async () => {
    const run = await loadRun(
      'terapipe.json',
      JSON.stringify({
        model: { layers: 6, hidden: 1024, heads: 16, vocab: 32_000 },
        cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 },
        training: { sequenceLength: 1024, microBatch: 1, globalBatch: 8 },
        layout: { tensor: 1, pipeline: 4, data: 1, context: 1, stageLayers: [0, 1, 1, 1, 1, 1, 1, 0] },
        schedule: 'ZBVZeroBubble',
      }),
      () => Promise.reject(new Error('no other file')),
    );
    const wanted = resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 });
    assert.equal(wanted.layout.virtualStages, 2);
    assert.equal(scheduleOn('ZBVZeroBubble', wanted.layout).chunks, 2);
    assert.ok(wanted.assumptions.some(({ key }) => key === 'layout.virtualStages'));
    const scheme = Array.from({ length: 8 }, () => ({ batch: 1, tokens: [1024] }));
    const { busyMs } = predict(buildPipeline(wanted), {
      id: 'ZBVZeroBubble',
      name: 'ZBVZeroBubble',
      kind: scheduleOn('ZBVZeroBubble', wanted.layout),
      scheme,
      certificate: null,
    });
    assert.ok(busyMs[0]! < busyMs[1]!);
  });
});

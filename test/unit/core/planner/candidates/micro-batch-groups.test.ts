import assert from 'node:assert/strict';
import { withBestGroup } from '../../../../../src/core/planner/candidates/micro-batch-groups';
import { buildPipeline } from '../../../../../src/core/planner/predict/pipeline';
import { measure, type Prediction } from '../../../../../src/core/planner/predict/predict';
import type { PlanRequest, TrainingSpec } from '../../../../../src/core/domain/request';
import { gpt, request } from '../../../../golden/requests';
import { toText } from '../../../sentence-text';

/** Eight stages of one GPU each, over a network of this many GB/s. */
function run(nicGBps: number, training: Partial<TrainingSpec> = {}): PlanRequest {
  const wanted = request('V100-16GB', gpt(16, 2048, 16, 1024), {
    training: { runtime: 'megatron', microBatch: 1, globalBatch: 32, timeSends: true, recompute: 'full', ...training },
    layout: { tensor: 1, pipeline: 8, data: 1 },
  });
  const { cluster } = wanted;
  return { ...wanted, cluster: { ...cluster, nodes: 8, gpusPerNode: 1, links: { ...cluster.links, nicGBps } } };
}

function planned(wanted: PlanRequest, schedule: 'kFkB' | '1F1B' = 'kFkB'): Prediction {
  const pipeline = buildPipeline(wanted);
  const scheme = Array.from({ length: wanted.training.globalBatch }, () => ({ batch: 1, tokens: [wanted.training.sequenceLength] }));
  const spec = { id: '1f1b' as const, name: schedule, kind: pipeline.schedules[schedule], scheme, certificate: null };
  return measure(pipeline, withBestGroup(pipeline, spec));
}

describe('groups of micro-batches', () => {
  it('are as large as a slow network asks for, and one where the network is fast or sends are hidden', () => {
    const slow = run(5);
    assert.match(toText(planned(slow).name), /^kFkB, groups of 2$/);
    const gain = planned(slow, '1F1B').iterationMs / planned(slow).iterationMs;
    assert.ok(gain > 1.04 && gain < 1.5, `${gain} times as fast as 1F1B`);
    for (const wanted of [run(400), run(5, { timeSends: false })]) {
      const [own, plain] = [planned(wanted), planned(wanted, '1F1B')];
      assert.ok(own.iterationMs <= plain.iterationMs && own.iterationMs > 0.99 * plain.iterationMs, toText(own.name));
    }
  });

  it('are of the size that a file sets, whether it fits or not, and hold that many times the activations', () => {
    const [one, four] = [1, 4].map((groupedMicroBatches) => planned(run(1.25, { groupedMicroBatches })));
    assert.equal(toText(four!.name), 'kFkB, groups of 4');
    const held = ({ memory }: Prediction): number => memory.stages[0]!.parts.activations;
    assert.ok(Math.abs(held(four!) / held(one!) - 4) < 0.01, `${held(four!) / held(one!)} times`);
  });

  it('stay within memory', () => {
    const wanted = run(2, { recompute: 'none' });
    const { cluster } = wanted;
    const onGpus = (gib: number): Prediction =>
      planned({ ...wanted, cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: gib * 2 ** 30 } } });
    const [large, small, none] = [32, 16, 4].map(onGpus);
    assert.deepEqual([large!.fits, small!.fits, none!.fits], [true, true, false]);
    const names = [large, small, none].map((each) => toText(each!.name));
    assert.deepEqual(names, ['kFkB, groups of 2', 'kFkB, groups of 1', 'kFkB, groups of 1']);
    assert.ok(small!.iterationMs > 1.1 * large!.iterationMs);
  });
});

describe('timed sends', () => {
  it('make no step shorter than sends that are hidden, and kFkB as long as 1F1B with those', () => {
    for (const nicGBps of [1.25, 12.5, 100]) {
      const hidden = planned(run(nicGBps, { timeSends: false }), '1F1B').iterationMs;
      const [own, plain] = (['kFkB', '1F1B'] as const).map((schedule) => planned(run(nicGBps), schedule).iterationMs / hidden);
      assert.ok(Math.abs(own! - 1) < 1e-9 && plain! > 1 - 1e-9, `${nicGBps} GB/s: ${own}, ${plain}`);
    }
  });
});

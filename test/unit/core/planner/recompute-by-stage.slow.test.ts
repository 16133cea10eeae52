import assert from 'node:assert/strict';
import type { Run } from '../../../../src/core/formats/run';
import { fitsMemory, stageFits } from '../../../../src/core/memory-model/verdict';
import { memoryOf } from '../../../../src/core/partition/scheduling';
import { gpuMemoryOf } from '../../../../src/core/partition/stage-inputs';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { pipelineOf } from '../../../../src/core/planner/pipeline';
import { chosenOf, type Plan } from '../../../../src/core/planner/plan';
import { measure } from '../../../../src/core/planner/predict';
import { recomputeByStage } from '../../../../src/core/planner/recompute-by-stage';
import { resolveRun } from '../../../../src/core/resolve/resolve';
import { findingsOf } from '../../../../src/core/rules/run-findings';
import { findRemedies } from '../../../../src/core/rules/plan/remedies';
import { remedyText } from '../../../../src/core/rules/plan/remedy';
import { say } from '../../../../src/core/sentence';
import type { TrainingSpec } from '../../../../src/core/spec/request';
import { loadRun } from '../../../load-run';

/** Half of Llama 3 70B on four stages: the first ones hold more micro-batches than fit. */
const config = {
  model: {
    layers: 40,
    hidden: 8192,
    heads: 64,
    kvHeads: 8,
    headDim: 128,
    ffn: 28672,
    gatedMlp: true,
    vocab: 128256,
    tiedEmbeddings: false,
  },
  cluster: { gpu: 'H100-80GB', nodes: 4, gpusPerNode: 8 },
  training: { sequenceLength: 65536, globalBatch: 16, sequenceParallel: true },
  layout: { tensor: 8, pipeline: 4 },
  slicing: { unit: 16384 },
};

const load = (changed: object): Promise<Run> =>
  loadRun('terapipe.json', JSON.stringify({ ...config, ...changed }), () => Promise.reject(new Error('no other file')));
const planOf = (run: Run): Plan => makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));

describe('recompute by stage', () => {
  for (const schedule of ['1F1B', 'Seq1F1B'] as const)
    it(`takes as few layers of each stage of ${schedule} as fit, and the step that follows`, async () => {
      const { request, candidates } = planOf(
        await load({ schedule, ...(schedule === '1F1B' ? {} : { training: { ...config.training, sequenceLength: 196608 } }) }),
      );
      const chosen = candidates.find((candidate) => candidate.schedule === schedule)!;
      assert.equal(chosen.fits, false);
      const found = recomputeByStage(request, chosen, [chosen.scheme]);
      assert.ok(found !== null);
      const { layers, prediction } = found;
      const { model, training, layout, cluster } = request;
      const withTraining = (changed: Partial<TrainingSpec>): TrainingSpec => ({ ...training, recompute: 'full', ...changed });
      const memoryWith = (changed: Partial<TrainingSpec>) =>
        memoryOf({ model, training: withTraining(changed), layout }, schedule, chosen.scheme, gpuMemoryOf(cluster, layout))!;
      assert.ok(fitsMemory(memoryWith({ recomputeByStage: layers })));
      assert.ok(new Set(layers).size > 1, `${layers.join()}: later stages hold less`);
      for (const [stage, count] of layers.entries()) {
        if (count === 0) continue;
        const fewer = memoryWith({ recomputeByStage: layers.with(stage, count - 1) });
        assert.deepEqual(
          fewer.stages.map(stageFits),
          layers.map((_, other) => other !== stage),
          `one layer fewer on stage ${stage}`,
        );
      }
      const alike = { ...request, training: withTraining({ recomputeLayers: Math.max(...layers) }) };
      assert.ok(prediction.iterationMs < measure(pipelineOf(alike), chosen).iterationMs);
      assert.ok(prediction.iterationMs > chosen.iterationMs);
    });

  it('is what Megatron-LM does with its block method, where all stages recompute as many', async () => {
    const { request, candidates } = planOf(await load({ schedule: '1F1B' }));
    const chosen = candidates.find(({ schedule }) => schedule === '1F1B')!;
    for (const count of [0, 3, 10]) {
      const [alike, apart] = [{ recomputeLayers: count }, { recomputeByStage: [count, count, count, count] }].map((changed) =>
        measure(pipelineOf({ ...request, training: { ...request.training, recompute: 'full', ...changed } }), chosen),
      );
      assert.equal(apart!.iterationMs, alike!.iterationMs);
      assert.deepEqual(apart!.memory.stages, alike!.memory.stages);
    }
  });

  it('is named beside the changes that flags can say, as none itself, where it is faster', async () => {
    const run = await load({ schedule: '1F1B' });
    const plan = planOf(run);
    const remedies = findRemedies(run, plan, planOf);
    const [alike, apart] = remedies.slice(-2);
    assert.match(say(alike!.label), /^Recompute \d of up to 10 layers of each stage$/);
    assert.match(say(apart!.label), /^Recompute \d layers on stage 0, \d layers? on stages? .* \(no launcher's flags can say so\)$/);
    assert.deepEqual(apart!.sets, []);
    assert.ok(apart!.iterationMs < alike!.iterationMs && apart!.slower < alike!.slower);
    assert.ok(Math.abs(apart!.slower - (apart!.iterationMs / chosenOf(plan).iterationMs - 1)) < 1e-9);
    const [finding] = findingsOf(run, plan, remedies).filter(({ code }) => code === 'memory-over-capacity');
    assert.ok(
      say(finding!.remedy)
        .toLowerCase()
        .includes(say(remedyText(apart!)).toLowerCase()),
    );
    assert.equal(finding!.fixes.length, remedies.length - 1);
  });
});

import assert from 'node:assert/strict';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { countMemory } from '../../../../src/core/memory-model/count';
import { keptForWeights } from '../../../../src/core/memory-model/split-backward';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { mtpParameters, withMtpLayers } from '../../../../src/core/model/multi-token-prediction';
import { modelFlopsPerSequence, parameterCount } from '../../../../src/core/model/parameters';
import type { ModelSpec } from '../../../../src/core/domain/model';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { evenStageContents } from '../../../../src/core/partition/stages';
import { searchLayouts } from '../../../../src/core/layout-search/assemble';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { deepseek, llama3, request } from '../../../golden/requests';
import { load } from '../config-files/files';

const defaults = { gpu: 'H200', nodes: 1, gpusPerNode: 8 } as const;
const flash = {
  attention: 'flash',
  precision: 'bf16',
  dropout: false,
  sequenceLength: 4096,
  globalBatch: 8,
  fusedCrossEntropy: true,
} as const;
const with_ = (model: ModelSpec, mtpLayers: number): ModelSpec => ({ ...model, mtpLayers });

function planned(mtpLayers: number) {
  return request('H200', with_(llama3('70b', 8), mtpLayers), {
    training: { ...flash, sequenceParallel: true, zeroStage: 0 },
    layout: { tensor: 2, pipeline: 4 },
  });
}

describe('layers of multi-token prediction', () => {
  it('are 11.6B parameters in DeepSeek-V3 with its 671B: a layer with 256 experts and one shared, latent attention, a projection and norms', () => {
    const model = deepseek(3, 61);
    const [h, heads, qRank, kvRank] = [7168, 128, 1536, 512];
    const experts = 257 * 3 * h * 2048 + 256 * h;
    const attention = h * qRank + qRank * heads * 192 + h * (kvRank + 64) + kvRank * heads * 256 + heads * 128 * h;
    const norms = 2 * h + qRank + kvRank + 3 * h;
    assert.equal(mtpParameters(with_(model, 1)), experts + attention + norms + 2 * h * h);
    assert.equal(parameterCount(with_(model, 1)), parameterCount(model));
    assert.equal(mtpParameters(model), 0);
  });

  it('are of the kind of the last layer, only on the last stage', () => {
    const kinds = [
      { feedForward: 'dense', window: null },
      { feedForward: 'experts', window: null },
    ] as const;
    const model = with_({ ...deepseek(3, 2), layerKinds: kinds }, 2);
    const [first, last] = evenStageContents(2, 2, model);
    assert.equal(first?.layers, 1);
    assert.deepEqual(last, { layers: 3, first: false, last: true, groups: [{ kind: kinds[1], layers: 3 }] });
    const dense = withMtpLayers(model, { layers: 1, last: true, groups: [{ kind: kinds[0], layers: 1 }] });
    assert.deepEqual(dense.groups, [
      { kind: kinds[0], layers: 1 },
      { kind: kinds[1], layers: 2 },
    ]);
  });

  it('take a layer, a projection and a pass of the head each, on the last stage', () => {
    const ms = (mtpLayers: number, stage: number): number => {
      const inputs = planned(mtpLayers);
      const shape = evenStageContents(8, 4, inputs.model)[stage]!;
      return stageCost(inputs, shape.layers, shape)(1, 4096, 0).forwardMs;
    };
    assert.equal(ms(1, 0), ms(0, 0));
    const inputs = planned(0);
    const part = (layers: number, last: boolean): number => stageCost(inputs, layers, { first: false, last })(1, 4096, 0).forwardMs;
    const layerAndHead = part(1, true);
    const added = ms(1, 3) - ms(0, 3);
    assert.ok(added > layerAndHead && added < 1.35 * layerAndHead, `${added} ${layerAndHead}`);
    assert.ok(Math.abs(ms(3, 3) - ms(0, 3) - 3 * added) < 1e-9 * added);
  });

  it('hold their parameters, a copy of the embedding, and logits once more', () => {
    const at = (mtpLayers: number) => {
      const inputs = planned(mtpLayers);
      return { inputs, shape: evenStageContents(8, 4, inputs.model)[3]! };
    };
    const weights = (mtpLayers: number): number => {
      const { inputs, shape } = at(mtpLayers);
      return staticBytes(inputs, shape).weights;
    };
    const { model } = planned(1);
    const embedding = (model.vocab * model.hidden) / 2;
    const norms = 5 * model.hidden;
    assert.ok(Math.abs(weights(1) - weights(0) - 2 * ((mtpParameters(model) - norms) / 2 + norms + embedding)) < 1e-6 * weights(0));
    const schedule = generateSchedule('1F1B', toScheduleProblem([{ batch: 1, tokens: [4096] }], 4, 1));
    const logits = (mtpLayers: number): number => {
      const { inputs } = at(mtpLayers);
      return countMemory(inputs, schedule, evenStageContents(8, 4, inputs.model), 2 ** 40).chunks[3]!.alike[0]!.logits;
    };
    assert.equal(logits(2), 3 * logits(0));
  });

  it('keep for their weight gradients a pass of the head and a projection each', () => {
    const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 4096, context: 0 };
    const last = evenStageContents(8, 4).at(-1)!;
    const kept = (depths: number) => keptForWeights(planned(depths), last, unit).head;
    const { hidden: h, vocab } = llama3('70b', 8);
    assert.equal(kept(2) - kept(0), 2 * 2 * 4096 * (h + vocab / 2 + 2 * h + h / 2));
  });

  it('count as model FLOPs: their layer, projection and head', () => {
    const model = llama3('70b', 8);
    const flops = (layers: number, mtpLayers: number): number => modelFlopsPerSequence(with_({ ...model, layers }, mtpLayers), 4096);
    const layer = flops(9, 0) - flops(8, 0);
    assert.equal(flops(8, 1) - flops(8, 0), layer + 4096 * (6 * model.vocab * model.hidden + 12 * model.hidden ** 2));
  });

  it('are trained as the config sets them, unless training.mtpLayers sets another depth', async () => {
    const config = { model_type: 'deepseek_v3', num_hidden_layers: 4, num_nextn_predict_layers: 1 };
    const files = (training: object) => ({
      'terapipe.json': JSON.stringify({ model: 'config.json', training }),
      'config.json': JSON.stringify(config),
    });
    const depths = async (training: object) => resolveRun(await load(files(training)), defaults).model.mtpLayers;
    assert.equal(await depths({}), 1);
    assert.equal(await depths({ mtpLayers: 0 }), undefined);
    assert.equal(await depths({ mtpLayers: 2 }), 2);
  });

  it('are searched as they are planned', () => {
    const wanted = { ...planned(2), schedule: '1F1B' as const };
    const keys = ['tensor', 'pipeline', 'data', 'context', 'virtualStages', 'microBatch', 'schedule', 'recompute', 'zeroStage'] as const;
    const request = { ...wanted, layout: { ...wanted.layout, stageLayers: [2, 2, 2, 2] } };
    const { best } = searchLayouts({ request, fixed: new Set([...keys, 'offloadOptimizer', 'expert'] as const) });
    const plan = chosenCandidate(makePlan(request));
    assert.equal(best.iterationMs, plan.iterationMs);
    assert.equal(best.peakBytes, candidatePeakBytes(plan));
  });
});

import assert from 'node:assert/strict';
import { elasticContext, modelledStep, stepStageBytes } from '../../../../../src/features/elastic/core/context';
import { elasticTimeline, planElastic } from '../../../../../src/features/elastic/core/make-plan';
import { totalBytes } from '../../../../../src/features/elastic/core/stage-bytes';
import type { ElasticRequest } from '../../../../../src/features/elastic/core/request';
import { decoderEnds } from '../../../../../src/core/model/ends';
import { gpuPresets } from '../../../../../src/core/cluster/presets';
import { gptSmall, requestOf, trainingOf } from './models';

const spec = { ...gptSmall, layers: 24, hidden: 2048, heads: 16, kvHeads: 16, headDim: 128, ffn: 8192, maxPositions: 8192 };
const { gpu, links } = gpuPresets['A100-40GB'];

/** A causal model of long sequences on two nodes of eight GPUs, a third of the layers left freezing every epoch. */
function gptRequest(changes: Partial<ElasticRequest>): ElasticRequest {
  return requestOf({
    model: { spec, ends: decoderEnds(spec) },
    training: { ...trainingOf(8192), precision: 'bf16', attention: 'flash', optimizer: 'adam' },
    cluster: { gpu, links, nodes: 2, gpusPerNode: 8 },
    batch: 8,
    datasetSize: 4000,
    balance: 'time',
    microBatches: 'search',
    freezing: { kind: 'alpha', alpha: 1 / 3 },
    ...changes,
  });
}

const vitRequest = (changes: Partial<ElasticRequest>): ElasticRequest =>
  requestOf({ microBatches: 'search', freezing: { kind: 'alpha', alpha: 1 / 3 }, ...changes });

describe('elastic runs whose pipelines use the other seed', () => {
  it('take less time with 1F1B, with the length that is fastest, and on a causal model with slices, which later epochs give up', () => {
    const secondsOf = (request: ElasticRequest) => planElastic(request).totalMs / 1e3;
    const fastest = { schedule: '1F1B', shrink: 'fastest' } as const;
    for (const requestWith of [vitRequest, gptRequest])
      assert.ok(secondsOf(requestWith(fastest)) < 0.8 * secondsOf(requestWith({})), requestWith.name);
    assert.ok(secondsOf(gptRequest({ tokenSlices: 'search' })) < 0.96 * secondsOf(gptRequest({})));
    const { epochs } = planElastic(gptRequest({ ...fastest, tokenSlices: 'search' }));
    assert.ok(secondsOf(gptRequest({ ...fastest, tokenSlices: 'search' })) < 0.96 * secondsOf(gptRequest(fastest)));
    assert.ok((epochs[0]?.slices.length ?? 0) > 1);
    assert.equal(epochs.at(-1)?.slices.length, 1);
    assert.ok(epochs.every(({ slices, fits }) => fits && slices.reduce((sum, tokens) => sum + tokens, 0) === 8192));
  });

  it('hold fewer samples at a time with 1F1B than with GPipe: no more than there are stages from theirs on', () => {
    const question = { frozenLayers: 0, pipelineLength: 8, balance: 'time', batch: 32, replicas: 2, replicasPerNode: 1 } as const;
    const [gpipe, oneByOne] = (['GPipe', '1F1B'] as const).map((schedule) => {
      const context = elasticContext(gptRequest({ schedule, microBatches: 32, batch: 32 }));
      const step = modelledStep(context, question);
      return { held: step.samplesInFlight, bytes: stepStageBytes(context, question, step).map(totalBytes) };
    });
    assert.ok(gpipe !== undefined && oneByOne !== undefined);
    assert.deepEqual(
      gpipe.held,
      Array.from({ length: 8 }, () => 32),
    );
    assert.deepEqual(oneByOne.held, [8, 7, 6, 5, 4, 3, 2, 1]);
    assert.ok((oneByOne.bytes[0] ?? NaN) < (gpipe.bytes[0] ?? NaN));
  });

  it('let frozen layers that are computed pass through the stages, forward only, where that is faster, and draw it', () => {
    const { cache } = vitRequest({});
    const plan = planElastic(vitRequest({ schedule: '1F1B', cache: { ...cache, enabled: false } }));
    const inside = plan.epochs.filter(({ isFrozenInside }) => isFrozenInside);
    assert.ok(inside.length > 3);
    for (const { epoch, frozenLayers, stageFrozenUnits, stageUnits, stepMs, pipelineMs, frozenMs, stageBytes } of inside) {
      const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
      assert.deepEqual([sum(stageFrozenUnits), sum(stageUnits)], [1 + 2 * frozenLayers, 27 - 1 - 2 * frozenLayers]);
      assert.equal(frozenMs, 0);
      assert.ok(stageBytes.every((bytes, stage) => bytes.frozen > 0 === (stageFrozenUnits[stage] ?? 0) > 0));
      const drawn = elasticTimeline(plan, epoch);
      assert.ok(Math.abs(drawn.timeline.makespanMs - pipelineMs) < 1e-9 * pipelineMs && stepMs >= pipelineMs);
    }
    const apart = planElastic(vitRequest({ cache: { ...cache, enabled: false } }));
    assert.ok(apart.epochs.every(({ isFrozenInside }) => !isFrozenInside));
    assert.ok(plan.totalMs < apart.totalMs);
  });
});

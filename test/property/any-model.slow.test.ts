import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gpuPresetNames } from '../../src/core/cluster/presets';
import { ExpectedError } from '../../src/core/errors';
import { narrowFormats } from '../../src/core/domain/number-formats';
import { optimizers } from '../../src/core/domain/optimizer';
import { recomputeModules } from '../../src/core/domain/recompute';
import { runtimes } from '../../src/core/domain/runtime';
import type { ModelSpec } from '../../src/core/domain/model';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { predict } from '../../src/core/planner/predict/predict';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import { partsByStage } from '../../src/core/planner/explain/step-parts';
import { namedSchedules } from '../../src/core/domain/schedule-names';
import { llama3, request } from '../golden/requests';
import { scheduleKind } from '../../src/core/schedules/registry';
import { cases } from './cases';

const seed = 20261123;

const power = (most: number) => fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);

/**
 * Decoders of any depth and width: no vocabulary or a large one, one expert or many, windows of one token, latent attention, further
 * tokens.
 */
const anyModel: fc.Arbitrary<ModelSpec> = fc
  .record({
    layers: fc.integer({ min: 1, max: 20 }),
    heads: power(4).map((times) => 8 * times),
    headDim: fc.constantFrom(16, 64, 128),
    kvHeads: power(3),
    widening: fc.constantFrom(1, 2.75, 8),
    gatedMlp: fc.boolean(),
    vocab: fc.constantFrom(0, 1, 1000, 128256),
    tiedEmbeddings: fc.boolean(),
    experts: fc.constantFrom(null, { count: 8, active: 2 }, { count: 1, active: 1 }, { count: 64, active: 8, sharedFfn: 1024 }),
    window: fc.constantFrom(null, 1, 128, 100_000),
    latent: fc.constantFrom(null, { qRank: 256, kvRank: 128, nopeHeadDim: 64, ropeHeadDim: 32, vHeadDim: 64 }),
    mtpLayers: fc.constantFrom(0, 0, 1, 3),
    dense: fc.integer({ min: 0, max: 5 }),
  })
  .map(({ layers, heads, widening, window, latent, mtpLayers, dense, experts, ...sizes }) => {
    const hidden = 64 * heads;
    const kinds = Array.from({ length: layers }, (_, layer) => ({
      feedForward: experts === null || layer < dense ? ('dense' as const) : ('experts' as const),
      window: layer % 3 === 0 ? window : null,
    }));
    return {
      ...llama3('70b', layers),
      ...sizes,
      heads,
      hidden,
      experts,
      ffn: widening * hidden,
      kvHeads: Math.min(heads, sizes.kvHeads),
      ...(latent === null ? {} : { latent }),
      ...(mtpLayers > 0 ? { mtpLayers } : {}),
      ...(window !== null || dense > 0 ? { layerKinds: kinds, denseFfn: 4 * hidden } : {}),
    };
  });

const anyTraining: fc.Arbitrary<Partial<TrainingSpec> & Pick<TrainingSpec, 'sequenceLength' | 'microBatch'>> = fc.record(
  {
    sequenceLength: fc.constantFrom(1, 8, 100, 4096),
    microBatch: fc.integer({ min: 1, max: 3 }),
    precision: fc.constantFrom('fp16', 'bf16', 'fp32'),
    gemmPrecision: fc.constantFrom(...narrowFormats),
    optimizer: fc.constantFrom(...optimizers),
    zeroStage: fc.constantFrom(0, 1, 2, 3),
    runtime: fc.constantFrom(...runtimes),
    recompute: fc.constantFrom('none', 'selective', 'full'),
    recomputeLayers: fc.integer({ min: 0, max: 6 }),
    recomputeGroup: fc.integer({ min: 1, max: 5 }),
    recomputeModules: fc.subarray([...recomputeModules], { minLength: 1 }),
    activationOffloadLayers: fc.constantFrom(0, 1, 40),
    offloadOptimizer: fc.boolean(),
    contextParallelComm: fc.constantFrom('all-to-all', 'ring'),
    overlapGradReduce: fc.boolean(),
    overlapParamGather: fc.boolean(),
    attention: fc.constantFrom('flash', 'unfused'),
    sequenceParallel: fc.boolean(),
    fusedCrossEntropy: fc.boolean(),
    dropout: fc.boolean(),
    gradAccumulationFp32: fc.boolean(),
  },
  { requiredKeys: ['sequenceLength', 'microBatch'] },
);

interface Case {
  readonly wanted: PlanRequest;
  readonly schedule: (typeof namedSchedules)[number];
  readonly microBatches: number;
}

const anything: fc.Arbitrary<Case> = fc
  .record({
    model: anyModel,
    gpu: fc.constantFrom(...gpuPresetNames),
    training: anyTraining,
    schedule: fc.constantFrom(...namedSchedules),
    layout: fc.record({ tensor: power(3), pipeline: fc.integer({ min: 1, max: 6 }), data: power(5), context: power(2), expert: power(3) }),
    virtualStages: fc.constantFrom(1, 1, 2, 3),
    expertTensor: fc.constantFrom(1, null),
    microBatches: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ model, gpu, training, layout, virtualStages, expertTensor, schedule, microBatches }) => {
    const expert = model.experts === null ? 1 : Math.min(layout.expert, model.experts.count);
    const globalBatch = layout.data * training.microBatch * microBatches;
    const sizes = { ...layout, expert, virtualStages, ...(expertTensor === null ? {} : { expertTensor }) };
    return { wanted: request(gpu, model, { training: { ...training, globalBatch }, layout: sizes }), schedule, microBatches };
  });

/** Every number below a value, with the way to it. */
function numbersOf(value: unknown, path = ''): (readonly [path: string, value: number])[] {
  if (typeof value === 'number') return [[path, value]];
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array).map((each) => [path, each]);
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, inner]) => numbersOf(inner, `${path}.${key}`));
}

const all = (value: object, except: string) => Object.fromEntries(Object.entries(value).filter(([key]) => key !== except));

describe('any model under any schedule', () => {
  it('is refused in words, or predicted in numbers none of which is negative', () => {
    let predicted = 0;
    let tried = 0;
    fc.assert(
      fc.property(anything, ({ wanted, schedule, microBatches }) => {
        tried++;
        const { microBatch, sequenceLength } = wanted.training;
        const isSliced = scheduleKind(schedule).sliced && sequenceLength > 8;
        const tokens = isSliced ? [sequenceLength - 5, 5] : [sequenceLength];
        const scheme = Array.from({ length: microBatches }, () => ({ batch: microBatch, tokens }));
        try {
          const pipeline = buildPipeline(wanted);
          const candidate = predict(pipeline, { id: 'given', name: 'any', kind: pipeline.schedules[schedule], scheme, certificate: null });
          const { memory, idle, ...others } = candidate;
          const rest = all(others, 'timeline');
          const stages = memory.stages.map((stage) => all(stage, 'peakRow'));
          const slack = 1e-9 * candidate.iterationMs;
          for (const [path, value] of numbersOf({ ...rest, idle, stages }))
            assert.ok(Number.isFinite(value) && value >= (path.startsWith('.stages') ? 0 : -slack), `${path} ${value}`);
          for (const stage of partsByStage(pipeline, candidate)) {
            const parts = Object.values(stage);
            assert.ok(Math.abs(parts.reduce((sum, ms) => sum + ms, 0) / candidate.iterationMs - 1) < 1e-6);
            for (const [part, ms] of Object.entries(stage)) assert.ok(ms >= -slack, `${part} ${ms}`);
          }
          predicted++;
        } catch (error) {
          if (!(error instanceof ExpectedError)) throw error;
        }
      }),
      { seed, numRuns: cases(150, 5000) },
    );
    assert.ok(predicted > tried / 2, `${predicted} of ${tried}`);
  });
});

import fc from 'fast-check';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { evenStageContents } from '../../../../../src/core/partition/stages';

/** A small Llama on one node, with what is given instead. */
export function planWith(changes: Partial<LaunchSettings> & { readonly layers?: number } = {}): LaunchSettings {
  const { layers = 24, ...given } = changes;
  const { pipeline = 1, virtualStages = 1 } = given;
  const plan: LaunchSettings = {
    title: 'orchard',
    model: {
      modelType: 'llama',
      layers,
      hidden: 2048,
      heads: 16,
      kvHeads: 8,
      headDim: 128,
      ffn: 5632,
      gatedMlp: true,
      vocab: 32000,
      tiedEmbeddings: false,
      maxPositions: 4096,
      positions: 'rotary',
      norm: 'rmsnorm',
      rotary: { base: 500_000 },
      normEpsilon: 1e-5,
      details: { activation: 'silu', initStd: 0.02 },
      qkvBias: false,
      attentionOutputBias: false,
      mlpBias: false,
      qkNorm: false,
      experts: null,
    },
    gpu: 'H100-80GB',
    computeCapability: '9.0',
    nodes: 1,
    gpusPerNode: 8,
    tensor: 1,
    pipeline,
    data: 8,
    context: 1,
    expert: 1,
    expertTensor: null,
    virtualStages,
    stageLayers: evenStageContents(layers, pipeline * virtualStages).map((stage) => stage.layers),
    sequenceLength: 4096,
    microBatch: 1,
    globalBatch: 64,
    precision: 'bf16',
    zeroStage: 1,
    sequenceParallel: false,
    recompute: { granularity: 'none' },
    dropout: false,
    fusedCrossEntropy: true,
    gradAccumulationFp32: true,
    attention: 'flash',
    attentionBackend: 'fused',
    schedule: '1F1B',
    slices: 1,
    predicted: '1.2 s a step',
  };
  const merged = { ...plan, ...given };
  const gpus = merged.tensor * merged.pipeline * merged.data * merged.context;
  const gpusPerNode = Math.min(8, gpus);
  return { ...merged, nodes: gpus / gpusPerNode, gpusPerNode };
}

const power = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);

/** Any layout that a planner could choose for a Llama of some depth; uneven stages too. */
export const anyPlan: fc.Arbitrary<LaunchSettings> = fc
  .record({
    tensor: power(3),
    pipeline: fc.constantFrom(1, 2, 3, 4, 8),
    data: power(4),
    context: power(1),
    expert: power(2),
    virtualStages: fc.integer({ min: 1, max: 4 }),
    each: fc.integer({ min: 2, max: 6 }),
    uneven: fc.constantFrom('even', 'ends', 'light', 'any'),
    less: fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 1 })),
    microBatch: power(2),
    microBatches: fc.integer({ min: 1, max: 12 }),
    sequenceLength: power(4).map((size) => 1024 * size),
    precision: fc.constantFrom('bf16', 'fp16', 'fp32'),
    overlaps: fc.boolean(),
    zeroStage: fc.constantFrom(0, 1, 2, 3),
    sequenceParallel: fc.boolean(),
    granularity: fc.constantFrom('none', 'selective', 'full'),
    group: fc.constantFrom(1, 2, 3),
    away: fc.constantFrom(0, 0, 1, 2),
    schedule: fc.constantFrom('1F1B', 'GPipe', 'TeraPipe'),
  })
  .map(({ each, uneven, less, microBatches, granularity, group, away, overlaps, schedule, ...sizes }) => {
    const { tensor, data, context } = sizes;
    const pipeline = (tensor * sizes.pipeline * data * context) % 8 === 0 ? sizes.pipeline : 8;
    const virtualStages = pipeline === 1 ? 1 : sizes.virtualStages;
    const stages = pipeline * virtualStages;
    const stageLayers = Array.from({ length: stages }, (_, stage) => {
      if (uneven === 'even' || stages === 1) return each;
      if (uneven === 'any') return each + ((stage * 7 + less[0]) % 3) - 1;
      const reach = uneven === 'ends' ? 2 : 1;
      return each - (stage === 0 ? reach * less[0] - (reach - 1) : 0) - (stage === stages - 1 ? less[1] : 0);
    });
    return planWith({
      ...sizes,
      pipeline,
      virtualStages,
      stageLayers,
      layers: stageLayers.reduce((total, count) => total + count, 0),
      globalBatch: sizes.microBatch * microBatches * data,
      recompute: { granularity, ...(granularity === 'full' && group > 1 ? { group } : {}) },
      ...(overlaps ? { overlapGradReduce: true, overlapParamGather: true } : {}),
      ...(granularity === 'none' && pipeline === 1 && away > 0 ? { activationOffloadLayers: away } : {}),
      schedule: virtualStages > 1 ? 'Interleaved1F1B' : schedule,
      slices: schedule === 'TeraPipe' && virtualStages === 1 ? 8 : 1,
    });
  });

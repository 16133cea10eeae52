import fc from 'fast-check';
import type { GpuPresetName } from '../../src/core/cluster/presets';
import type { ModelSpec } from '../../src/core/domain/model';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import type { ScheduleName } from '../../src/core/domain/schedule-names';
import { hybrid } from '../golden/hybrids';
import { deepseek, gpt, llama3, mixtral, request } from '../golden/requests';

/** Models to draw from, by how their layers differ: what is simplest comes first, so that cases shrink to it. */
const architectures = ['gpt', 'llama', 'windowed', 'experts', 'latent', 'hybrid'] as const;
type Architecture = (typeof architectures)[number];

/** One random run as plain choices, the simplest value of each first. */
export interface Drawn {
  readonly architecture: Architecture;
  /** Layers are this many times the stages, and some. */
  readonly layersPerStage: number;
  readonly moreLayers: number;
  readonly width: number;
  readonly vocab: number;
  readonly gpu: GpuPresetName;
  readonly gpusPerNode: number;
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
  readonly context: number;
  readonly virtualStages: number;
  readonly microBatch: number;
  readonly microBatches: number;
  readonly sequenceLength: number;
  /** Units that a sequence is cut into. */
  readonly units: number;
  readonly schedule: ScheduleName | null;
  readonly training: Partial<TrainingSpec>;
}

const training: fc.Arbitrary<Partial<TrainingSpec>> = fc.record({
  precision: fc.constantFrom('bf16' as const, 'fp16' as const, 'fp32' as const),
  attention: fc.constantFrom('flash' as const, 'flash' as const, 'unfused' as const),
  recompute: fc.constantFrom('none' as const, 'selective' as const, 'full' as const),
  optimizer: fc.constantFrom('adam' as const, 'adam' as const, 'none' as const),
  zeroStage: fc.constantFrom(0 as const, 1 as const, 1 as const, 2 as const, 3 as const),
  sequenceParallel: fc.boolean(),
  fusedCrossEntropy: fc.boolean(),
  dropout: fc.boolean(),
  gradAccumulationFp32: fc.boolean(),
  overlapGradReduce: fc.boolean(),
  overlapParamGather: fc.boolean(),
  contextParallelComm: fc.constantFrom('all-to-all' as const, 'ring' as const),
  offloadOptimizer: fc.constantFrom(false, false, false, true),
  activationOffloadLayers: fc.constantFrom(0, 0, 0, 1),
  runtime: fc.constantFrom('megatron' as const, 'megatron' as const, 'torchtitan' as const, 'deepspeed' as const),
});

/** Random runs of every kind that a plan takes: architectures, GPUs, layouts, training settings and schedules. */
export const drawnRuns: fc.Arbitrary<Drawn> = fc.record({
  architecture: fc.constantFrom(...architectures),
  layersPerStage: fc.integer({ min: 1, max: 4 }),
  moreLayers: fc.constantFrom(0, 0, 1, 2),
  width: fc.constantFrom(512, 1024, 2048, 4096),
  vocab: fc.constantFrom(0, 32000, 50257, 128256),
  gpu: fc.constantFrom<GpuPresetName>('A100-80GB', 'V100-16GB', 'H100-80GB', 'A100-40GB', 'B200', 'RTX4090', 'MI300X'),
  gpusPerNode: fc.constantFrom(8, 8, 4, 2),
  tensor: fc.constantFrom(1, 2, 4, 8),
  pipeline: fc.integer({ min: 1, max: 6 }),
  data: fc.constantFrom(1, 1, 2, 4),
  context: fc.constantFrom(1, 1, 1, 2),
  virtualStages: fc.constantFrom(1, 1, 1, 2),
  microBatch: fc.constantFrom(1, 1, 2, 4),
  microBatches: fc.integer({ min: 1, max: 8 }),
  sequenceLength: fc.constantFrom(512, 1024, 2048, 8192),
  units: fc.constantFrom(8, 16, 32),
  schedule: fc.constantFrom<ScheduleName | null>(null, null, null, '1F1B', 'GPipe', 'TeraPipe', 'Seq1F1B', 'ZB-H1', 'ZBVZeroBubble', 'LoopedBFS'), // prettier-ignore
  training,
});

/** The request of a drawn run; what does not go together (an expert size that divides nothing) is left at its usual value. */
export function requestOfDrawn(drawn: Drawn): PlanRequest {
  const { tensor, pipeline, data, context, virtualStages, microBatch, microBatches, sequenceLength, units } = drawn;
  const layers = pipeline * virtualStages * drawn.layersPerStage + drawn.moreLayers;
  const model = modelOf(drawn, layers);
  const expert = model.experts === null ? 1 : data * context > 1 ? 2 : 1;
  const base = request(drawn.gpu, model, {
    training: { ...drawn.training, sequenceLength, microBatch, globalBatch: microBatch * microBatches * data },
    layout: { tensor, pipeline, data, context, expert, virtualStages },
  });
  const gpus = tensor * pipeline * data * context;
  const cluster = { ...base.cluster, gpusPerNode: drawn.gpusPerNode, nodes: Math.ceil(gpus / drawn.gpusPerNode) };
  return {
    ...base,
    cluster,
    training: { ...base.training, sequenceParallel: base.training.sequenceParallel && tensor > 1 },
    schedule: drawn.schedule,
    slicing: { unit: sequenceLength / units, scheme: null },
  };
}

function modelOf({ architecture, width, vocab }: Drawn, layers: number): ModelSpec {
  const heads = width / 64;
  switch (architecture) {
    case 'gpt':
      return gpt(layers, width, heads, vocab, 131072);
    case 'llama':
      return { ...llama3('70b', layers), hidden: width, heads, kvHeads: 8, headDim: 64, ffn: 3.5 * width, vocab };
    case 'windowed':
      return {
        ...llama3('70b', layers),
        hidden: width,
        heads,
        headDim: 64,
        ffn: 4 * width,
        vocab,
        layerKinds: Array.from({ length: layers }, (_, layer) => ({ feedForward: 'dense', window: layer % 2 === 0 ? 256 : null })),
      };
    case 'experts':
      return { ...mixtral(layers), hidden: width, heads, headDim: 64, ffn: 2 * width, vocab };
    case 'latent':
      return {
        ...deepseek(2, layers),
        hidden: width,
        heads,
        kvHeads: heads,
        ffn: width / 2,
        denseFfn: 4 * width,
        vocab,
        experts: { count: 16, active: 4, sharedFfn: width },
      };
    case 'hybrid': {
      const letters = Array.from({ length: layers }, (_, layer) => 'M*-'[layer % 3]).join('');
      return { ...hybrid(letters.length === 1 ? 'M' : letters, 'mamba2'), vocab };
    }
  }
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gpuPresetNames } from '../../src/core/cluster/presets';
import { narrowFormats } from '../../src/core/domain/number-formats';
import { optimizers } from '../../src/core/domain/optimizer';
import { recomputeModules } from '../../src/core/domain/recompute';
import { runtimes } from '../../src/core/domain/runtime';
import type { ModelSpec } from '../../src/core/domain/model';
import type { Candidate } from '../../src/core/planner/plan';
import { stackCut } from '../../src/core/partition/stack-cut';
import type { Layout, PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import { deepseek, gpt, llama3, mixtral, request } from '../golden/requests';
import { bart, t5, whisper } from '../unit/core/planner/stacks';
import { predictOneF1B } from '../golden/rows';
import { cases } from './cases';

const seed = 20261121;
const layers = 16;

const models: readonly ModelSpec[] = [
  gpt(layers, 2048, 16, 50304),
  { ...llama3('70b', layers), hidden: 4096, heads: 32, ffn: 14336 },
  mixtral(layers),
  deepseek(2, layers),
  { ...deepseek(3, layers), mtpLayers: 1 },
  { ...gpt(layers, 1024, 16, 50304), mtpLayers: 2 },
  {
    ...llama3('70b', layers),
    layerKinds: Array.from({ length: layers }, (_, layer) => ({ feedForward: 'dense', window: layer % 2 === 0 ? 512 : null })),
  },
  t5(10, layers - 10),
  bart(6, layers - 6),
  whisper(8, layers - 8),
];

const power = (most: number) => fc.integer({ min: 0, max: most }).map((exponent) => 2 ** exponent);

const training: fc.Arbitrary<Partial<TrainingSpec>> = fc.record(
  {
    sequenceLength: fc.constantFrom(512, 4096, 32768),
    microBatch: fc.constantFrom(1, 2),
    precision: fc.constantFrom('fp16', 'bf16', 'fp32'),
    gemmPrecision: fc.constantFrom(...narrowFormats),
    optimizer: fc.constantFrom(...optimizers),
    zeroStage: fc.constantFrom(0, 1, 2, 3),
    recompute: fc.constantFrom('none', 'selective', 'full'),
    recomputeLayers: fc.integer({ min: 1, max: 6 }),
    recomputeGroup: fc.integer({ min: 1, max: 5 }),
    activationOffloadLayers: fc.constantFrom(0, 1, 5, 40),
    overlapGradReduce: fc.boolean(),
    overlapParamGather: fc.boolean(),
    recomputeModules: fc.subarray([...recomputeModules], { minLength: 1 }),
    runtime: fc.constantFrom(...runtimes),
    contextParallelComm: fc.constantFrom('all-to-all', 'ring'),
    offloadOptimizer: fc.boolean(),
    attention: fc.constantFrom('flash', 'unfused'),
    sequenceParallel: fc.boolean(),
    fusedCrossEntropy: fc.boolean(),
    dropout: fc.boolean(),
    gradAccumulationFp32: fc.boolean(),
  },
  { requiredKeys: ['sequenceLength', 'microBatch'] },
);

const anyRequest: fc.Arbitrary<PlanRequest> = fc
  .record({
    model: fc.constantFrom(...models),
    gpu: fc.constantFrom(...gpuPresetNames),
    training,
    layout: fc.record({ tensor: power(3), pipeline: power(2), data: power(3), context: power(2), virtualStages: power(1) }),
    expert: power(3),
    expertTensor: fc.constantFrom(1, null),
    microBatches: fc.constantFrom(4, 8),
    decoderSequenceLength: fc.constantFrom(128, 512, 4096),
  })
  .map(({ model, gpu, training: given, layout, expert, expertTensor, microBatches, decoderSequenceLength }) => {
    const replicas = layout.data * layout.context * (expertTensor === 1 ? layout.tensor : 1);
    const hasStacks = model.stacks !== undefined;
    const sizes: Partial<Layout> = {
      ...layout,
      ...(hasStacks
        ? {
            context: 1,
            stageLayers: stackCut(model, { sequenceLength: given.sequenceLength ?? 512, decoderSequenceLength }, layout.pipeline),
          }
        : {}),
      virtualStages: layout.pipeline === 1 || hasStacks ? 1 : layout.virtualStages,
      expert: model.experts === null ? 1 : Math.min(expert, replicas),
      ...(expertTensor === 1 && model.experts !== null ? { expertTensor } : {}),
    };
    return request(gpu, model, {
      training: {
        ...given,
        ...(hasStacks ? { decoderSequenceLength } : {}),
        globalBatch: layout.data * (given.microBatch ?? 1) * microBatches,
      },
      layout: sizes,
    });
  });

function changed(wanted: PlanRequest, values: Partial<TrainingSpec>): Candidate {
  return predictOneF1B({ ...wanted, training: { ...wanted.training, ...values } });
}

const peak = ({ memory }: Candidate): number => Math.max(...memory.stages.map(({ peakBytes }) => peakBytes));
const always = ({ memory }: Candidate): number => Math.max(...memory.stages.map(({ staticBytes }) => staticBytes));

function assertNotOver(least: number, most: number, what: string): void {
  assert.ok(least <= most * (1 + 1e-9), `${what}: ${least} over ${most}`);
}

function holds(check: (wanted: PlanRequest) => void): void {
  fc.assert(fc.property(anyRequest, check), { seed, numRuns: cases(40, 600) });
}

describe('any request', () => {
  it('gives times and bytes that are numbers, none of them negative, that add up', () => {
    holds((wanted) => {
      const candidate = predictOneF1B(wanted);
      const { iterationMs, pipelineMs, gradientExchangeMs, optimizerMs, bubbleRate, mfu, memory } = candidate;
      for (const ms of [gradientExchangeMs, optimizerMs, bubbleRate]) assert.ok(Number.isFinite(ms) && ms >= 0);
      assert.ok(Number.isFinite(pipelineMs) && pipelineMs > 0 && mfu > 0 && mfu < 1);
      assert.equal(iterationMs, pipelineMs + gradientExchangeMs + optimizerMs);
      for (const { parts, peakBytes, reservedBytes, inUseBytes } of memory.stages) {
        for (const [part, bytes] of Object.entries(parts)) assert.ok(Number.isFinite(bytes) && bytes >= 0, `${part} ${bytes}`);
        assert.ok(peakBytes > 0 && peakBytes < reservedBytes && reservedBytes < inUseBytes);
      }
    });
  });

  it('keeps less, the more is recomputed, and takes longer', () => {
    holds((wanted) => {
      const [none, selective, full] = (['none', 'selective', 'full'] as const).map((recompute) =>
        // what recompute drops need not be copied to the host either
        changed(wanted, { recompute, recomputeModules: ['core_attn'], recomputeLayers: 99, activationOffloadLayers: 0 }),
      );
      const activations = ({ memory }: Candidate) => Math.max(...memory.stages.map(({ parts }) => parts.activations));
      assertNotOver(activations(selective!), activations(none!), 'selective');
      assertNotOver(activations(full!), activations(selective!), 'full');
      assertNotOver(none!.iterationMs, selective!.iterationMs, 'time of selective');
      assertNotOver(selective!.iterationMs, full!.iterationMs, 'time of full');
    });
  });

  it('has no more weights, gradients and states on a rank with a higher ZeRO stage, nor with the optimizer on the host', () => {
    holds((wanted) => {
      const held = ([0, 1, 2, 3] as const).map((zeroStage) => {
        const { memory } = changed(wanted, { zeroStage, offloadOptimizer: false });
        return Math.max(...memory.stages.map(({ parts }) => parts.weights + parts.gradients + parts.optimizer));
      });
      // DeepSpeed adds an fp32 copy of its share of the gradients from stage 1 on
      if (wanted.training.runtime !== 'deepspeed')
        held.slice(1).forEach((bytes, stage) => assertNotOver(bytes, held[stage]!, `ZeRO ${stage + 1}`));
      assertNotOver(always(changed(wanted, { offloadOptimizer: true })), always(changed(wanted, { offloadOptimizer: false })), 'offload');
    });
  });

  it('has no more weights on a rank of a larger tensor-parallel group', () => {
    holds((wanted) => {
      const weights = (tensor: number): number => {
        const { memory } = predictOneF1B({ ...wanted, layout: { ...wanted.layout, tensor, expert: 1, expertTensor: tensor } });
        return Math.max(...memory.stages.map(({ parts }) => parts.weights));
      };
      const sizes = [1, 2, 4, 8].map(weights);
      sizes.slice(1).forEach((bytes, index) => assertNotOver(bytes, sizes[index]!, `tensor ${2 ** (index + 1)}`));
    });
  });

  it('takes longer and more memory for longer sequences and larger micro-batches', () => {
    holds((wanted) => {
      const { sequenceLength, microBatch, globalBatch } = wanted.training;
      const once = predictOneF1B(wanted);
      for (const more of [{ sequenceLength: 2 * sequenceLength }, { microBatch: 2 * microBatch, globalBatch: 2 * globalBatch }]) {
        const twice = changed(wanted, more);
        assertNotOver(once.iterationMs, twice.iterationMs, 'time');
        assertNotOver(peak(once), peak(twice), 'memory');
      }
    });
  });

  it('keeps less on the GPU, the more layers are on the host, and never runs faster for it', () => {
    holds((wanted) => {
      const [none, some, more] = [0, 2, 9].map((activationOffloadLayers) => changed(wanted, { activationOffloadLayers }));
      const activations = ({ memory }: Candidate) => Math.max(...memory.stages.map(({ parts }) => parts.activations));
      assertNotOver(activations(some!), activations(none!), 'two layers');
      assertNotOver(activations(more!), activations(some!), 'nine layers');
      assertNotOver(none!.iterationMs, some!.iterationMs, 'time of two layers');
      assertNotOver(some!.iterationMs, more!.iterationMs, 'time of nine layers');
    });
  });

  it('waits less where exchanges overlap with compute, and longer where further tokens are predicted', () => {
    holds((wanted) => {
      const exchange = (overlaps: boolean) =>
        changed(wanted, { overlapGradReduce: overlaps, overlapParamGather: overlaps }).gradientExchangeMs;
      assertNotOver(exchange(true), exchange(false), 'exchange');
      if (wanted.model.stacks !== undefined) return;
      const model = { ...wanted.model };
      delete (model as { mtpLayers?: number }).mtpLayers;
      const [plain, further] = [model, { ...model, mtpLayers: 1 }].map((of) => predictOneF1B({ ...wanted, model: of }));
      assertNotOver(plain!.iterationMs, further!.iterationMs, 'time');
      assertNotOver(peak(plain!), peak(further!), 'peak');
    });
  });
});

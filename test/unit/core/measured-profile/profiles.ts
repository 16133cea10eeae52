import { fitErrors, fitPart } from '../../../../src/core/measured-profile/fit';
import type { Profile, Sample } from '../../../../src/core/domain/profile';
import { rankLayerShape } from '../../../../src/core/measured-profile/shape';
import type { ModelSpec } from '../../../../src/core/domain/model';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { defaultConstants } from '../../../../src/core/domain/slice-cost';
import { experiment, cpu } from './devices';

export const model: ModelSpec = {
  modelType: 'gpt2',
  layers: 12,
  hidden: 768,
  heads: 12,
  kvHeads: 12,
  headDim: 64,
  ffn: 3072,
  gatedMlp: false,
  vocab: 50257,
  tiedEmbeddings: true,
  maxPositions: 1024,
  positions: 'learned',
  norm: 'layernorm',
  qkvBias: true,
  attentionOutputBias: true,
  mlpBias: true,
  qkNorm: false,
  experts: null,
};

export const layerSamples = experiment(cpu, { tokens: 1024, sequence: 1024, unit: 64, batches: [1, 2] }, 7, 24);
const endSamples: Sample[] = [64, 256, 1024].map((tokens) => ({
  batch: 1,
  tokens,
  context: 0,
  forwardMs: 0.01 * tokens,
  backwardMs: 0.02 * tokens,
  rounds: 4,
  holdOut: false,
}));

/** A profile of one GPT-2 layer on an A100, complete in every field. */
export function profileWith(changes: Partial<Profile> = {}): Profile {
  const layer = fitPart(layerSamples)!;
  const end = fitPart(endSamples);
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    measuredAt: '2026-11-21T07:00:00.000Z',
    source: 'onnxruntime',
    device: { kind: 'gpu', name: 'NVIDIA A100-SXM4-80GB', memoryBytes: 85_899_345_920, driver: '550.54' },
    provider: 'cuda',
    versions: { onnxruntime: '1.30.0', cuda: '12.4' },
    title: 'GPT-2 small',
    tensor: 1,
    shape: rankLayerShape(model, 1),
    precision: 'fp16',
    tf32: null,
    launches: { perNodeUs: 4.3, perProductUs: 17, forwardMs: 0.137, backwardMs: 0.6 },
    sequenceLength: 1024,
    largestBatch: 2,
    attention: { forward: 'MultiHeadAttention', backward: 'recompute' },
    threads: null,
    samples: { layer: layerSamples, embedding: endSamples, head: endSamples },
    skipped: [{ part: 'layer', batch: 2, tokens: 1024, context: 1024, reason: 'out-of-memory', detail: 'Failed to allocate 8 GB' }],
    twoLayerRatio: 1.98,
    fit: { layer, embedding: end, head: end },
    errors: fitErrors(layer, layerSamples),
    seconds: 42.5,
    warnings: ['The same slice usually took 12 % longer than at best'],
    ...changes,
  };
}

/** What that profile serves: GPT-2 small on A100-80GB, one sequence of 1,024 tokens, no tensor parallelism. */
export function requestWith(changes: {
  readonly model?: Partial<ModelSpec>;
  readonly layout?: Partial<PlanRequest['layout']>;
  readonly training?: Partial<PlanRequest['training']>;
  readonly gpu?: string;
}): PlanRequest {
  const { gpu, links, gpusPerNode } = gpuPresets['A100-80GB'];
  return {
    title: 'GPT-2 small',
    model: { ...model, ...changes.model },
    cluster: { gpu: { ...gpu, name: changes.gpu ?? gpu.name }, links, nodes: 1, gpusPerNode },
    training: {
      sequenceLength: 1024,
      microBatch: 1,
      globalBatch: 8,
      precision: 'fp16',
      optimizer: 'adam',
      zeroStage: 0,
      recompute: 'none',
      attention: 'flash',
      sequenceParallel: false,
      fusedCrossEntropy: false,
      dropout: false,
      gradAccumulationFp32: true,
      ...changes.training,
    },
    layout: { tensor: 1, pipeline: 4, data: 2, context: 1, expert: 1, virtualStages: 1, ...changes.layout },
    schedule: null,
    slicing: { unit: null, scheme: null },
    constants: defaultConstants,
    costTable: null,
    profile: null,
    assumptions: [],
  };
}

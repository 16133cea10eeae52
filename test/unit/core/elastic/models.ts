import type { ElasticModel } from '../../../../src/core/elastic/units';
import { encoderEnds } from '../../../../src/core/model/ends';
import type { ModelSpec } from '../../../../src/core/model/spec';
import type { Layout, TrainingSpec } from '../../../../src/core/planner/request';

export const gptSmall: ModelSpec = {
  ...{ modelType: 'gpt2', layers: 12, hidden: 768, heads: 12, kvHeads: 12, headDim: 64, ffn: 3072, gatedMlp: false, vocab: 50257 },
  ...{ tiedEmbeddings: true, maxPositions: 1024, positions: 'learned', norm: 'layernorm', qkNorm: false, experts: null },
  ...{ qkvBias: true, attentionOutputBias: true, mlpBias: true },
};

const vitSpec: ModelSpec = { ...gptSmall, modelType: 'vit', vocab: 0, tiedEmbeddings: false, maxPositions: null };

/** ViT-B/16 for 224 x 224 images and ten classes. */
export const vitBase: ElasticModel = {
  spec: vitSpec,
  ends: encoderEnds(vitSpec, {
    image: { size: 224, patch: 16, channels: 3 },
    tokenTypes: 0,
    pooler: true,
    classes: 10,
    architecture: 'ViTForImageClassification',
  }),
};

const bertSpec: ModelSpec = {
  ...gptSmall,
  ...{ modelType: 'bert', layers: 24, hidden: 1024, heads: 16, kvHeads: 16, headDim: 64, ffn: 4096, vocab: 30522, maxPositions: 512 },
};

export const bertLarge: ElasticModel = {
  spec: bertSpec,
  ends: encoderEnds(bertSpec, { image: null, tokenTypes: 2, pooler: true, classes: 2, architecture: null }),
};

export const layoutOfOne: Layout = { tensor: 1, pipeline: 1, data: 1, context: 1, expert: 1, virtualStages: 1 };

export function trainingOf(sequenceLength: number): TrainingSpec {
  return {
    ...{ sequenceLength, microBatch: 1, globalBatch: 1, precision: 'fp32', optimizer: 'sgd', zeroStage: 0, recompute: 'none' },
    ...{ attention: 'unfused', sequenceParallel: false, fusedCrossEntropy: false, dropout: false, fp32Gradients: true },
  };
}

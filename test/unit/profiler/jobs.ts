import type { LayerShape } from '../../../src/core/domain/profile';
import type { ProfilerJob } from '../../../src/protocol/profiler';

/** A GPT layer, small enough to run in a millisecond. */
export const smallShape: LayerShape = {
  hidden: 64,
  heads: 2,
  kvHeads: 2,
  headDim: 32,
  ffn: 256,
  gatedMlp: false,
  norm: 'layernorm',
  rotary: false,
  qkvBias: true,
  attentionOutputBias: true,
  mlpBias: true,
  qkNorm: false,
  experts: null,
  vocab: 100,
  learnedPositions: true,
};

export const smallJob: ProfilerJob = {
  shape: smallShape,
  precision: 'fp32',
  gradAccumulationFp32: true,
  attention: 'fused',
  threads: 1,
  limits: { batch: 2, tokens: 64, sequence: 128 },
};

export const smallCell = { batch: 1, tokens: 32, context: 32 };

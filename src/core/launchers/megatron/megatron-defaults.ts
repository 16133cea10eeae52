import type { RopeScaling } from '../../domain/model';
import { byDefault } from '../../domain/located';
import type { FactName, Facts, FactValues } from '../../run/facts';
import { isHybrid, stateDefaults } from './hybrid';
import { sentence } from '../../sentence';

type Values = { readonly [K in FactName]?: FactValues[K] };

/**
 * What Megatron-LM takes where a flag is missing (`megatron/training/arguments.py`, the defaults of argparse), apart from those that follow
 * from other flags.
 */
export const megatronDefaultValues = {
  positions: 'learned',
  norm: 'layernorm',
  normEpsilon: 1e-5,
  bias: true,
  qkvBias: false,
  qkNorm: false,
  gatedMlp: false,
  tiedEmbeddings: true,
  vocabDivisor: 128,
  latentAttention: false,
  tensor: 1,
  pipeline: 1,
  context: 1,
  expert: 1,
  precision: 'fp32',
  optimizer: 'adam',
  distributedOptimizer: false,
  sequenceParallel: false,
  cpuOffloading: false,
  fusedCrossEntropy: false,
  hiddenDropout: 0.1,
  attentionDropout: 0.1,
  variableSequenceLengths: false,
  overlapP2p: true,
} as const satisfies Values;

/** Without `--recompute-granularity` (megatron/core/transformer/transformer_config.py 532). */
const nothingRecomputed = { recomputeGranularity: 'none' } as const satisfies Values;

/** With `--position-embedding-type rope`. */
export const rotaryDefaults = { rotaryBase: 10_000 } as const satisfies Values;

/**
 * `--use-rope-scaling` with `--rope-scaling-factor` left out; all but the factor is fixed
 * (`megatron/core/models/common/embeddings/rotary_pos_embedding.py`).
 */
export const llama3Scaling: RopeScaling = {
  kind: 'llama3',
  factor: 8,
  lowFrequencyFactor: 1,
  highFrequencyFactor: 4,
  originalPositions: 8192,
};

/** Sizes of yarn in latent attention that no flag sets (`MLATransformerConfig`). */
export const latentYarn = { originalPositions: 4096, betaFast: 32, betaSlow: 1 } as const satisfies Partial<RopeScaling>;

/** Without `--init-method-std`: the standard deviation of the weights before training. */
export const defaultInitStd = 0.02;

/** With `--multi-latent-attention`. */
const latentDefaults = { kvLoraRank: 32, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 } as const satisfies Values;

/** With `--fp16`; only with `--bf16` are main gradients always in fp32. */
const halfDefaults = { gradAccumulationFp32: false } as const satisfies Values;

/** With `--context-parallel-size` above 1. */
const contextDefaults = { contextCommunication: 'p2p' } as const satisfies Values;

/** With `--num-experts`. */
export const expertDefaults = { activeExperts: 2, moeLayerFrequency: '1' } as const satisfies Values;
export const routerDefaults = { routerScore: 'softmax', routerNormalised: true, routerAuxLoss: 0 } as const satisfies Values;

/** The facts that the flags leave to Megatron-LM, each marked as its default. Facts of `facts` itself are not repeated. */
export function megatronDefaults(facts: Facts): Facts {
  const values: Values = {
    ...megatronDefaultValues,
    ...nothingRecomputed,
    ...(facts.positions?.value === 'rotary' && rotaryDefaults),
    ...(facts.latentAttention?.value === true && latentDefaults),
    ...(facts.precision?.value === 'fp16' && halfDefaults),
    ...((facts.context?.value ?? 1) > 1 && contextDefaults),
    ...(facts.experts !== undefined && { ...expertDefaults, ...expertWidth(facts) }),
    ...(isHybrid(facts) && stateDefaults(facts)),
    ...widths(facts),
    ...detailDefaults(facts),
  };
  const missing = Object.entries(values).filter(([name]) => !Object.hasOwn(facts, name));
  return Object.fromEntries(
    missing.map(([name, value]) => [name, byDefault(value, sentence`Megatron-LM takes it when the flag is not given`)]),
  );
}

/** Those that do not describe the model, and hold with a model config too. */
export function megatronTrainingDefaults(facts: Facts): Facts {
  const { fusedCrossEntropy, hiddenDropout, attentionDropout, gradAccumulationFp32, recomputeGranularity } = megatronDefaults(facts);
  return {
    ...(recomputeGranularity && { recomputeGranularity }),
    ...(gradAccumulationFp32 && { gradAccumulationFp32 }),
    ...(fusedCrossEntropy && { fusedCrossEntropy }),
    ...(hiddenDropout && { hiddenDropout }),
    ...(attentionDropout && { attentionDropout }),
  };
}

function widths({ hidden, heads, gatedMlp, tensor }: Facts): Values {
  return {
    ...(heads && { kvHeads: heads.value }),
    ...(hidden && heads && { headDim: Math.floor(hidden.value / heads.value) }),
    ...(hidden && { ffn: gatedMlp?.value === true ? Math.floor((4 * hidden.value * 2) / 3 / 64) * 64 : 4 * hidden.value }),
    ...(tensor && { expertTensor: tensor.value }),
  };
}

/** Details of the model that follow from other flags. */
function detailDefaults(facts: Facts): Values {
  const { bias, gatedMlp, experts, activeExperts, routerGroupTopk, latentAttention, hiddenDropout, attentionDropout } = facts;
  const active = activeExperts?.value ?? expertDefaults.activeExperts;
  return {
    // a flag of 0 has no share
    ...(hiddenDropout === undefined && { hiddenDropoutShare: megatronDefaultValues.hiddenDropout }),
    ...(attentionDropout === undefined && { attentionDropoutShare: megatronDefaultValues.attentionDropout }),
    // fused with the bias it is the tanh form
    ...(gatedMlp?.value !== true && { activation: bias?.value === false ? 'gelu' : 'gelu_pytorch_tanh' }),
    initStd: defaultInitStd,
    ...(latentAttention?.value === true && { rotaryInterleaved: true }),
    ...(experts && bias?.value !== false && { routerBias: true }),
    ...(experts && routerDefaults),
    ...(experts && routerGroupTopk && { routerGroupBest: Math.floor(active / routerGroupTopk.value) }),
  };
}

function expertWidth(facts: Facts): Values {
  const ffn = facts.ffn?.value ?? widths(facts).ffn;
  return ffn === undefined ? {} : { expertFfn: ffn };
}

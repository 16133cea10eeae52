import { routerScores } from '../../domain/settings/model-details';
import { choice, fixed, on, positiveNumber, type FlagRead } from '../../languages/reads';
import { lenient, row, type FlagTable, type Table } from '../tables/table';
import { anyOf } from '../tables/reads';
import { own } from '../../records';

/*
 * What makes two models of equal sizes different, in flags of Megatron-LM (`megatron/training/arguments.py` at d98e8a64) and keys of
 * Megatron Core's `TransformerConfig`.
 */

const scores = Object.fromEntries(routerScores.map((score) => [score, score])) as Record<(typeof routerScores)[number], never>;

/** A coefficient, or the first of several. */
export const coefficient: FlagRead<number> = {
  words: 'many',
  of: ([written = '']) => (/^0*\.?0+$/.test(written) ? { value: 0 } : lenient(positiveNumber).of([written])),
};

/** Several kinds of balancing losses, each by its name. */
const bySequence: FlagRead<boolean> = {
  words: 'many',
  of: (kinds) => (kinds.includes('seq_aux_loss') ? { value: true } : { silent: true }),
};

/** By the names of NeMo, Megatron's forks and PyTorch. */
const activations: Readonly<Record<string, string>> = {
  swiglu: 'silu',
  'fast-swiglu': 'silu',
  silu: 'silu',
  geglu: 'gelu',
  gelu: 'gelu',
  gelu_pytorch_tanh: 'gelu_pytorch_tanh',
  fast_gelu: 'gelu_pytorch_tanh',
  reglu: 'relu',
  relu: 'relu',
  'squared-relu': 'relu2',
  squared_relu: 'relu2',
  'quick-geglu': 'quick_gelu',
  quick_gelu: 'quick_gelu',
};
const activation = anyOf((written) => own(activations, written.split('.').at(-1) ?? ''));

/** On by one of several words; the others set nothing. */
const isWord = (word: string) => anyOf((written) => (written === word ? true : undefined));

/** Flags and fields of the same name. */
export const sharedDetails = {
  hiddenDropoutShare: [row('hidden_dropout', lenient(positiveNumber))],
  attentionDropoutShare: [row('attention_dropout', lenient(positiveNumber))],
  initStd: [row('init_method_std', lenient(positiveNumber))],
  rotaryInterleaved: [row('rotary_interleaved', on(true))],
  activationClamp: [row('activation_func_clamp_value', lenient(positiveNumber))],
  gluOffset: [row('glu_linear_offset', lenient(positiveNumber))],
  routerScore: [row('moe_router_score_function', lenient(choice(scores)))],
  routerNormalised: [row('moe_router_pre_softmax', on(false))],
  routerScaling: [row('moe_router_topk_scaling_factor', lenient(positiveNumber))],
  routerExpertBias: [row('moe_router_enable_expert_bias', on(true))],
  routerInputScaling: [row('moe_apply_probs_on_input', on(true))],
  routerSequenceLoss: [row('moe_router_load_balancing_type', bySequence)],
  routerAuxLoss: [row('moe_aux_loss_coeff', coefficient)],
  routerJitter: [row('moe_input_jitter_eps', lenient(positiveNumber))],
  routerZLoss: [row('moe_z_loss_coeff', lenient(positiveNumber))],
  attentionSinks: [row('softmax_type', isWord('learnable'))],
  sharedExpertGate: [row('moe_shared_expert_gate', on(true))],
} as const satisfies FlagTable;

/** Flags without a field of the same name. Without any for the activation it is GELU, or its tanh form where it is fused with the bias. */
export const detailFlags: FlagTable = {
  activation: [
    row('swiglu', fixed('silu')),
    row('squared-relu', fixed('relu2')),
    row('quick-geglu', fixed('quick_gelu')),
    row('geglu', fixed('gelu')),
    row('glu-activation', activation),
    row('no-bias-gelu-fusion', fixed('gelu')),
  ],
  normUnitOffset: [row('apply-layernorm-1p', on(true))],
  alibi: [row('position-embedding-type', isWord('alibi'))],
  routerAuxLoss: [row('moe-loss-coeff', coefficient)],
};

/** Those fields and others, among them keys of Megatron-Bridge's Gemma and of NeMo. */
export const detailKeys: Table = {
  ...sharedDetails,
  activation: [row('activation', activation), row('activation_func', activation)],
  normUnitOffset: [row('layernorm_zero_centered_gamma', on(true))],
  alibi: [row('position_embedding_type', isWord('alibi'))],
  attentionScale: [row('softmax_scale', lenient(positiveNumber))],
  attentionSoftCap: [row('attn_logit_softcapping', lenient(positiveNumber))],
  logitSoftCap: [row('final_logit_softcapping', lenient(positiveNumber))],
};

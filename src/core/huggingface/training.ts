import type { Node } from 'jsonc-parser';
import type { Located } from '../domain/located';
import type { TrainingSpec } from '../domain/request';
import type { LocatedPartial } from '../run/given';
import { located, type Source } from './members';

/** What a model config sets for training. */
export type TrainingOfModel = LocatedPartial<Pick<TrainingSpec, 'dropout' | 'gemmPrecision' | 'fp8Recipe' | 'fp8Format'>>;

/** Shares dropped out of hidden states, by the names of transformers' classes, and out of attention's probabilities. */
export const hiddenKeys = [
  'hidden_dropout_prob',
  'hidden_dropout',
  'resid_pdrop',
  'dropout',
  'dropout_rate',
  'resid_dropout',
  'residual_dropout',
];
export const attentionKeys = ['attention_probs_dropout_prob', 'attention_dropout', 'attention_dropout_prob', 'attn_pdrop', 'attn_dropout'];

/**
 * Whether a config.json sets dropout above zero. Dropout of attention's probabilities does not count: if a config sets only that, its class
 * has no other dropout or leaves it at zero, and fused attention keeps no mask of it. Also the format of FP8 weights
 * (`quantization_config`), which is that of training.
 */
export function trainingOfModel({ document, members }: Source): TrainingOfModel {
  const share = (key: string): Located<number> | undefined => {
    const member = members.get(key);
    const value: unknown = member?.value.type === 'number' ? member.value.value : undefined;
    return member !== undefined && typeof value === 'number' && value >= 0 && value <= 1 ? located(document, member, value) : undefined;
  };
  const hidden = hiddenKeys.map(share).filter((found) => found !== undefined);
  const dropout = hidden.find(({ value }) => value > 0) ?? hidden[0] ?? attentionKeys.map(share).find((found) => found !== undefined);
  const isDropped = hidden.some(({ value }) => value > 0);
  return { ...(dropout && { dropout: { ...dropout, value: isDropped } }), ...readFp8Format({ document, members }) };
}

function readFp8Format({ document, members }: Pick<Source, 'document' | 'members'>): TrainingOfModel {
  const member = members.get('quantization_config');
  if (member?.value.type !== 'object' || findChild(member.value, 'quant_method')?.value !== 'fp8') return {};
  const isBlockwise = findChild(member.value, 'weight_block_size')?.type === 'array';
  return {
    gemmPrecision: located(document, member, 'fp8' as const),
    ...(findChild(member.value, 'fmt')?.value === 'e4m3' && { fp8Format: located(document, member, 'e4m3' as const) }),
    ...(isBlockwise && { fp8Recipe: located(document, member, 'blockwise' as const) }),
  };
}

function findChild({ children = [] }: Node, name: string): Node | undefined {
  return children.find(({ children: [key] = [] }) => key?.value === name)?.children?.[1];
}

import type { Node } from 'jsonc-parser';
import type { Located } from '../domain/located';
import type { TrainingSpec } from '../domain/request';
import type { LocatedPartial } from '../run/given';
import { objectIn, readNumber } from './lenient-members';
import { located, type Source } from './members';

/** What a model config sets for training. */
export type TrainingOfModel = LocatedPartial<Pick<TrainingSpec, 'dropout' | 'gemmPrecision' | 'fp8Recipe' | 'fp8Format'>>;

/** Shares dropped out of hidden states, by the names of transformers' classes, and out of attention's probabilities. */
const hiddenKeys = ['hidden_dropout_prob', 'hidden_dropout', 'resid_pdrop', 'dropout', 'dropout_rate', 'resid_dropout', 'residual_dropout'];
const attentionKeys = ['attention_probs_dropout_prob', 'attention_dropout', 'attention_dropout_prob', 'attn_pdrop', 'attn_dropout'];
/** Of both: `T5Attention` drops out probabilities by the share of the hidden states. */
const sharedKeys = ['dropout_rate'];

interface SharesDropped {
  readonly hidden: Located<number> | undefined;
  readonly attention: Located<number> | undefined;
}

/**
 * The shares that a config sets, those of MPT's and DBRX's attention in its section. Of two the class has the one that the config leaves
 * out; a config that sets neither leaves open whether there is dropout.
 */
export function sharesDropped(source: Source): SharesDropped {
  const hidden = shareSet(source, hiddenKeys);
  const attention =
    shareSet(source, attentionKeys) ?? shareSet(source, attentionKeys, objectIn(source, 'attn_config')) ?? shareSet(source, sharedKeys);
  return {
    hidden: hidden ?? (attention && shareOfClass(source, hiddenKeys)),
    attention: attention ?? (hidden && shareOfClass(source, attentionKeys)),
  };
}

/** The first share from 0 to 1 that is above 0, else the first. */
function shareSet({ document, members: ofConfig }: Source, keys: readonly string[], members = ofConfig): Located<number> | undefined {
  const shares = keys.flatMap((key) => {
    const member = members.get(key);
    const value: unknown = member?.value.value;
    return member !== undefined && typeof value === 'number' && value >= 0 && value <= 1 ? [located(document, member, value)] : [];
  });
  return shares.find(({ value }) => value > 0) ?? shares[0];
}

/** None where the config has one of the keys, with a value that is not a share. */
function shareOfClass(source: Source, keys: readonly string[]): Located<number> | undefined {
  return keys.some((key) => source.members.has(key)) ? undefined : readNumber(source, keys);
}

/**
 * Whether a config.json, or its class where the config sets dropout of attention's probabilities only, drops out hidden states. Dropout of
 * attention does not count: fused attention keeps no mask of it. Also the format of FP8 weights (`quantization_config`), which is that of
 * training.
 */
export function trainingOfModel(source: Source): TrainingOfModel {
  const { hidden, attention } = sharesDropped(source);
  const dropout = hidden ?? attention;
  return {
    ...(dropout && { dropout: { ...dropout, value: hidden !== undefined && hidden.value > 0 } }),
    ...readFp8Format(source),
  };
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

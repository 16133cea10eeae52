import { byDefault, type LocatedFields } from '../domain/located';
import type { LocatedPartial } from '../run/given';
import type { WrittenModel } from '../run/written-model';
import { sentence } from '../sentence';

/**
 * A model whose sizes a launcher replaces. Those that its config leaves to its class follow: as many key/value heads as heads, heads of
 * the hidden size over their number, and feed-forward blocks of 4 times the hidden size, where the class has them so.
 */
export function replaceSizes(model: LocatedFields<WrittenModel>, given: LocatedPartial<WrittenModel>): LocatedFields<WrittenModel> {
  const { hidden, heads, kvHeads, headDim, ffn } = model;
  const [newHidden, newHeads] = [given.hidden?.value ?? hidden.value, given.heads?.value ?? heads.value];
  const isLeft = ({ source }: { readonly source: { readonly kind: string } }): boolean => source.kind === 'default';
  const reason = sentence`follows from the sizes that the file replaces`;
  return {
    ...model,
    ...(isLeft(kvHeads) && kvHeads.value === heads.value && { kvHeads: byDefault(newHeads, reason) }),
    ...(isLeft(headDim) &&
      headDim.value === perHead(hidden.value, heads.value) && { headDim: byDefault(perHead(newHidden, newHeads), reason) }),
    ...(isLeft(ffn) && ffn.value === 4 * hidden.value && { ffn: byDefault(4 * newHidden, reason) }),
    ...given,
  };
}

const perHead = (hidden: number, heads: number): number => Math.max(1, Math.floor(hidden / heads));

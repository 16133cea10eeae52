import { valuesOf, type LocatedFields } from '../located';
import type { ModelSpec } from '../model/spec';

/** A model as files write it: what describes its experts are keys of their own, each with its own place. */
export type WrittenModel = Omit<ModelSpec, 'experts' | 'ffn'> & {
  /** Feed-forward width of dense layers, and of experts that have no width of their own. */
  readonly ffn: number;
  readonly experts: number | null;
  readonly activeExperts: number | null;
  /** Feed-forward width of one expert; null: `ffn`. */
  readonly expertFfn: number | null;
};

/** The model as planning sees it. One of the two numbers of experts without the other is a dense model, which the finding `experts-active` says. */
export function modelSpecOf(model: LocatedFields<WrittenModel>): ModelSpec {
  const { experts, activeExperts, expertFfn, ffn, ...rest } = valuesOf<WrittenModel>(model);
  if (experts === null || activeExperts === null) return { ...rest, ffn, experts: null };
  return { ...rest, ffn: expertFfn ?? ffn, experts: { count: experts, active: activeExperts } };
}

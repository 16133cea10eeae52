import { valuesOf, type LocatedFields } from '../located';
import type { ModelSpec } from '../model/spec';

/** A model as files write it: how many experts there are and how many a token visits are two keys, each with its own place. */
export type WrittenModel = Omit<ModelSpec, 'experts'> & {
  readonly experts: number | null;
  readonly activeExperts: number | null;
};

/** The model as planning sees it. One of the two numbers of experts without the other is a dense model, which the finding `experts-active` says. */
export function modelSpecOf(model: LocatedFields<WrittenModel>): ModelSpec {
  const { experts, activeExperts, ...rest } = valuesOf<WrittenModel>(model);
  return { ...rest, experts: experts === null || activeExperts === null ? null : { count: experts, active: activeExperts } };
}

import * as v from 'valibot';
import type { NamedProfile } from '../core/domain/profile';
import type { PlanRequest } from '../core/domain/request';
import type { Run } from '../core/run/run';
import type { ResolveDefaults } from '../core/plan-request/scenario';
import type { Plan } from '../core/planner/plan';

/** A value of ours that crosses threads as it is. @param shape what distinguishes it from others. */
export function ours<T>(shape: v.ObjectEntries): v.CustomSchema<T, undefined> {
  const object = v.looseObject(shape);
  return v.custom<T>((value) => v.is(object, value));
}

/** Any object: what is in it is not checked. */
export const some = v.object({});
export const planRequest = ours<PlanRequest>({ model: some, training: some, layout: some });
export const plan = ours<Plan>({ chosen: v.string(), candidates: v.array(some) });

/** What `resolveRun` takes; `found` are profiles near the config. */
export const resolveAsked = v.object({
  run: ours<Run>({ model: some, training: some, layout: some }),
  defaults: ours<ResolveDefaults>({ gpu: v.string() }),
  found: v.pipe(v.array(ours<NamedProfile>({ file: v.string(), profile: some })), v.readonly()),
});
export type ResolveMessage = v.InferOutput<typeof resolveAsked>;

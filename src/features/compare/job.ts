import * as v from 'valibot';
import type { Comparison } from './json';
import { ours, plan } from '../../protocol/thread-values';

/**
 * What a plan is compared with: another one, without its timelines, or the file of a measured run on this machine; `file` is its identity,
 * in the places of errors.
 */
const against = v.variant('kind', [
  v.object({ kind: v.literal('plan'), plan }),
  v.object({ kind: v.literal('measured'), path: v.string(), file: v.string() }),
]);
export type Against = v.InferOutput<typeof against>;

/** Asks the planner's thread to compare a plan. */
export const compareJob = {
  asks: v.object({ plan, against }),
  answers: ours<Comparison>({ kind: v.picklist(['plan', 'trace', 'times']) }),
};

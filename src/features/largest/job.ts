import * as v from 'valibot';
import type { Largest } from './core/largest';
import { largestKinds } from './core/kinds';
import { ours, resolveAsked } from '../../protocol/thread-values';

/** Asks the planner's thread for the most that fits. */
export const largestJob = {
  asks: v.object({ ...resolveAsked.entries, what: v.picklist(largestKinds), isSearched: v.boolean() }),
  answers: ours<Largest>({ what: v.picklist(largestKinds), tried: v.number() }),
};

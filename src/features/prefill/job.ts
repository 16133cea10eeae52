import * as v from 'valibot';
import type { PrefillAnswer, PrefillQuestion } from './core/answer';
import { ours, resolveAsked, some } from '../../protocol/thread-values';

/** Asks the planner's thread how a prompt is best cut. */
export const prefillJob = {
  asks: v.object({
    ...resolveAsked.entries,
    model: v.nullable(v.string()),
    asked: ours<PrefillQuestion>({ tokens: v.number(), stages: v.nullable(v.number()) }),
  }),
  answers: ours<PrefillAnswer>({ prefill: some, engines: v.array(some) }),
};

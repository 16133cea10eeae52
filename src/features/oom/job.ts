import * as v from 'valibot';
import type { OomAnswer } from './core/answer';
import { ours, plan, resolveAsked, some } from '../../protocol/thread-values';

/** What a run left: a file on this machine, or the text of a log. */
const source = v.variant('kind', [
  v.object({ kind: v.literal('file'), path: v.string() }),
  v.object({ kind: v.literal('text'), text: v.string() }),
]);
export type OomSource = v.InferOutput<typeof source>;

/** Asks the planner's thread why a run ran out of memory; `planned` is its config with the plan of it. */
export const oomJob = {
  asks: v.object({ source, planned: v.nullable(v.object({ ...resolveAsked.entries, plan })) }),
  answers: ours<OomAnswer>({ evidence: some, verdict: some }),
};

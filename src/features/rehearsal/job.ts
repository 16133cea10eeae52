import * as v from 'valibot';
import type { PreparedRehearsal, RehearsalSettings } from './core/prepare';
import { ours, plan, some } from '../../protocol/thread-values';

/** Asks the planner's thread what a rehearsal would run. `plan` has the timeline of the chosen candidate only. */
export const rehearsalJob = {
  asks: v.object({
    plan,
    asked: ours<RehearsalSettings>({ scale: some, steps: v.number() }),
    room: v.object({ usableBytes: v.number(), cores: v.number() }),
  }),
  answers: ours<PreparedRehearsal>({ design: some, fits: v.boolean() }),
};

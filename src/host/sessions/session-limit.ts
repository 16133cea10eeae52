import type { Timeline } from '../../core/schedules/schedule';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';

const kept = 24;
/** Most bytes of all timelines of sessions that no view shows. */
const keptBytes = 64 * 2 ** 20;

/** Drops the oldest unused sessions once there are more than two dozen, or their timelines are too large together. */
export function limitSessions(sessions: PlanSessions, isNeeded: (file: string) => boolean): { dispose: () => void } {
  return sessions.onDidChange(({ progress: changing }) => {
    // A plan comes at the end of planning; the many reports before it add nothing.
    if (changing !== null && sessions.all().length <= kept) return;
    const all = sessions.all();
    const idle = all.filter(({ file, progress }) => progress === null && !isNeeded(file));
    let count = all.length;
    let bytes = idle.reduce((sum, state) => sum + timelineBytes(state), 0);
    for (const state of idle) {
      if (count <= kept && bytes <= keptBytes) return;
      sessions.drop(state.file);
      count -= 1;
      bytes -= timelineBytes(state);
    }
  });
}

/** Bytes of the columns of a session's timelines: nearly all that a large plan takes. */
function timelineBytes({ plan, schedule }: SessionState): number {
  const timelines: (Timeline | null)[] = [...(plan?.candidates ?? []).map(({ timeline }) => timeline), schedule?.timeline ?? null];
  const columns = timelines.flatMap((timeline) => (timeline === null ? [] : Object.values<unknown>({ ...timeline })));
  return columns.reduce((sum: number, column) => sum + (ArrayBuffer.isView(column) ? column.byteLength : 0), 0);
}

import type { PlanSessions } from './plan-sessions';

const kept = 24;

/** Forgets the oldest sessions that nobody needs once there are more than two dozen: a plan with its timelines can take megabytes. */
export function limitSessions(sessions: PlanSessions, isNeeded: (file: string) => boolean): { dispose: () => void } {
  return sessions.onDidChange(() => {
    const all = sessions.all();
    if (all.length <= kept) return;
    const idle = all.filter(({ file, progress }) => progress === null && !isNeeded(file));
    for (const { file } of idle.slice(0, all.length - kept)) sessions.drop(file);
  });
}

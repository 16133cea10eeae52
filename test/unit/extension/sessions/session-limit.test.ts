import assert from 'node:assert/strict';
import type { PlanSessions } from '../../../../src/host/sessions/plan-sessions';
import type { SessionState } from '../../../../src/host/sessions/session-state';
import { limitSessions } from '../../../../src/host/sessions/session-limit';

/** Sessions that only list, drop and notify. */
function listed(states: readonly SessionState[]) {
  const left = new Map(states.map((state) => [state.file, state]));
  const listeners: ((state: SessionState) => void)[] = [];
  const sessions = {
    all: () => [...left.values()],
    drop: (file: string) => void left.delete(file),
    onDidChange: (listener: (state: SessionState) => void) => {
      listeners.push(listener);
      return { dispose: () => undefined };
    },
  } as Partial<PlanSessions> as PlanSessions;
  return { sessions, files: () => [...left.keys()], notify: () => listeners.forEach((listener) => listener([...left.values()].at(-1)!)) };
}

/** A session of a schedule whose timeline has a column of this many bytes. */
function sessionOf(file: string, bytes: number, progress: number | null = null): SessionState {
  const timeline = { startMs: new Uint8Array(bytes), stages: 4 };
  return { file, plan: null, schedule: { timeline }, progress } as Partial<Record<keyof SessionState, unknown>> as SessionState;
}

describe('the limit of sessions', () => {
  const mib = 2 ** 20;

  it('forgets the oldest of more than two dozen, but none that is needed or at work', () => {
    const { sessions, files, notify } = listed(
      Array.from({ length: 28 }, (_, index) => sessionOf(`f${index}`, 10, index === 1 ? 0.5 : null)),
    );
    limitSessions(sessions, (file) => file === 'f0');
    notify();
    assert.equal(files().length, 24);
    assert.deepEqual(files().slice(0, 3), ['f0', 'f1', 'f6']);
  });

  it('forgets the oldest whose timelines are too large together, and keeps what is shown whatever it takes', () => {
    const { sessions, files, notify } = listed([
      sessionOf('shown', 100 * mib),
      sessionOf('a', 30 * mib),
      sessionOf('b', 30 * mib),
      sessionOf('c', 30 * mib),
      sessionOf('small', mib),
    ]);
    limitSessions(sessions, (file) => file === 'shown');
    notify();
    assert.deepEqual(files(), ['shown', 'b', 'c', 'small']);
  });
});

import type { PrefillAnswer, PrefillQuestion } from '../core/answer';
import { servedModel, usualPrompt } from '../core/served-model';
import { ExpectedError } from '../../../core/errors';
import { sentence } from '../../../core/sentence';
import type { Run } from '../../../core/run/run';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import type { PlanSessions } from '../../../host/sessions/plan-sessions';
import type { SessionHost } from '../../../host/sessions/session-host';
import type { PlannerClient } from '../../../host/planner/client';

/** Prompts that are planned, one a config. */
export interface Prefills {
  /** Null before the first. */
  readonly state: (file: string) => PrefillSession | null;
  /** Plans a prompt, in place of an earlier one; an error is in the state too. @throws ExpectedError of the planner; CancelledError. */
  readonly plan: (file: string, asked: PrefillQuestion) => Promise<PrefillAnswer>;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

/** What is known of the prompt of a config. */
export interface PrefillSession {
  /** The last answer; null before the first, and where that failed. */
  readonly answer: PrefillAnswer | null;
  /** The run that `answer` is of. */
  readonly run: Run;
  readonly isRunning: boolean;
  readonly error: ExpectedError | null;
}

type AskPrefill = (run: Run, asked: PrefillQuestion, signal: AbortSignal) => Promise<PrefillAnswer>;

/** @param ask the planner's answer for a run. */
export function createPrefills(sessions: PlanSessions, ask: AskPrefill): Prefills {
  const known = new Map<string, PrefillSession>();
  const listeners = new Set<(file: string) => void>();
  const running = new Map<string, AbortController>();
  const put = (file: string, state: PrefillSession): void => {
    known.set(file, state);
    for (const listener of listeners) listener(file);
  };
  const subscription = sessions.onDidChange(({ file }) => {
    // Closed files are forgotten; pages of an edited one learn that its answer is outdated.
    for (const each of known.keys()) if (sessions.get(each) === undefined) known.delete(each);
    if (known.has(file)) for (const listener of listeners) listener(file);
  });
  return {
    state: (file) => known.get(file) ?? null,
    async plan(file, asked) {
      const run = sessions.get(file)?.run ?? null;
      if (run === null) throw new ExpectedError('no-plan', sentence`There is no model to serve`, sentence`fix the config first`);
      running.get(file)?.abort();
      const own = new AbortController();
      running.set(file, own);
      const before = known.get(file)?.answer ?? null;
      put(file, { answer: before, run, isRunning: true, error: null });
      try {
        const answer = await ask(run, asked, own.signal);
        put(file, { answer, run, isRunning: false, error: null });
        return answer;
      } catch (error) {
        if (running.get(file) === own)
          put(file, { answer: before, run, isRunning: false, error: error instanceof ExpectedError ? error : null });
        throw error;
      } finally {
        if (running.get(file) === own) running.delete(file);
      }
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      for (const own of running.values()) own.abort();
      listeners.clear();
      known.clear();
    },
  };
}

/** Answers for prompts, with the profiles near a config. */
export function prefillPlanner(
  searcher: PlannerClient,
  profiles: SessionHost['profiles'],
  resolveDefaults: (file: string) => ResolveDefaults,
): AskPrefill {
  return async (run, asked, signal) => {
    const found = await profiles(run.file);
    const folder = servedModel(run);
    const model = folder === null ? null : decodeURIComponent(new URL(folder).pathname);
    return searcher.ask('prefill', { run, found, defaults: resolveDefaults(run.file), model, asked }, { signal });
  };
}

/** What is asked for by default: the model's positions over the stages of its plan, or four. */
export function usualPrefill(run: Run, pipeline: number | null): { readonly tokens: number; readonly stages: number } {
  return { tokens: usualPrompt(run), stages: pipeline !== null && pipeline > 1 ? pipeline : Math.min(4, run.model.layers.value) };
}

import { CancelledError, ExpectedError } from '../../core/errors';
import type { Run } from '../../core/run/run';
import type { WhatIfSet } from '../../core/layout-search/what-if';
import type { Plan } from '../../core/planner/plan';
import { planScenario, type Scenario } from '../../core/plan-request/scenario';
import { sentence } from '../../core/sentence';
import type { PlanSessions } from './plan-sessions';

/** Sizes that are tried for a config, and what they give. */
export interface WhatIf {
  readonly sets: readonly WhatIfSet[];
  /** Null while it is made, and where it cannot be. Without timelines. */
  readonly plan: Plan | null;
  readonly error: ExpectedError | null;
}

/** The settings of one config that are tried before they are written. */
export interface WhatIfs {
  readonly state: (file: string) => WhatIf | null;
  /** Plans a config with other sizes, in place of those tried before; with none forgets them. Resolves when it has ended. */
  readonly attempt: (file: string, sets: readonly WhatIfSet[]) => Promise<void>;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

export interface WhatIfHost {
  /** Plans a run with other sizes, off this thread. @param kept the scenario of its plan, which stays. */
  readonly plan: (
    run: Run,
    sets: readonly WhatIfSet[],
    kept: Scenario | undefined,
    options: { readonly signal: AbortSignal },
  ) => Promise<Plan>;
  readonly reportBug: (error: unknown) => void;
}

/** One try a config. An edit of the config forgets it: it was of another plan. */
export function createWhatIfs(sessions: PlanSessions, host: WhatIfHost): WhatIfs {
  const tries = new Map<string, { readonly state: WhatIf; readonly job: AbortController; readonly edits: number }>();
  const listeners = new Set<(file: string) => void>();
  const put = (file: string, job: AbortController, edits: number, state: WhatIf): void => {
    tries.set(file, { state, job, edits });
    for (const listener of listeners) listener(file);
  };
  const forget = (file: string): void => {
    const known = tries.get(file);
    if (known === undefined) return;
    known.job.abort();
    tries.delete(file);
    for (const listener of listeners) listener(file);
  };
  const subscription = sessions.onDidChange(({ file, edits }) => {
    const known = tries.get(file);
    if (known !== undefined && known.edits !== edits) forget(file);
  });
  return {
    state: (file) => tries.get(file)?.state ?? null,
    attempt: async (file, sets) => {
      const session = sessions.get(file);
      if (sets.length === 0 || session === undefined || session.run === null) {
        forget(file);
        return;
      }
      tries.get(file)?.job.abort();
      const { run, edits } = session;
      const kept = session.plan === null ? undefined : planScenario(session.plan.request);
      const job = new AbortController();
      put(file, job, edits, { sets, plan: null, error: null });
      const isCurrent = (): boolean => tries.get(file)?.job === job;
      try {
        const plan = await host.plan(run, sets, kept, { signal: job.signal });
        if (isCurrent()) put(file, job, edits, { sets, plan, error: null });
      } catch (error) {
        if (!isCurrent() || error instanceof CancelledError) return;
        const expected = error instanceof ExpectedError ? error : failed();
        if (expected !== error) host.reportBug(error);
        put(file, job, edits, { sets, plan: null, error: expected });
      }
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      for (const { job } of tries.values()) job.abort();
      tries.clear();
      listeners.clear();
    },
  };
}

function failed(): ExpectedError {
  return new ExpectedError(
    'internal',
    sentence`TeraPipe failed to plan these sizes`,
    sentence`the log has the details; please report them`,
  );
}

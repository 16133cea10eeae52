import * as vscode from 'vscode';
import { ExpectedError } from '../../../core/errors';
import type { RehearsalDesign } from '../core/design';
import type { Rehearsal } from '../core/result';
import { sentence } from '../../../core/sentence';
import type { RehearsalProgress } from '../profiler/run';
import { profilerSettings } from '../../../extension/platform/settings';
import { requireTrust } from '../../../extension/sessions/profiles';

/** At most one running rehearsal. */
export interface Rehearsals {
  /**
   * Runs a design of a config's plan.
   * @throws ExpectedError `profile-untrusted`, `rehearsal-running`, or as `rehearse`; CancelledError.
   */
  readonly run: (config: string, design: RehearsalDesign, onProgress: (progress: RehearsalProgress) => void) => Promise<Rehearsal>;
  readonly cancel: () => void;
  readonly dispose: () => void;
}

/** Measured steps, of which the median counts. */
export const rehearsedSteps = 5;

/** @param childFile the bundled child, `dist/profiler.js`. */
export function createRehearsals(childFile: string): Rehearsals {
  let running: AbortController | null = null;
  const cancel = (): void => running?.abort();
  return {
    cancel,
    dispose: cancel,
    async run(config, design, onProgress) {
      requireTrust();
      if (running !== null)
        throw new ExpectedError(
          'rehearsal-running',
          sentence`A plan is being rehearsed already`,
          sentence`wait for it, or cancel it in its notification`,
        );
      const mine = new AbortController();
      running = mine;
      void vscode.commands.executeCommand('setContext', 'terapipe.isRehearsing', true);
      const { provider, libraryPath } = profilerSettings(vscode.Uri.parse(config));
      try {
        const { rehearse } = await import('../profiler/run');
        return await rehearse(design, {
          childFile,
          provider: provider ?? 'cpu',
          libraryPath,
          clock: null,
          steps: rehearsedSteps,
          signal: mine.signal,
          now: () => performance.now(),
          onProgress,
        });
      } finally {
        running = null;
        void vscode.commands.executeCommand('setContext', 'terapipe.isRehearsing', false);
      }
    },
  };
}

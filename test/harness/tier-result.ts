import type { Emit } from './events.mjs';

/** What the tiers that drive a browser or a VS Code are given. */
export interface TierInput {
  readonly chromiumPath: string;
  readonly screenshotsDir: string;
  readonly tools: { readonly node: string; readonly codeServer: string };
}

/** The same, and how a tier reports what it does. */
export interface TierRun extends TierInput {
  readonly emit: Emit;
}

/** One step of a walk: what a person does and sees. */
export interface Step {
  readonly name: string;
  readonly act: () => Promise<void>;
}

/**
 * Does the steps in order. Each builds on the one before, so the first failure ends the walk and the rest are not reached.
 * @param onFailure gets the failed step's name before this returns: time for a screenshot
 * @returns whether all passed
 */
export async function walkSteps(steps: readonly Step[], emit: Emit, onFailure: (name: string) => Promise<void>): Promise<boolean> {
  emit({ kind: 'expect', count: steps.length });
  for (const { name, act } of steps) {
    emit({ kind: 'start', name });
    try {
      await act();
    } catch (error) {
      emit({ kind: 'fail', name, why: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      await onFailure(name);
      return false;
    }
    emit({ kind: 'pass', name });
  }
  return true;
}

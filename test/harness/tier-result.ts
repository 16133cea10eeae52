/** What one tier of `npm test` found. */
export interface TierResult {
  readonly passed: number;
  readonly failed: number;
  /** One entry a failure: its name, then what went wrong. */
  readonly failures: readonly string[];
  /** Measurements worth a line: times, sizes. */
  readonly notes?: readonly string[];
}

/** What the tiers that drive a browser or a VS Code are given. */
export interface TierInput {
  readonly chromiumPath: string;
  readonly screenshotsDir: string;
  readonly tools: { readonly node: string; readonly codeServer: string };
}

/** Sums the parts of a tier. */
export function mergeResults(parts: readonly TierResult[]): TierResult {
  return {
    passed: parts.reduce((sum, part) => sum + part.passed, 0),
    failed: parts.reduce((sum, part) => sum + part.failed, 0),
    failures: parts.flatMap((part) => part.failures),
    notes: parts.flatMap((part) => part.notes ?? []),
  };
}

/** One step of a walk: what a person does and sees. */
export interface Step {
  readonly name: string;
  readonly act: () => Promise<void>;
}

/**
 * Does the steps in order. Each builds on the one before, so the first failure ends the walk and the rest count as failed.
 * @param onFailure is told the failed step's name before this returns: time for a screenshot
 */
export async function walkSteps(steps: readonly Step[], onFailure: (name: string) => Promise<void>): Promise<TierResult> {
  for (const [index, { name, act }] of steps.entries()) {
    try {
      await act();
    } catch (error) {
      await onFailure(name);
      const rest = steps.slice(index + 1).map((step) => `${step.name}: not reached`);
      const failures = [`${name}: ${error instanceof Error ? error.message : String(error)}`, ...rest];
      return { passed: index, failed: failures.length, failures };
    }
  }
  return { passed: steps.length, failed: 0, failures: [] };
}

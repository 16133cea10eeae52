import { solveSlicing } from '../../core/solver/solve';
import type { Scheme } from '../../core/solver/slicing';
import { readSolveProblem } from './solve-problem';

/** What `terapipe solve --json` prints. Times in ms, lengths in tokens. */
export interface SolveAnswer {
  readonly version: 1;
  readonly latencyMs: number;
  /** Equal to `latencyMs` when `exact`. */
  readonly lowerBoundMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly exact: boolean;
  readonly scheme: Scheme;
  /** Sequence by sequence: whole, and in the best number of equal slices. */
  readonly baselines: { readonly whole: number; readonly uniform: { readonly slices: number; readonly latencyMs: number } };
  /** Thresholds solved. */
  readonly evaluations: number;
  readonly elapsedMs: number;
}

/**
 * Solves the problem in `text`, read from `file`; `clock` gives ms.
 * @throws ExpectedError as `readSolveProblem`.
 */
export function runSolve(text: string, file: string, clock: () => number): SolveAnswer {
  const problem = readSolveProblem(text, file);
  const startMs = clock();
  const { latencyMs, lowerBoundMs, totalMs, slowestMs, exact, scheme, baselines, evaluations } = solveSlicing(problem);
  const { slices, latencyMs: uniformMs } = baselines.uniform;
  return {
    version: 1,
    latencyMs,
    lowerBoundMs,
    totalMs,
    slowestMs,
    exact,
    scheme,
    baselines: { whole: baselines.wholeMs, uniform: { slices, latencyMs: uniformMs } },
    evaluations,
    elapsedMs: clock() - startMs,
  };
}

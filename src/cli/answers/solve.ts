import type { CancelSignal } from '../../core/errors';
import type { Baseline } from '../../core/slicing/baselines';
import { solveSlicing, type Incumbent } from '../../core/slicing/solve';
import type { Scheme } from '../../core/domain/scheme';
import { readSolveProblem } from '../problems/solve';

/** A way to cut every sequence alike, and its latency. */
export interface BaselineAnswer {
  readonly slices: number;
  readonly latencyMs: number;
}

/** What `terapipe solve --json` prints. Times in ms, lengths in tokens. */
export interface SolveAnswer {
  readonly version: 1;
  /** With `forwardOnly` the time to the first token. */
  readonly latencyMs: number;
  /** Equal to `latencyMs` when `exact`. */
  readonly lowerBoundMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly exact: boolean;
  /** `formula`: eq. 5, which is the time itself; `simulation`: stages differ so that only simulation shows it. */
  readonly judgedBy: 'formula' | 'simulation';
  readonly scheme: Scheme;
  /** Chunks of `scheme` in each round; more than one where `maximumInFlight` asks for it. */
  readonly rounds: readonly number[];
  /**
   * Sequence by sequence: whole, in the best number of equal slices, in slices of equal time, of equal arithmetic (a formula's), and, for
   * prefill, in SGLang's dynamic chunks.
   */
  readonly baselines: {
    readonly whole: number;
    readonly uniform: BaselineAnswer;
    readonly equalTime: BaselineAnswer;
    readonly equalWork: BaselineAnswer | null;
    readonly dynamicChunks: BaselineAnswer | null;
  };
  /** Thresholds solved. */
  readonly evaluations: number;
  readonly elapsedMs: number;
}

/**
 * Solves the problem in `text`, read from `file`; `clock` gives ms.
 * @throws ExpectedError as `readSolveProblem` and `solveSlicing`; CancelledError.
 */
export function runSolve(
  text: string,
  file: string,
  clock: () => number,
  onIncumbent?: (incumbent: Incumbent) => void,
  signal?: CancelSignal,
): SolveAnswer {
  const problem = readSolveProblem(text, file);
  const startMs = clock();
  const { baselines, ...solution } = solveSlicing(problem, { onIncumbent, signal });
  const { latencyMs, lowerBoundMs, totalMs, slowestMs, exact, judgedBy, scheme, rounds, evaluations } = solution;
  return {
    version: 1,
    latencyMs,
    lowerBoundMs,
    totalMs,
    slowestMs,
    exact,
    judgedBy,
    scheme,
    rounds,
    baselines: {
      whole: baselines.wholeMs,
      uniform: baselineAnswer(baselines.uniform),
      equalTime: baselineAnswer(baselines.equalTime),
      equalWork: baselines.equalWork === null ? null : baselineAnswer(baselines.equalWork),
      dynamicChunks: baselines.dynamicChunks === null ? null : baselineAnswer(baselines.dynamicChunks),
    },
    evaluations,
    elapsedMs: clock() - startMs,
  };
}

function baselineAnswer({ slices, latencyMs }: Baseline): BaselineAnswer {
  return { slices, latencyMs };
}

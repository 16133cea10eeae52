/*
 * Failures and checkpoints of a long run: docs/model/run.md. Seconds.
 */

/** How a run fails and starts again. */
interface Failures {
  /** Mean time between failures that stop the run. */
  readonly betweenSeconds: number;
  /** The run waits for a checkpoint that long. */
  readonly saveSeconds: number;
  /** From a failure to the first step of the restarted run: found, replaced, loaded. */
  readonly restartSeconds: number;
}

/**
 * The interval of training between checkpoints that loses least: Daly's higher-order optimum (J. T. Daly 2006, A higher order estimate of
 * the optimum checkpoint interval for restart dumps, eq. 37), of which Young's sqrt(2 save MTBF) is the first term.
 */
export function dalyInterval({ betweenSeconds, saveSeconds }: Pick<Failures, 'betweenSeconds' | 'saveSeconds'>): number {
  if (saveSeconds >= 2 * betweenSeconds) return betweenSeconds;
  const share = saveSeconds / (2 * betweenSeconds);
  return Math.sqrt(2 * saveSeconds * betweenSeconds) * (1 + Math.sqrt(share) / 3 + share / 9) - saveSeconds;
}

/**
 * Share of the time in which the run trains steps that are kept, from 0 to 1, with failures that come independently of each other (the
 * same paper, eq. 20): 1 over the time that a second of training takes with saves, lost work and restarts.
 * @param intervalSeconds of training between checkpoints.
 */
export function goodput({ betweenSeconds, saveSeconds, restartSeconds }: Failures, intervalSeconds: number): number {
  const segment = Math.expm1((intervalSeconds + saveSeconds) / betweenSeconds);
  return intervalSeconds / (betweenSeconds * Math.exp(restartSeconds / betweenSeconds) * segment);
}

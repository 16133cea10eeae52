import type { Sentence } from '../sentence';

/** What happens where a checkpoint is loaded at another layout, from the best to the worst. */
const outcomes = ['loads', 'unknown', 'initialises', 'stops'] as const;
type Outcome = (typeof outcomes)[number];

/** What happens to the weights or to the optimizer state, and where the launcher's source shows it. */
export interface PartVerdict {
  readonly outcome: Outcome;
  readonly reason: Sentence;
  /** Repository, commit, file and lines. */
  readonly source: string;
}

/** Whether a checkpoint loads at another layout. */
export interface CheckpointVerdict {
  /** As the launcher names it. */
  readonly format: string;
  /** Why this format is assumed; null: the file sets it. */
  readonly assumed: Sentence | null;
  readonly weights: PartVerdict;
  /** Null: the run does not load it. */
  readonly optimizer: PartVerdict | null;
  /** What makes it load; null: nothing is needed, or nothing is known to help. */
  readonly conversion: Sentence | null;
}

/** What happens to the whole checkpoint: the worse of its two parts. */
export function decidingPart({ weights, optimizer }: CheckpointVerdict): PartVerdict {
  const isWorse = optimizer !== null && outcomes.indexOf(optimizer.outcome) > outcomes.indexOf(weights.outcome);
  return isWorse ? optimizer : weights;
}

/** The verdict in JSON. */
export function verdictName(verdict: CheckpointVerdict): string {
  const { outcome } = decidingPart(verdict);
  if (outcome === 'stops') return verdict.conversion === null ? 'does-not-load' : 'loads-after-conversion';
  return outcome === 'initialises' ? 'silently-initialises' : outcome;
}

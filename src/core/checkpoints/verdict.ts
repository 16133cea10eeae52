import type { Sentence } from '../sentence';
import type { LayoutChange } from './layout';

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

/** What a file sets for its checkpoints. */
export interface CheckpointSettings {
  readonly format: string;
  readonly loadsOptimizer: boolean;
  /** Whether it continues in the data where the checkpoint was written. */
  readonly loadsDataPosition: boolean;
  /** Whether the arguments in the checkpoint are compared with those of the run (Megatron-LM: not with `--finetune`). */
  readonly comparesArguments: boolean;
  /** Optimizer state is written so that it loads at other tensor and pipeline sizes. */
  readonly isReshardable: boolean;
  /** Optimizer state is sharded over replicas; null: not known. */
  readonly isSharded: boolean | null;
}

/** The verdict of a launcher: what a change does to weights and optimizer state, and what helps. */
export type Judgement = Pick<CheckpointVerdict, 'weights' | 'optimizer' | 'conversion'>;

/** The same verdict for weights and optimizer state; a run that loads only weights has none for the latter. */
export function judgedAlike(
  part: PartVerdict,
  { loadsOptimizer }: Pick<CheckpointSettings, 'loadsOptimizer'>,
  conversion: Sentence | null = null,
): Judgement {
  return { weights: part, optimizer: loadsOptimizer ? part : null, conversion };
}

/** How the checkpoints of a launcher survive a change of the layout. */
export interface CheckpointKind {
  /** The format where a file sets none, and why. */
  readonly assumed: { readonly format: string; readonly reason: Sentence };
  /** Null for a format that it does not know. */
  readonly judge: (settings: CheckpointSettings, change: LayoutChange) => Judgement | null;
}

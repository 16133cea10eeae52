import type { Sentence } from '../sentence';
import type { LayoutChange } from './layout';
import type { CheckpointVerdict, PartVerdict } from './verdict';

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

/** One verdict for weights and optimizer state, of which a run that loads weights only has the first. */
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

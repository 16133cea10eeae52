import type { Run } from '../run/run';
import { formatCount } from '../format';
import { gpusUsed, sequenceTokens, type Layout, type TrainingSpec } from '../domain/request';
import type { Fallback } from './defaults-recorder';
import { keptFallback, type Scenario } from './scenario';
import { counted, sentence, type Sentence } from '../sentence';

/** Tokens of a step for each GPU where no file gives a batch: four sequences of 4,096. */
const assumedTokensPerGpu = 16_384;

type Lengths = Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength'>;
type BatchTraining = Lengths & Pick<TrainingSpec, 'microBatch'>;

/** The batch that files set. */
export type BatchSettings = Pick<Run, 'batchPerReplica'> & { readonly training: Pick<Run['training'], 'globalBatch'> };

/**
 * Sequences of a step for each GPU where no file gives a batch: the largest power of two within `assumedTokensPerGpu`, at least one, in
 * whole micro-batches. Neither the model nor the layout changes it, and every number of replicas of these GPUs divides it.
 */
function assumedSequencesPerGpu({ microBatch, ...lengths }: BatchTraining): number {
  return microBatch * Math.ceil(sequencesWithin(lengths) / microBatch);
}

/** The same on the GPUs of a layout. */
function assumedGlobalBatch(training: BatchTraining, layout: Layout): number {
  return gpusUsed(layout) * assumedSequencesPerGpu(training);
}

/**
 * The global batch where no file gives one: the sequences per replica that a launcher's file sets, times the replicas; else that of the
 * last plan while the config is edited; else the assumed one.
 */
export function batchFallback(
  { batchPerReplica: each }: Pick<BatchSettings, 'batchPerReplica'>,
  training: BatchTraining,
  layout: Layout,
  kept: Scenario | undefined,
): Fallback<number> {
  if (each !== undefined)
    return {
      value: each.value * layout.data,
      reason:
        each.source.kind === 'default'
          ? sentence`${formatCount(each.value)} on each replica: ${each.source.reason}`
          : sentence`${formatCount(each.value)} on each replica, as the files set`,
    };
  const assumed = { value: assumedGlobalBatch(training, layout), reason: reasonOfAssumed(training) };
  const before = keptBatch(kept);
  if (before === null || before === assumed.value) return assumed;
  const unit = layout.data * training.microBatch;
  if (before % unit === 0) return keptFallback(kept, 'training.globalBatch', before) ?? assumed;
  const reason =
    training.microBatch === 1
      ? sentence`${formatCount(before)} is not divisible by ${counted(layout.data, 'replica')}`
      : sentence`${formatCount(before)} is not divisible by ${counted(layout.data, 'replica')} times micro-batches of ${formatCount(training.microBatch)}`;
  return { value: unit * Math.max(1, Math.round(before / unit)), reason };
}

/** The batch for a candidate layout: what the files give, else `batchFallback`. */
export function batchOn(given: BatchSettings, training: BatchTraining, layout: Layout, kept: Scenario | undefined): number {
  return given.training.globalBatch?.value ?? batchFallback(given, training, layout, kept).value;
}

/** The batch that layouts have to divide: given, or kept; null where it follows the layout or divides over each. */
export function fixedBatch({ training, batchPerReplica }: BatchSettings, kept: Scenario | undefined): number | null {
  return training.globalBatch?.value ?? (batchPerReplica === undefined ? keptBatch(kept) : null);
}

function keptBatch(kept: Scenario | undefined): number | null {
  return kept?.reasons['training.globalBatch'] === undefined ? null : kept.globalBatch;
}

function sequencesWithin(lengths: Lengths): number {
  return 2 ** Math.max(0, Math.floor(Math.log2(assumedTokensPerGpu / sequenceTokens(lengths))));
}

function reasonOfAssumed(training: BatchTraining): Sentence {
  const within = sequencesWithin(training);
  const each = assumedSequencesPerGpu(training);
  if (each !== within)
    return sentence`${counted(each, 'sequence')} a GPU, whole micro-batches of ${formatCount(training.microBatch)}, so that every layout divides it`;
  return within === 1
    ? sentence`one sequence a GPU, so that every layout divides it`
    : sentence`${counted(each, 'sequence')} a GPU, at most ${formatCount(assumedTokensPerGpu)} tokens, so that every layout divides it`;
}

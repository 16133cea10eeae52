import type { LocatedPartial } from '../run/given';
import type { ModelSpec } from '../domain/model';
import type { TrainingSpec } from '../domain/request';
import type { Fallback, ValueOrDefault } from './defaults-recorder';
import { keptFallback, type Scenario } from './scenario';
import { sentence } from '../sentence';

/** Tokens of a source whose positions nothing limits: what T5 was trained with (arXiv 1910.10683, section 3.1.2). */
const usualSource = 512;
const mostAssumed = 4096;

/** Length of the sequence, and of the target where an encoder reads the source. */
export function sequenceLengths(
  {
    sequenceLength,
    decoderSequenceLength,
    lengths,
  }: LocatedPartial<Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength' | 'lengths'>>,
  { stacks, maxPositions }: ModelSpec,
  valueOrDefault: ValueOrDefault,
  kept?: Scenario,
): Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength'> {
  if (stacks === undefined)
    return {
      sequenceLength: valueOrDefault('training.sequenceLength', sequenceLength, () =>
        lengths?.value === undefined
          ? (keptLength(kept, 'sequenceLength', maxPositions) ?? {
              value: Math.min(maxPositions ?? mostAssumed, mostAssumed),
              reason: sentence`the model's positions, at most 4,096`,
            })
          : {
              value: lengths.value.reduce((most, [tokens]) => Math.max(most, tokens), 1),
              reason: sentence`the longest of training.lengths`,
            },
      ),
    };
  const source = valueOrDefault(
    'training.sequenceLength',
    sequenceLength,
    () =>
      keptLength(kept, 'sequenceLength', stacks.maxSourcePositions) ??
      (stacks.maxSourcePositions === null
        ? { value: usualSource, reason: sentence`the source that T5 was trained with` }
        : { value: Math.min(stacks.maxSourcePositions, mostAssumed), reason: sentence`the encoder's positions, at most 4,096` }),
  );
  const target = valueOrDefault<number | undefined>(
    'training.decoderSequenceLength',
    decoderSequenceLength,
    () =>
      keptLength(kept, 'decoderSequenceLength', maxPositions) ??
      (maxPositions !== null && maxPositions < source
        ? { value: maxPositions, reason: sentence`the decoder's positions` }
        : { value: source, reason: sentence`as long as the source` }),
  );
  return { sequenceLength: source, ...(target === undefined ? {} : { decoderSequenceLength: target }) };
}

/** The length of the last plan, where the model still has positions for it. */
function keptLength(
  kept: Scenario | undefined,
  key: 'sequenceLength' | 'decoderSequenceLength',
  positions: number | null,
): Fallback<number> | null {
  const length = kept?.[key];
  return length === undefined || length > (positions ?? Infinity) ? null : keptFallback(kept, `training.${key}`, length);
}

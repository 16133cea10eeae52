import type { GivenAdapters } from '../../core/run/adapters';
import { formatCount } from '../../core/format';
import type { TrainingSpec } from '../../core/domain/request';

/** The adapters of a run as `inspect --json` has them: null targets are those that peft takes for the model's type. */
export function adapterJson(adapters: GivenAdapters | undefined): object | null {
  if (adapters === undefined) return null;
  const { rank, targets, dropout, baseBits, doubleQuantised = false, saved = [], unlike = null, defaults } = adapters;
  return {
    setting: adapters.name,
    kind: unlike ?? (baseBits === undefined ? 'lora' : 'qlora'),
    rank: rank?.value ?? defaults?.rank ?? 8,
    targets: targets?.value ?? defaults?.targets ?? null,
    dropout: dropout?.value ?? defaults?.dropout ?? 0,
    bits: baseBits?.value ?? null,
    doubleQuantised,
    saved,
  };
}

/** `adapters  rank 16 on query, key; frozen weights in 4 bits`; nothing where all weights are trained. */
export function adapterLine({ adapter }: TrainingSpec): readonly (readonly [string, string])[] {
  if (adapter === undefined) return [];
  const { rank, targets, baseBits, saved = [], onHead = false } = adapter;
  const frozen = baseBits === undefined ? '' : `; frozen weights in ${formatCount(baseBits)} bits`;
  const whole = saved.length === 0 ? '' : `; ${saved.join(' and ')} trained whole`;
  return [['adapters', `rank ${formatCount(rank)} on ${[...targets, ...(onHead ? ['head'] : [])].join(', ')}${frozen}${whole}`]];
}

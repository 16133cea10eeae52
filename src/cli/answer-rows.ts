import { formatPercent, formatRate } from '../core/format';
import { say, type Value } from '../core/sentence';

/** `60.4K tokens/s (943 a GPU), MFU 41.3 %`. */
export function throughputText({ tokensPerSecond, mfu }: { readonly tokensPerSecond: number; readonly mfu: number }, gpus: number): string {
  const each = gpus === 1 ? '' : ` (${formatRate(tokensPerSecond / gpus)} a GPU)`;
  return `${formatRate(tokensPerSecond)} tokens/s${each}, MFU ${formatPercent(mfu)}`;
}

/** The runtime that a schedule needs, where the planned one does not run it. */
export function neededRow(needed: Value | null): string[][] {
  return needed === null ? [] : [['needs', say(needed)]];
}

import { formatCount, formatPercent } from '../core/format';

/** `60.4K tokens/s (944 a GPU), MFU 41.3 %`. */
export function throughputText({ tokensPerSecond, mfu }: { readonly tokensPerSecond: number; readonly mfu: number }, gpus: number): string {
  const each = gpus === 1 ? '' : ` (${formatCount(Number((tokensPerSecond / gpus).toPrecision(3)))} a GPU)`;
  return `${formatCount(tokensPerSecond)} tokens/s${each}, MFU ${formatPercent(mfu)}`;
}

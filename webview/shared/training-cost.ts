import { formatCount, formatNumber } from '../../src/core/format';
import type { TrainingCost } from '../../src/protocol/page';

/** What the files give of a whole run; null or absent where they do not. */
interface GivenRun {
  readonly tokens?: number | null | undefined;
  readonly gpuHourPrice?: number | null | undefined;
}

/** The tokens and the price that costs are shown for: those of the files, else those of VS Code's settings. */
export function pricedRun({ tokens, gpuHourPrice }: GivenRun, settings: TrainingCost | undefined): TrainingCost {
  return {
    tokens: tokens ?? settings?.tokens ?? null,
    gpuHourPrice: gpuHourPrice ?? settings?.gpuHourPrice ?? null,
    currency: settings?.currency ?? '',
  };
}

/** GPU hours, or an amount of money: three digits, whole from a thousand on. */
export function amountText(value: number): string {
  return value < 1000 ? formatNumber(value) : formatCount(Math.round(value));
}

import { gpusUsed, type PlanRequest } from '../domain/request';
import { formatCount, formatNumber, plural } from '../format';
import { sentence, type Sentence } from '../sentence';

/** What a whole run takes. */
interface TrainingCost {
  readonly tokens: number;
  readonly days: number;
  readonly gpuHours: number;
  /** `gpuHours` times the price of a GPU's hour, in its currency; null: no price is given. */
  readonly cost: number | null;
}

const secondsPerHour = 3600;

/** What tokens take at a rate. @param price of a GPU's hour, null: none is given. @param tokensPerSecond of all GPUs. */
export function costOfTokens(tokens: number, price: number | null, gpus: number, tokensPerSecond: number): TrainingCost {
  const hours = tokens / tokensPerSecond / secondsPerHour;
  const gpuHours = hours * gpus;
  return { tokens, days: hours / 24, gpuHours, cost: price === null ? null : gpuHours * price };
}

/** What a run of `training.tokens` takes at a rate; null where no file or flag gives its tokens. @param tokensPerSecond of all GPUs. */
export function trainingCost(
  { training: { tokens }, layout, cluster }: Pick<PlanRequest, 'training' | 'layout' | 'cluster'>,
  tokensPerSecond: number,
): TrainingCost | null {
  return tokens === undefined ? null : costOfTokens(tokens, cluster.pricePerGpuHour ?? null, gpusUsed(layout), tokensPerSecond);
}

/** `1T tokens in 192 days, 295K GPU hours, cost 737K`. */
export function trainingCostText({ tokens, days, gpuHours, cost }: TrainingCost): Sentence {
  const time = days < 2 ? plural(Number(formatNumber(24 * days)), 'hour') : `${formatCount(Number(days.toPrecision(3)))} days`;
  const run = sentence`${formatCount(tokens)} tokens in ${time}, ${formatCount(Math.round(gpuHours))} GPU hours`;
  return cost === null ? run : sentence`${run}, cost ${formatCount(Math.round(cost))}`;
}

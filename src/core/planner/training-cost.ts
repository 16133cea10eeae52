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

/** What a run of `training.tokens` takes at a rate; null where no file or flag gives its tokens. @param tokensPerSecond of all GPUs. */
export function trainingCost(
  { training, layout, cluster }: Pick<PlanRequest, 'training' | 'layout' | 'cluster'>,
  tokensPerSecond: number,
): TrainingCost | null {
  const { tokens } = training;
  if (tokens === undefined) return null;
  const hours = tokens / tokensPerSecond / secondsPerHour;
  const gpuHours = hours * gpusUsed(layout);
  const { pricePerGpuHour: price } = cluster;
  return { tokens, days: hours / 24, gpuHours, cost: price === undefined ? null : gpuHours * price };
}

/** `1T tokens in 192 days, 295K GPU hours, cost 737K`. */
export function trainingCostText({ tokens, days, gpuHours, cost }: TrainingCost): Sentence {
  const time = days < 2 ? plural(Number(formatNumber(24 * days)), 'hour') : `${formatCount(Number(days.toPrecision(3)))} days`;
  const run = sentence`${formatCount(tokens)} tokens in ${time}, ${formatCount(Math.round(gpuHours))} GPU hours`;
  return cost === null ? run : sentence`${run}, cost ${formatCount(Math.round(cost))}`;
}

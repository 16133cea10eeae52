import { formatBytes, formatCount, formatNumber, formatPercent } from '../../../core/format';
import type { Report } from '../../../core/report';
import { sentence, type Sentence, type Value } from '../../../core/sentence';
import type { Ranged, WholeRun } from './whole-run';

/** What a whole run takes, each figure with its range. @param fits whether all its steps fit the memory of their GPUs. */
export function daysReport(title: string, found: WholeRun, fits: boolean): Report {
  const { tokens, gpus, checkpointBytes, megawattHours, cost, goodput } = found;
  const rows: Value[][] = [
    ['days', rangeText(found.days)],
    ['of it steps', rangeText(found.trainingDays)],
    ['goodput', sentence`${formatPercent(goodput.usual)} (${formatPercent(goodput.high)} to ${formatPercent(goodput.low)})`],
    ['failures', sentence`${rangeText(found.failures)}, one in ${rangeText(found.hoursBetweenFailures)} h`],
    ['checkpoint', sentence`${formatBytes(checkpointBytes)}, saved in ${rangeText(found.saveSeconds)} s`],
    ['saved every', sentence`${formatNumber(found.intervalMinutes.usual)} min of training`],
    ['GPU hours', rangeText(found.gpuHours)],
    ...(megawattHours === null ? [] : [['energy', sentence`${rangeText(megawattHours)} MWh`]]),
    ...(cost === null ? [] : [['cost', rangeText(cost)]]),
  ];
  return {
    headline: sentence`${title}: ${formatCount(tokens)} tokens on ${formatCount(gpus)} GPUs`,
    blocks: [{ rows, left: [1] }],
    notes: fits ? [] : [sentence`A step does not fit the memory of its GPUs: its plan shows why.`],
  };
}

function rangeText({ low, usual, high }: Ranged): Sentence | string {
  const short = (value: number): string => (value >= 1000 ? formatCount(Number(value.toPrecision(3))) : formatNumber(value));
  const [least, most] = low <= high ? [low, high] : [high, low];
  return least === most ? short(usual) : sentence`${short(usual)} (${short(least)} to ${short(most)})`;
}

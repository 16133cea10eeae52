import { ExpectedError, throwIfCancelled, type CancelSignal } from '../errors';
import { scheduleOn } from '../schedules/on-layout';
import { formatDuration, formatNumber } from '../format';
import { maximum, sum } from '../numbers';
import { costProvenance } from '../time-model/provenance';
import { buildPipeline } from '../planner/predict/pipeline';
import { measure } from '../planner/predict/predict';
import { sentence } from '../sentence';
import type { Calibration, PlanRequest } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import { commonSpread, machineConstants, type Machine } from '../time-model/machine-constants';

/** A measured step of another run on the machine of a request. */
export interface MeasuredStep {
  readonly iterationMs: number;
  readonly request: PlanRequest;
}

/** What is known of a machine: the logarithm of how much faster each constant is than assumed, and their covariance. */
interface Belief {
  readonly mean: readonly number[];
  readonly covariance: readonly (readonly number[])[];
}

/** Standard deviation of what one run takes over its prediction, the machine's own part set aside: docs/model/time.md, Calibration. */
const runSpread = 0.055;
/** Least standard deviation of a machine among those of its kind. */
const leastMachineSpread = 0.02;
/** Standard deviations to either side that hold 80 % of a normal distribution. */
const eightyPercent = 1.2816;
/** Change of a constant by which a step's sensitivity to it is found. */
const step = 0.05;
/** Constants that meet a step are looked for up to a fiftieth and fifty times what was assumed, wider by doublings, closer by halvings. */
const most = Math.log(50);
const widenings = 6;
const halvings = 20;

/**
 * The request with the constants of its machine corrected by measured steps. Steps of other runs on the machine count as far as runs of one
 * kind differ from each other; the run's own step is met. What they correct is what they depend on: GEMMs, attention, memory, links. See
 * docs/model/time.md, Calibration.
 *
 * @param iterationMs of one measured step of this very run, as its files describe it (its layout, its schedule or 1F1B, its micro-batches
 * or slices); null: none.
 * @throws ExpectedError `calibration-unreachable` when no constants give that time, `calibration-batch` when the batch is not a whole
 * number of micro-batches; CancelledError.
 */
export function calibrated(
  request: PlanRequest,
  iterationMs: number | null,
  steps: readonly MeasuredStep[] = [],
  signal?: CancelSignal,
): PlanRequest {
  const assumed: Machine = { cluster: request.cluster, constants: request.constants };
  const before = steps.map((measured) => asLaunchedMs(measured.request, assumed, signal));
  const prior = priorBelief(request);
  const belief = steps.reduce((known, measured) => updated(known, measured, assumed, signal), prior);
  const mean = iterationMs === null ? belief.mean : meeting(belief, request, assumed, iterationMs, signal);
  const machine = fasterBy(assumed, mean);
  const own = iterationMs === null ? null : { iterationMs, predictedMs: asLaunchedMs(request, assumed, signal) };
  const calibration: Calibration = {
    iterationMs: own?.iterationMs ?? null,
    predictedMs: own?.predictedMs ?? null,
    before: assumed.cluster.gpu.gemmEfficiency,
    gemmEfficiency: machine.cluster.gpu.gemmEfficiency,
    constants: machineConstants.map(({ key, valueOf }, at) => ({
      key,
      before: valueOf(assumed),
      after: valueOf(machine),
      spread: Math.sqrt(belief.covariance[at]?.[at] ?? 0),
    })),
    steps: steps.map((measured, at) => ({
      iterationMs: measured.iterationMs,
      predictedMs: before[at] ?? NaN,
      calibratedMs: asLaunchedMs(measured.request, machine, signal),
    })),
    errorPercent: errorPercent(belief, request, machine, own !== null, signal),
  };
  return { ...request, ...withKnownEfficiency(machine), calibration };
}

function withKnownEfficiency({ cluster, constants }: Machine): Machine {
  return { cluster: { ...cluster, gpu: { ...cluster.gpu, gemmEfficiencyKnown: true } }, constants };
}

/** The assumed constants, with the uncertainty that the range of the request's predictions implies for such machines. */
function priorBelief(request: PlanRequest): Belief {
  const [low, high] = costProvenance(request, buildPipeline(request)).range;
  const whole = Math.log(high / low) / (2 * eightyPercent);
  const spread = Math.max(leastMachineSpread, Math.sqrt(Math.max(0, whole ** 2 - runSpread ** 2)));
  const covariance = machineConstants.map((one, i) =>
    machineConstants.map((_, j) => spread ** 2 * (commonSpread ** 2 + (i === j ? one.spread ** 2 : 0))),
  );
  return { mean: machineConstants.map(() => 0), covariance };
}

/** What is known after one more step: the update of a Kalman filter, linearised at the mean of the belief. */
function updated(belief: Belief, { iterationMs, request }: MeasuredStep, assumed: Machine, signal: CancelSignal | undefined): Belief {
  const machine = fasterBy(assumed, belief.mean);
  const { slope, ms } = stepSlope(request, machine, signal);
  const along = times(belief.covariance, slope);
  const variance = dot(slope, along) + runSpread ** 2;
  const gain = Math.log(iterationMs / ms) / variance;
  return {
    mean: belief.mean.map((one, at) => one + gain * (along[at] ?? 0)),
    covariance: belief.covariance.map((row, i) => row.map((one, j) => one - ((along[i] ?? 0) * (along[j] ?? 0)) / variance)),
  };
}

/** The likeliest constants with which the request's own step takes as long as measured. */
function meeting(
  belief: Belief,
  request: PlanRequest,
  assumed: Machine,
  iterationMs: number,
  signal: CancelSignal | undefined,
): readonly number[] {
  const { slope } = stepSlope(request, fasterBy(assumed, belief.mean), signal);
  const along = times(belief.covariance, slope).map((one) => -one);
  const furthest = most / maximum(along.map(Math.abs));
  const meanAt = (far: number): readonly number[] => belief.mean.map((one, at) => one + far * (along[at] ?? 0));
  const msAt = (far: number): number => asLaunchedMs(request, fasterBy(assumed, meanAt(far)), signal);
  const side = msAt(0) > iterationMs ? 1 : -1;
  let [near, far] = [0, furthest / 2 ** widenings];
  while ((msAt(side * far) - iterationMs) * side > 0) {
    if (far >= furthest) throw unreachable(request, iterationMs, msAt(side * far));
    [near, far] = [far, 2 * far];
  }
  for (let halving = 0; halving < halvings; halving++) {
    const middle = (near + far) / 2;
    if ((msAt(side * middle) - iterationMs) * side > 0) near = middle;
    else far = middle;
  }
  return meanAt((side * (near + far)) / 2);
}

/** By how much the logarithm of a step changes with that of each constant, and the step. */
function stepSlope(
  request: PlanRequest,
  machine: Machine,
  signal: CancelSignal | undefined,
): { readonly slope: readonly number[]; readonly ms: number } {
  const ms = asLaunchedMs(request, machine, signal);
  const slope = machineConstants.map(({ faster }) => {
    const slower = faster(machine, 1 / (1 + step));
    return slower === machine ? 0 : -Math.log(asLaunchedMs(request, slower, signal) / ms) / Math.log(1 + step);
  });
  return { slope, ms };
}

/** Half width that holds 80 % of other runs on the machine, percent. */
function errorPercent(belief: Belief, request: PlanRequest, machine: Machine, isMet: boolean, signal: CancelSignal | undefined): number {
  const { slope } = stepSlope(request, machine, signal);
  const ofMachine = isMet ? runSpread ** 2 : dot(slope, times(belief.covariance, slope));
  return Math.round(100 * eightyPercent * Math.sqrt(runSpread ** 2 + ofMachine));
}

function fasterBy(machine: Machine, logarithms: readonly number[]): Machine {
  return machineConstants.reduce((made, { faster }, at) => faster(made, Math.exp(logarithms[at] ?? 0)), machine);
}

function times(matrix: readonly (readonly number[])[], vector: readonly number[]): number[] {
  return matrix.map((row) => dot(row, vector));
}

function dot(left: readonly number[], right: readonly number[]): number {
  return sum(left.map((one, at) => one * (right[at] ?? 0)));
}

function asLaunchedMs(request: PlanRequest, { constants, cluster }: Machine, signal: CancelSignal | undefined): number {
  throwIfCancelled(signal);
  const { gpu, links } = cluster;
  const here: PlanRequest = { ...request, constants, cluster: { ...request.cluster, gpu, links } };
  const { schedule, slicing } = here;
  const name: ScheduleName = schedule ?? (slicing.scheme === null ? '1F1B' : 'TeraPipe');
  const scheme = slicing.scheme ?? microBatches(here);
  const spec = { id: 'given', name: 'as launched', kind: scheduleOn(name, here.layout), scheme, certificate: null } as const;
  return measure(buildPipeline(here), spec, signal).iterationMs;
}

function microBatches({ training, layout }: PlanRequest): Scheme {
  const count = training.globalBatch / layout.data / training.microBatch;
  if (!Number.isInteger(count) || count < 1)
    throw new ExpectedError(
      'calibration-batch',
      sentence`The measured step has no whole number of micro-batches on each replica`,
      sentence`set training.globalBatch, training.microBatch and layout.data as they were when it was measured`,
    );
  return Array.from({ length: count }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
}

function unreachable({ cluster }: PlanRequest, iterationMs: number, nearest: number): ExpectedError {
  const measured = formatDuration(iterationMs);
  return iterationMs < nearest
    ? new ExpectedError(
        'calibration-unreachable',
        sentence`A step of ${measured} is faster than ${cluster.gpu.name} at its peak rates allows (${formatDuration(nearest)})`,
        sentence`check recompute, batch, layout, precision and cost.issueFloorUs: they must match the measured run`,
      )
    : new ExpectedError(
        'calibration-unreachable',
        sentence`A step of ${measured} would mean under ${formatNumber(100 * Math.exp(-most))} % of the speed that is expected of ${cluster.gpu.name} (${formatDuration(nearest)})`,
        sentence`check that the file has the layout and links of the measured run, and that the time is in ms`,
      );
}

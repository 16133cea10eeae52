import { memoized } from '../../src/core/records';
import { calibrated } from '../../src/core/plan-request/calibrate';
import type { PlanRequest } from '../../src/core/domain/request';
import { once } from './data';
import { errors } from './rows';
import { predictAsFixed, wildRows, type WildRow } from './wild';

/** What one measured step of a source leaves of the errors of its other runs. */
export interface Calibration {
  readonly family: string;
  /** The run that was measured. */
  readonly id: string;
  /** Mean absolute error of the other runs, as fractions. */
  readonly before: number;
  readonly after: number;
  /** Share of them inside the range that is then stated. */
  readonly inside: number;
}

const families = ['MPT H100', 'MPT A100', 'TorchTitan', 'NeMo', 'BLOOM', 'V100', 'zero bubble'];
/** Runs that stand for the measured one, by their place among those of their source: chosen before anything was looked at. */
const measuredAt = [0, 7, 13];

/** Each source calibrated to one of its runs, as `calibration.steps` of a terapipe.json does, with the other runs predicted again. */
export const calibrations = once(async (): Promise<readonly Calibration[]> => {
  const all = await wildRows(({ seconds }) => seconds !== null);
  return families.flatMap((family) => {
    const rows = all.filter((row) => row.case.family === family);
    return [...new Set(measuredAt.map((at) => at % rows.length))].flatMap((at) => calibration(family, rows, at));
  });
});

function calibration(family: string, rows: readonly WildRow[], at: number): Calibration[] {
  const measured = rows[at];
  if (measured === undefined) return [];
  const { name } = measured.request.cluster.gpu;
  const others = rows.filter((row) => row !== measured && row.request.cluster.gpu.name === name);
  const calibrate = calibratedBy(measured);
  const after = others.map((row) => {
    const { request, errorPercent } = calibrate(row.request);
    return { ...timesOf(row, predictAsFixed(request).iterationMs), errorPercent };
  });
  return [
    {
      family,
      id: measured.case.id,
      before: errors(others.map((row) => timesOf(row, row.predicted.iterationMs))).mean,
      after: errors(after).mean,
      inside: after.filter((one) => Math.abs(one.measured / one.predicted - 1) <= one.errorPercent / 100).length / after.length,
    },
  ];
}

/** Corrects requests by one measured step of another run; those on one machine share the correction. */
function calibratedBy({ request: of, case: { seconds } }: WildRow) {
  const known = new Map<string, PlanRequest>();
  return (request: PlanRequest): { readonly request: PlanRequest; readonly errorPercent: number } => {
    const { gpu, links } = request.cluster;
    const key = JSON.stringify([gpu, links, request.constants]);
    const made = memoized(known, key, () => calibrated(request, null, [{ iterationMs: 1e3 * (seconds ?? NaN), request: of }]));
    const { cluster, constants } = made;
    const here = { ...request, constants, cluster: { ...request.cluster, gpu: cluster.gpu, links: cluster.links } };
    return { request: here, errorPercent: made.calibration?.errorPercent ?? NaN };
  };
}

function timesOf({ case: { seconds } }: WildRow, predicted: number): { readonly measured: number; readonly predicted: number } {
  return { measured: 1e3 * (seconds ?? NaN), predicted };
}

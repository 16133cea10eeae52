import { ExpectedError } from '../../src/core/errors';
import { calibrated } from '../../src/core/resolve/calibrate';
import type { PlanRequest } from '../../src/core/spec/request';
import { once } from './data';
import { errors } from './rows';
import { predictAsFixed, wildRows, type WildRow } from './wild';

/** What one measured step of a source leaves of the errors of its other runs. */
export interface Calibration {
  readonly family: string;
  /** The run that was measured. */
  readonly id: string;
  /** Mean absolute error of the other runs as fractions; `after` is null when no GEMM efficiency gives the measured step. */
  readonly before: number;
  readonly after: number | null;
}

const families = ['MPT H100', 'MPT A100', 'TorchTitan', 'NeMo', 'BLOOM', 'zero bubble'];
/** Runs that stand for the measured one, by their place among those of their source: chosen before anything was looked at. */
const measuredAt = [0, 7, 13];

/** Each source calibrated to one of its runs, as `calibration` of a terapipe.json does, with the other runs predicted again. */
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
  const others = rows.filter((row) => row !== measured);
  const gemmEfficiency = efficiencyFrom(measured);
  return [
    {
      family,
      id: measured.case.id,
      before: meanError(others, ({ predicted }) => predicted.iterationMs),
      after: gemmEfficiency === null ? null : meanError(others, ({ request }) => predictedMs(request, gemmEfficiency)),
    },
  ];
}

function efficiencyFrom({ request, case: { seconds } }: WildRow): number | null {
  try {
    return calibrated(request, 1e3 * (seconds ?? NaN)).cluster.gpu.gemmEfficiency;
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'calibration-unreachable') return null;
    throw error;
  }
}

function predictedMs(request: PlanRequest, gemmEfficiency: number): number {
  const { cluster } = request;
  return predictAsFixed({ ...request, cluster: { ...cluster, gpu: { ...cluster.gpu, gemmEfficiency } } }).iterationMs;
}

function meanError(rows: readonly WildRow[], predicted: (row: WildRow) => number): number {
  return errors(rows.map((row) => ({ measured: 1e3 * (row.case.seconds ?? NaN), predicted: predicted(row) }))).mean;
}

import { once } from '../data';
import { groupBy, measuredRuns, predictedMs, type MeasuredRun } from '../measured-runs';
import { predictAsFixed } from '../wild';
import { atRate, usedConstants, currentLogs, priors, type Rate } from './constants';
import { residual, solve, type Observation, type Solution } from './solve';

/** A measured run, and what it took over what is predicted of it by constants that were fitted without its project. */
export interface LeftOutRun extends MeasuredRun {
  readonly leftOutRatio: number;
}

/** The constants fitted to all runs, and every run predicted without its project. */
export interface Fit {
  readonly runs: readonly LeftOutRun[];
  readonly solution: Solution;
  /** Runs, and their projects, that move with a constant. */
  readonly support: ReadonlyMap<string, { readonly rows: number; readonly projects: readonly string[] }>;
}

const step = 1.05;
/** How far a family of runs lies from the model: experts wait for hosts and for each other in ways that no rate explains. */
const spreads = { dense: 0.03, experts: 0.2 } as const;
/** Slopes below this do not count as support. */
const leastSlope = 0.05;

/** Fits all constants, and once more without each project. Takes minutes: every run is predicted up to four times. */
export const fit = once(async (): Promise<Fit> => {
  const runs = await measuredRuns();
  const observed = runs.map((run) => ({ run, observation: observe(run) }));
  const wanted = observed.filter(({ run }) => isModelled(run)).map(({ observation }) => observation);
  const without = new Map(
    [...groupBy(runs, ({ project }) => project).keys()].map((project) => [
      project,
      solve(
        wanted.filter((one) => one.project !== project),
        priors,
        currentLogs,
      ).logs,
    ]),
  );
  return {
    runs: observed.map(({ run, observation }) => ({
      ...run,
      leftOutRatio: Math.exp(residual(observation, currentLogs, without.get(run.project) ?? currentLogs)),
    })),
    solution: solve(wanted, priors, currentLogs),
    support: new Map(Object.keys(currentLogs).map((key) => [key, findSupport(key, wanted)])),
  };
});

/** Models with windows, sinks or states have kernels that nobody measured: constants are not to make up for those. */
function isModelled({ request: { model } }: MeasuredRun): boolean {
  return model.state === undefined && !(model.layerKinds ?? []).some(({ window }) => window !== null);
}

function observe(run: MeasuredRun): Observation {
  const { request, project, source, group, ratio } = run;
  const constants = usedConstants(request);
  const before = predictedMs(run);
  const slopes = new Map<Rate, number>();
  for (const rate of new Set(constants.map(([, of]) => of)))
    slopes.set(rate, Math.log(predictAsFixed(atRate(request, rate, step)).iterationMs / before) / Math.log(step));
  return {
    project,
    family: `${source} ${request.cluster.gpu.name} ${group}`,
    spread: request.model.experts === null ? spreads.dense : spreads.experts,
    log: Math.log(ratio),
    slopes: Object.fromEntries(constants.map(([key, rate]) => [key, slopes.get(rate) ?? 0])),
  };
}

function findSupport(key: string, observations: readonly Observation[]): { readonly rows: number; readonly projects: readonly string[] } {
  const moved = observations.filter(({ slopes }) => Math.abs(slopes[key] ?? 0) >= leastSlope);
  return { rows: moved.length, projects: [...new Set(moved.map(({ project }) => project))] };
}

/** The module that holds the constants. */
export function ratesModule({ solution, support }: Fit): string {
  const table: Record<string, Record<string, object>> = {};
  for (const [key, log] of Object.entries(solution.logs)) {
    const [gpu = '', name = ''] = key.split('.');
    const { rows = 0, projects = [] } = support.get(key) ?? {};
    const value = Number(Math.exp(log).toPrecision(3));
    (table[gpu] ??= {})[name] = { value, percent: Math.round(100 * (solution.spreads[key] ?? NaN)), rows, sources: projects };
  }
  return `/**
 * Written by \`npm run fit -- --write\` (docs/model/time.md, Fit): fractions of the peak and factors of them, give or take \`percent\` (one
 * standard deviation), by \`rows\` measured runs of \`sources\`.
 */
export const fittedRates = ${JSON.stringify(table, null, 2)} as const;
`;
}

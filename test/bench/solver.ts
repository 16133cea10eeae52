// Prints what solving costs: `npm run bench`. The published algorithm and ours on the same slice times in one process, the fastest of
// several runs each, and both optima.
import process from 'node:process';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { slicingCost } from '../../src/core/planner/candidates/terapipe-cost';
import type { SliceMs, SlicingProblem } from '../../src/core/slicing/problem';
import { solveSlicing, type SlicingSolution } from '../../src/core/slicing/solve';
import { readTeraPipeSamples, terapipeRequest, terapipeSettings } from '../golden/terapipe';
import { epsilonScan, gridOf, type ScanOptions } from './published';

const scanRuns = 5;
const ourRuns = 60;

interface Timed<T> {
  readonly value: T;
  readonly ms: number;
}

/** The result, and the shortest time of some runs, ms. */
function fastest<T>(runs: number, run: () => T): Timed<T> {
  let ms = Infinity;
  let value = run();
  for (let index = 0; index < runs; index++) {
    const began = performance.now();
    value = run();
    ms = Math.min(ms, performance.now() - began);
  }
  return { value, ms };
}

interface Coefficients {
  readonly fixed: number;
  readonly perToken: number;
  readonly tile: number;
  readonly perTokenSquared: number;
  readonly perContext: number;
  readonly perTokenContext: number;
}

/** The formula that `terapipe solve` takes. */
function formula({ fixed, perToken, tile, perTokenSquared, perContext, perTokenContext }: Coefficients): SliceMs {
  return (batch, tokens, context) =>
    fixed +
    perToken * tile * Math.ceil((batch * tokens) / tile) +
    perTokenSquared * batch * tokens * tokens +
    perContext * batch * context +
    perTokenContext * batch * tokens * context;
}

/**
 * TeraPipe's eq. 9 for its setting (1): slices without context as the analytic model times them on V100, and a bilinear term of the context
 * through its corners.
 */
function settingOne(): SliceMs {
  const setting = terapipeSettings.find((row) => row.setting === 1);
  if (setting === undefined) throw new Error('no setting 1');
  const analytic = slicingCost(buildPipeline(terapipeRequest(setting)));
  const added = (tokens: number, context: number): number => (analytic(1, tokens, context) - analytic(1, tokens, 0)) / context;
  const perTokenContext = (added(1024, 1024) - added(256, 1024)) / (1024 - 256);
  const perContext = Math.max(0, added(256, 1024) - 256 * perTokenContext);
  const withoutContext = new Map<number, number>();
  return (batch, tokens, context) => {
    const key = batch * 4096 + tokens;
    let ms = withoutContext.get(key);
    if (ms === undefined) withoutContext.set(key, (ms = analytic(batch, tokens, 0)));
    return ms + batch * context * (perContext + perTokenContext * tokens);
  };
}

function line(name: string, ms: number, latencyMs: number, effort: string, ratio: string): string {
  return `  ${name.padEnd(46)} ${ms.toFixed(2).padStart(9)} ms  ${latencyMs.toFixed(4).padStart(12)} ms  ${effort.padEnd(18)} ${ratio}`;
}

function proof({ exact, lowerBoundMs, latencyMs }: SlicingSolution): string {
  return exact ? 'proved' : `gap ${(1 - lowerBoundMs / latencyMs).toExponential(1)}`;
}

const variants: readonly (readonly [name: string, options: Omit<ScanOptions, 'stages'>])[] = [
  ['paper: t_max, epsilon 0.1 ms', { epsilonMs: 0.1, objective: 'threshold' }],
  ['released code: slowest slice, epsilon 10 us', { epsilonMs: 0.01, objective: 'slowest' }],
];

function compare(name: string, problem: SlicingProblem): void {
  console.log(`${name}: batch ${problem.batch}, ${problem.tokens} tokens, unit ${problem.unit}, ${problem.stages} stages`);
  const grid = gridOf(problem, problem.cost);
  const scans = variants.map(([variant, options]) => ({
    variant,
    scan: fastest(options.epsilonMs < 0.1 ? 1 : scanRuns, () => epsilonScan(grid, { stages: problem.stages, ...options })),
  }));
  for (const { variant, scan } of scans)
    console.log(line(variant, scan.ms, scan.value.latencyMs, `${scan.value.thresholds} thresholds`, ''));
  const ratios = (ms: number): string => scans.map(({ scan }) => `${(scan.ms / ms).toFixed(0)}x`).join(' and ');
  const ours = fastest(ourRuns, () => solveSlicing({ ...problem, contextKinks: [] }));
  console.log(line('ours, cost affine in the context', ours.ms, ours.value.latencyMs, `${ours.value.evaluations} thresholds`, `${ratios(ours.ms)}, ${proof(ours.value)}`)); // prettier-ignore
  const { unit } = problem;
  const looked: SliceMs = (batch, tokens, context) => {
    const start = context / unit;
    const end = start + tokens / unit;
    return grid.times[batch - 1]?.[(end * (end - 1)) / 2 + start] ?? Infinity;
  };
  const opaque = fastest(ourRuns / 3, () => solveSlicing({ ...problem, cost: looked }));
  console.log(line('ours, from the same grid, nothing known of it', opaque.ms, opaque.value.latencyMs, `${opaque.value.evaluations} thresholds`, `${ratios(opaque.ms)}, ${proof(opaque.value)}`)); // prettier-ignore
}

function long(name: string, problem: SlicingProblem, runs: number): void {
  const before = process.memoryUsage.rss();
  const { value, ms } = fastest(runs, () => solveSlicing(problem));
  const after = process.resourceUsage().maxRSS * 1024;
  const looks = { lastMs: performance.now(), longestMs: 0 };
  const signal = {
    get aborted() {
      const now = performance.now();
      looks.longestMs = Math.max(looks.longestMs, now - looks.lastMs);
      looks.lastMs = now;
      return false;
    },
  };
  solveSlicing(problem, { signal });
  const memory = `cancels in ${looks.longestMs.toFixed(1)} ms, resident ${(before / 1e6).toFixed(0)} MB before, ${(after / 1e6).toFixed(0)} MB at most`;
  console.log(line(name, ms, value.latencyMs, `${value.evaluations} thresholds`, `${proof(value)}, ${memory}`));
}

const knee: Coefficients = { fixed: 0.95, perToken: 0.01, tile: 1, perTokenSquared: 0, perContext: 0, perTokenContext: 9e-7 };
const flash: Coefficients = { fixed: 4, perToken: 0.015, tile: 1, perTokenSquared: 1.1e-6, perContext: 0, perTokenContext: 2.2e-6 };
const tiled: Coefficients = { fixed: 0, perToken: 0.01, tile: 128, perTokenSquared: 2e-6, perContext: 5e-4, perTokenContext: 4e-6 };

/** Nothing is compiled yet: what a person waits for the first time, slice times by the analytic model included. */
function firstCall(problem: SlicingProblem): void {
  const began = performance.now();
  const { latencyMs, evaluations } = solveSlicing(problem);
  console.log(
    line('first call in this process, TeraPipe setting (1)', performance.now() - began, latencyMs, `${evaluations} thresholds`, ''),
  );
}

function main(): void {
  firstCall({ batch: 16, tokens: 2048, unit: 8, stages: 24, cost: settingOne(), contextKinks: [], grows: true });
  console.log('Long sequences, batch 1, unit 64');
  const million = { batch: 1, tokens: 2 ** 20, unit: 64, stages: 64, contextKinks: [] };
  const prefill = { ...knee, perTokenSquared: 1e-7, perTokenContext: 2e-7 };
  long('1 M tokens, 64 stages', { ...million, cost: formula(prefill) }, 3);
  long(
    '1 M tokens, 64 stages, tiles of 128',
    { ...million, cost: formula({ ...prefill, tile: 128, perTokenSquared: 0, perContext: 1e-5 }) },
    3,
  );
  for (const unit of [32, 16]) long(`1 M tokens in ${2 ** 20 / unit} units, 64 stages`, { ...million, unit, cost: formula(prefill) }, 1);
  const unknown = { batch: 1, tokens: 2 ** 15, unit: 64, stages: 16 };
  const slider = { ...unknown, contextKinks: [] };
  long('32 k tokens, 16 stages', { ...slider, cost: formula({ ...knee, perTokenSquared: 5e-7, perTokenContext: 1e-6 }) }, ourRuns);
  long('32 k tokens, 16 stages, tiles of 128', { ...slider, cost: formula({ ...tiled, fixed: 0.3, perContext: 1e-4 }) }, ourRuns);
  long('32 k tokens, 16 stages, nothing known of cost', { ...unknown, cost: formula({ ...knee, perTokenSquared: 5e-7, perTokenContext: 1e-6 }) }, 20); // prettier-ignore
  const sizes = { batch: 16, tokens: 2048, unit: 8, stages: 24 };
  compare('TeraPipe setting (1), per replica', { ...sizes, cost: settingOne() });
  compare('start-up and little attention', { ...sizes, cost: formula(knee) });
  compare('start-up and fused attention (every batch size ties)', { ...sizes, cost: formula(flash) });
  compare('tiles of 128', { ...sizes, cost: formula(tiled) });
}

void readTeraPipeSamples().then(main);

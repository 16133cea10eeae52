// Prints how far the slices found for a schedule are from the bound on all others, and what that takes, on random real-sized problems:
// `node --import tsx test/bench/slices.ts [problems] [seconds of processor time] [first] [kinds, with commas]`. The search is cut off by
// processor time here; in a plan by steps.
import { fastestRule, randomProblems } from '../property/random-makespans';
import { scheduleKind } from '../../src/core/schedules/registry';
import { shortestMakespan } from '../../src/core/slicing/makespan/search';

const [problems = 50, seconds = 2, first = 0] = process.argv.slice(2, 5).map(Number);
const kinds = process.argv[5]?.split(',').map((name) => scheduleKind(name).name);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
const gaps: number[] = [];
let slower = 0;
for (const { name, problem } of randomProblems(first + problems, kinds).slice(first)) {
  const start = cpuMs();
  const solution = shortestMakespan(problem, { mostSteps: Infinity, isOver: () => cpuMs() - start > 1000 * seconds });
  const ms = cpuMs() - start;
  if (solution === null) {
    console.log(`${name}: nothing fits`);
    continue;
  }
  const rule = fastestRule(problem);
  const gap = 1 - solution.lowerBoundMs / solution.makespanMs;
  gaps.push(gap);
  if (solution.makespanMs > rule.makespanMs * (1 + 1e-9)) slower++;
  console.log(
    `${name}: ${solution.makespanMs.toFixed(1)} ms in ${solution.lengths.length} slices, gap ${percent(gap)}, ${percent(rule.makespanMs / solution.makespanMs - 1)} faster than ${rule.name}; ${ms.toFixed(0)} ms, ${(solution.steps / 1e6).toFixed(0)} million steps, ${solution.parts} parts`,
  );
}
console.log(`gap: median ${percent(middle(gaps))}, worst ${percent(Math.max(...gaps))}; slower than a rule: ${slower} of ${gaps.length}`);

// Prints what a search of the layout costs: `node --import tsx test/bench/search.ts`. Cold, in this process: the first search of each model
// is the one that counts.
import { searchLayouts } from '../../src/core/layout-search/assemble';
import { createEvaluator } from '../../src/core/layout-search/evaluate';
import { whatIfs } from '../../src/core/layout-search/improvements';
import type { SearchProgress } from '../../src/core/layout-search/search';
import type { SearchProblem } from '../../src/core/layout-search/search-problem';
import { layoutText } from '../../src/core/layout-search/labels';
import { median } from '../../src/core/numbers';
import { say } from '../../src/core/sentence';
import { deepseek, llama3, request } from '../golden/requests';

const training = {
  precision: 'bf16' as const,
  attention: 'flash' as const,
  dropout: false,
  sequenceParallel: true,
  fusedCrossEntropy: true,
  zeroStage: 1 as const,
};

const cases: readonly (readonly [name: string, goalMs: number | null, problem: SearchProblem['request']])[] = [
  [
    'Llama 3 405B on 16,384 H100, 16M tokens a step',
    2000,
    request('H100-80GB', llama3('405b', 126), {
      training: { ...training, sequenceLength: 8192, globalBatch: 2048 },
      layout: { tensor: 8, pipeline: 16, data: 128 },
    }),
  ],
  [
    'Llama 3 70B on 1,024 H100',
    null,
    request('H100-80GB', llama3('70b', 80), {
      training: { ...training, sequenceLength: 8192, globalBatch: 512 },
      layout: { tensor: 8, pipeline: 8, data: 16 },
    }),
  ],
  [
    'DeepSeek-V3 (61 layers) on 2,048 H100',
    null,
    request('H100-80GB', deepseek(3, 61), {
      training: { ...training, sequenceLength: 4096, globalBatch: 15360 },
      layout: { tensor: 1, pipeline: 16, data: 128 },
    }),
  ],
];

for (const [name, goalMs, wanted] of cases) {
  const problem = { request: wanted, fixed: new Set<never>() };
  const start = performance.now();
  const cpu = process.cpuUsage();
  const firsts: number[] = [];
  const phases = new Map<string, number>();
  let last = start;
  let longestMs = 0;
  const result = searchLayouts(problem, {
    onProgress: ({ best, phase }: SearchProgress) => {
      if (!phases.has(phase)) phases.set(phase, performance.now() - start);
      if (best !== null) firsts.push(performance.now() - start);
    },
    // between two looks at the signal
    signal: {
      get aborted() {
        longestMs = Math.max(longestMs, performance.now() - last);
        last = performance.now();
        return false;
      },
    },
  });
  const ms = performance.now() - start;
  const { user } = process.cpuUsage(cpu);
  const usualMs = phases.get('others') ?? ms;
  const plannedMs = ms - (phases.get('planned') ?? ms);
  const { best, counts } = result;
  console.log(`${name}: ${(best.iterationMs / 1000).toFixed(2)} s with ${say(layoutText(best.point))}, ${say(best.name)}`);
  console.log(
    `  1F1B, GPipe and TeraPipe in ${usualMs.toFixed(0)} ms${goalMs === null ? '' : `, goal ${goalMs} ms`}; all schedules in ${ms.toFixed(0)} ms, ${plannedMs.toFixed(0)} of them planning ${counts.planned} orders (${(user / 1000).toFixed(0)} ms of processor), first layout that fits after ${firsts[0]?.toFixed(0) ?? 'no'} ms, signal looked at within ${longestMs.toFixed(0)} ms`,
  );
  console.log(
    `  ${counts.families} layouts, ${counts.considered} cuts, ${counts.overMemory} over memory, ${counts.bounded} bounded away, ${counts.evaluated} predicted`,
  );
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    createEvaluator(wanted).evaluate(best.point);
    return process.cpuUsage(before).user / 1000;
  });
  console.log(`  as long as predicting the best layout ${Math.round(user / 1000 / median(times))} times, each by itself`);
  const more = performance.now();
  const looks = whatIfs(problem, result).map(({ searchAgain: look }) => look());
  console.log(`  ${looks.length} changes that might help: ${(performance.now() - more).toFixed(0)} ms`);
}

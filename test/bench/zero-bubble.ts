// Prints what planning zero-bubble orders costs: `npm run bench`. The first call of each problem in one process, by processor time, as a
// share of the same orders by ZB-H1 or ZB-H2, which need no search, and the span over the lower bound.
import process from 'node:process';
import { equalTimes, wholeProblem } from '../property/planned';
import { scheduleKind } from '../../src/core/schedules/registry';
import { searchOrder } from '../../src/core/schedules/zero-bubble/automatic-search';
import { makeTimes, timeOrder } from '../../src/core/schedules/zero-bubble/order-times';
import { toOrderArray, toPipeline, type Pipeline } from '../../src/core/schedules/zero-bubble/pipeline';
import { spanBoundMs } from '../../src/core/schedules/zero-bubble/span-bound';

const passTimes = [
  [10, 12, 7],
  [10, 16, 8],
  [10, 10, 10],
] as const;

function cpuMs<T>(run: () => T): { readonly value: T; readonly ms: number } {
  const before = process.cpuUsage();
  const value = run();
  const { user, system } = process.cpuUsage(before);
  return { value, ms: (user + system) / 1000 };
}

function handmadeMs(pipeline: Pipeline, name: string): number {
  const order = scheduleKind(name).order(pipeline.problem);
  return timeOrder(pipeline, toOrderArray(pipeline, order), makeTimes(pipeline));
}

for (const stages of [8, 16, 32])
  for (const microBatches of [16, 32, 64, 128])
    for (const limit of [1, 2])
      for (const [forward, input, weight] of passTimes) {
        const times = equalTimes(stages, forward, input, weight, 0);
        const pipeline = toPipeline(
          wholeProblem('ZeroBubble', microBatches, times, { forward: 1, backwardInput: -0.5, backwardWeight: -0.5, limit: limit * stages }),
          1,
        );
        const handmade = cpuMs(() => handmadeMs(pipeline, limit === 1 ? 'ZB-H1' : 'ZB-H2'));
        const planned = cpuMs(() => searchOrder(pipeline).spanMs);
        const over = 100 * (planned.value / spanBoundMs(pipeline) - 1);
        const name = `${stages} stages, ${microBatches} micro-batches, ${limit}p, ${forward}/${input}/${weight}`;
        const shorter = 100 * (1 - planned.value / handmade.value);
        console.log(
          `  ${name.padEnd(46)} ${planned.ms.toFixed(1).padStart(8)} ms, ${(planned.ms / handmade.ms).toFixed(0).padStart(5)}x the time of the order made by hand, span ${planned.value} ms, ${shorter.toFixed(2)} % shorter, ${over.toFixed(2)} % above the bound`,
        );
      }

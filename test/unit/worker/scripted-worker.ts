import assert from 'node:assert/strict';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { CancelledError, ExpectedError } from '../../../src/core/errors';
import type { ElasticAnswer } from '../../../src/features/elastic/core/answer';
import type { Plan } from '../../../src/core/planner/plan';
import type { PlanRequest } from '../../../src/core/domain/request';
import type { SearchResult } from '../../../src/core/layout-search/result';
import { relayPlanner } from '../../../src/worker/relay';
import { serveThread } from '../../../src/worker/thread';
import { sentence } from '../../../src/core/sentence';

/** A planner thread that does what the title of a request asks. */
if (parentPort === null) relayPlanner(__filename);
else
  serveThread(parentPort, workerData, {
    resolve: () => assert.fail('not scripted'),
    remedies: () => [],
    whatIf: () => assert.fail('not scripted'),
    prefill: () => assert.fail('not scripted'),
    largest: () => assert.fail('not scripted'),
    oom: () => assert.fail('not scripted'),
    elastic: ({ request }) =>
      ({ plan: { request }, spans: [], steps: [{ startMs: Float64Array.from([1, 2]) }] }) as unknown as ElasticAnswer,
    search: ({ problem: { request }, improvements }, { onUpdate }) => {
      const counts = { families: 2, opened: 1, considered: 1, bounded: 0, overMemory: 1, evaluated: 1, tooLarge: 0, planned: 0 };
      onUpdate({ kind: 'searching', best: null, lowerBoundMs: 2, phase: 'usual', counts });
      return { request, best: {}, paretoFront: [], improvements } as unknown as SearchResult;
    },
    compare: () => Promise.reject(new Error('not scripted')),
    rehearsal: () => {
      throw new Error('no rehearsal here');
    },
    schedule: () => ({ findings: [], drawn: null }),
    plan: ({ request }, { signal, onProgress, onIncumbent, onFirst }): Plan => {
      switch (request.title) {
        case 'stops when cancelled':
          onProgress(0.25);
          while (!signal.aborted);
          throw new CancelledError();
        case 'names its process and stops when cancelled':
          onIncumbent({ latencyMs: process.pid, lowerBoundMs: 0 });
          while (!signal.aborted);
          throw new CancelledError();
        case 'streams':
          onProgress(0.25);
          onIncumbent({ latencyMs: 3, lowerBoundMs: 2 });
          onProgress(0.5);
          return planOf(request);
        case 'improves all the time':
          for (let times = 0; times < 20_000; times += 1) onIncumbent({ latencyMs: 20_000 - times, lowerBoundMs: 2 });
          return planOf(request);
        case 'answers twice':
          onFirst(planOf(request));
          return { ...planOf(request), notCompared: ['1F1B'] };
        case 'deaf':
          onProgress(0.25);
          for (;;);
        case 'dies':
          return process.exit(7);
        case 'names its thread':
          return { ...planOf(request), request: { ...request, title: `${process.pid} ${threadId}` } };
        case 'refuses':
          throw new ExpectedError('plan-too-large', sentence`The step is too large`, sentence`Make it smaller`);
        case 'has a bug':
          throw new TypeError('x is not a function');
        case 'finishes when cancelled':
          onProgress(0.25);
          while (!signal.aborted);
          return planOf(request);
        default:
          onProgress(0.5);
          return planOf(request);
      }
    },
  });

function planOf(request: PlanRequest): Plan {
  const plan = { request, chosen: 'terapipe', candidates: [{ busyMs: Float64Array.from([1, 2, 3]) }] };
  return plan as unknown as Plan;
}

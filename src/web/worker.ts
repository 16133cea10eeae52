import { firstFigures } from './first-figures';
import type { FirstAnswer, FirstRequest } from './planner-worker';

/*
 * The start of a planner's worker: the first figures of a link need less than all that planners do, which is loaded when it is asked.
 */

let serving: Promise<(message: unknown) => void> | undefined;

self.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
  if (isFirstRequest(data)) void answerFirst(data);
  else {
    serving ??= loadPlanners();
    serving.then((receive) => receive(data)).catch(reportError);
  }
});

async function loadPlanners(): Promise<(message: unknown) => void> {
  const { serveWorker } = await import('./serve-worker');
  return serveWorker();
}

/** Errors are left to the page, which reads the files too. */
async function answerFirst({ first }: FirstRequest): Promise<void> {
  const figures = await firstFigures(first).catch(() => null);
  self.postMessage({ figures } satisfies FirstAnswer);
}

function isFirstRequest(data: unknown): data is FirstRequest {
  return typeof data === 'object' && data !== null && 'first' in data && !('type' in data);
}

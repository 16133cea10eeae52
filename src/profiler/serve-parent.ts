import { Worker } from 'node:worker_threads';
import { parseProfilerRequest } from '../protocol/profiler';
import { createProfilerServer, type ServerParts } from './serve';

/** Times cells for the parent, in order, and exits when the parent does. */
export function serveParent(parts: ServerParts): void {
  const serve = createProfilerServer(parts);
  answerParent((message) => serve(parseProfilerRequest(message)));
}

/**
 * Answers the parent's messages in order, and exits when the parent does.
 * @param answer may report progress to the parent before it answers.
 */
export function answerParent(answer: (message: unknown, notify: (notice: object) => void) => Promise<object>): void {
  let before = Promise.resolve();
  const notify = (reply: object): void => {
    process.send?.(reply);
  };
  process.on('message', (message: unknown) => {
    before = before.then(async () => {
      notify(await answer(message, notify));
    });
  });
  process.on('disconnect', () => process.exit());
  watchParent();
}

/** A run blocks the main thread, so the end of the parent is noticed on another one. */
function watchParent(): void {
  const parent = process.ppid;
  const watch = `
    setInterval(() => {
      try {
        if (process.ppid === ${parent}) process.kill(${parent}, 0);
        else throw new Error('orphaned');
      } catch (error) {
        if (error.code !== 'EPERM') process.kill(process.pid, 'SIGKILL');
      }
    }, 1000);
  `;
  new Worker(watch, { eval: true }).unref();
}

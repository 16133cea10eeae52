import { Worker } from 'node:worker_threads';
import { parseProfilerRequest } from '../protocol/profiler';
import { createProfilerServer, type ServerParts } from './serve';

/** Answers the parent's requests in order, and exits when the parent does. */
export function serveParent(parts: ServerParts): void {
  const serve = createProfilerServer(parts);
  let before = Promise.resolve();
  process.on('message', (message: unknown) => {
    const request = parseProfilerRequest(message);
    before = before.then(async () => {
      process.send?.(await serve(request));
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

import { serveWorker } from './serve-worker';

/* The planner of the extension in a browser, in a worker of its own. */

const receive = serveWorker();
self.addEventListener('message', ({ data }: MessageEvent<unknown>) => receive(data));

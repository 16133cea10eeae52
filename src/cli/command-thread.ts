import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { abandonWrites } from '../files/write-whole';
import { runCommand } from './run-command';
import { shellReaderIn } from './shell-reader';
import type { ThreadData, ThreadHears, ThreadMessage } from './thread-messages';

if (parentPort === null) throw new Error('a command runs on a thread of its own');
const port = parentPort;
const { args, debug } = workerData as ThreadData;
const say = (message: ThreadMessage): void => {
  port.postMessage(message);
};
const interrupted = new AbortController();
/** Texts that may be on their way to whoever reads them slowly. */
const mostUnderway = 4;
let underway = 0;
let wake: () => void = () => undefined;
port.on('message', (told: ThreadHears) => {
  if (told === 'out') {
    underway -= 1;
    if (underway < mostUnderway) wake();
    return;
  }
  say({ type: 'interrupted' });
  // What a command writes because it hears of the interrupt is written.
  abandonWrites();
  interrupted.abort();
});

say({ type: 'status', text: 'working' });
void runCommand(args, {
  out: (text) => {
    underway += 1;
    say({ type: 'out', text });
  },
  drained: () => (underway < mostUnderway ? Promise.resolve() : new Promise((resolve) => (wake = resolve))),
  err: (text) => say({ type: 'err', text }),
  clock: () => performance.now(),
  now: () => new Date().toISOString(),
  progress: (text) => say({ type: 'progress', text }),
  status: (text) => say({ type: 'status', text }),
  signal: interrupted.signal,
  profilerFile: path.join(__dirname, 'profiler.js'),
  shell: shellReaderIn(__dirname),
  debug,
}).then((exitCode) => {
  say({ type: 'ended', exitCode });
});

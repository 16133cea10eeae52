import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { abandonWrites } from '../files/write-whole';
import { shellReaderFrom } from '../core/launchers/shell/load-reader';
import { runCommand } from './run-command';

/** What the command's thread is started with. */
export interface ThreadData {
  readonly args: readonly string[];
  /** Print stacks of internal errors. */
  readonly debug: boolean;
}

/** Messages from the command's thread, in order: texts, that it heard of an interrupt and cleans up, and last how it ended. */
export type ThreadMessage =
  | { readonly type: 'out' | 'err' | 'progress' | 'status'; readonly text: string }
  | { readonly type: 'interrupted' }
  | { readonly type: 'ended'; readonly exitCode: number };

/** Messages to the command's thread: that the user interrupts, and that one text of its `out` was written. */
export type ThreadHears = 'interrupt' | 'out';

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
port.on('message', (message: ThreadHears) => {
  if (message === 'out') {
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
  torchFolder: path.join(__dirname, 'torch'),
  shell: shellReaderFrom((name) => readFile(path.join(__dirname, name))),
  debug,
}).then((exitCode) => {
  say({ type: 'ended', exitCode });
});

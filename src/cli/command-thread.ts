import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { MessagePort } from 'node:worker_threads';
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

/** Texts that may be on their way to whoever reads them slowly. */
const mostUnderway = 4;

/**
 * Runs a command, which prints and hears of interrupts through the port.
 * @param folder of the bundles. @returns the exit status. Never throws.
 */
export async function runOnPort(port: MessagePort, { args, debug }: ThreadData, folder: string): Promise<number> {
  const say = (message: ThreadMessage): void => {
    port.postMessage(message);
  };
  const interrupted = new AbortController();
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
  return runCommand(args, {
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
    profilerFile: path.join(folder, 'profiler.js'),
    torchFolder: path.join(folder, 'torch'),
    docsFolder: path.join(folder, '../docs'),
    shell: shellReaderFrom((name) => readFile(path.join(folder, name))),
    debug,
  });
}

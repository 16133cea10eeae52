import path from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { readFile, realpath } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { CancelledError, errorMessage } from '../../../core/errors';
import { shellReaderFrom } from '../../../core/launchers/shell/load-reader';
import { readReferenced, readRegularFile, referencedPath } from '../../../cli/read-file';
import { outside, usualDefaults } from '../core/load';
import { runTool } from '../core/run-tool';
import type { ToolAnswer, ToolHost } from '../core/tool';

/** What the thread of tools is asked, one at a time. */
export interface ToolJob {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

/** What it answers: any number of `progress`, then one of the others. */
export type ToolReply =
  | { readonly type: 'progress'; readonly id: number; readonly text: string }
  | { readonly type: 'answer'; readonly id: number; readonly answer: ToolAnswer }
  | { readonly type: 'cancelled'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly message: string };

/** What the thread of tools is started with. */
export interface ToolThreadData {
  /** One Int32: the id of the job to give up. The thread reads no messages while it plans. */
  readonly cancelFlag: SharedArrayBuffer;
  /** The folder that may be read. */
  readonly root: string;
}

/** Answers calls of tools that come through the port. @param folder of the bundles. */
export function serveTools(port: MessagePort, { cancelFlag, root }: ToolThreadData, folder: string): void {
  const flag = new Int32Array(cancelFlag);
  const shell = shellReaderFrom((name) => readFile(path.join(folder, name)));
  const files = filesUnder(root);
  const say = (reply: ToolReply): void => port.postMessage(reply);
  const answer = async ({ id, name, input }: ToolJob): Promise<void> => {
    const host: ToolHost = {
      ...files,
      shell,
      defaults: usualDefaults,
      signal: {
        get aborted() {
          return Atomics.load(flag, 0) === id;
        },
      },
      progress: (text) => say({ type: 'progress', id, text }),
      clock: () => performance.now(),
    };
    try {
      say({ type: 'answer', id, answer: await runTool(name, input, host) });
    } catch (error) {
      if (error instanceof CancelledError) say({ type: 'cancelled', id });
      else say({ type: 'failed', id, message: errorMessage(error) });
    }
  };
  let last = Promise.resolve();
  port.on('message', (job: ToolJob) => {
    last = last.then(() => answer(job));
  });
}

/**
 * Reads files under one folder, and no others, links followed: a file of the workspace may ask an agent for others.
 * @param root the current folder of the process, so that names in answers are relative to it.
 */
function filesUnder(root: string): Pick<ToolHost, 'open' | 'read'> {
  const requireInside = async (file: string): Promise<void> => {
    const [top, real] = await Promise.all([realpath(root), realpath(path.resolve(root, file)).catch(() => path.resolve(root, file))]);
    const way = path.relative(top, real);
    if (way.startsWith('..') || path.isAbsolute(way)) throw outside(file);
  };
  return {
    open: async (file) => {
      await requireInside(file);
      return readRegularFile(path.isAbsolute(file) ? path.relative(root, file) : file);
    },
    read: async (from, name) => {
      const file = referencedPath(from, name);
      if (file !== null) await requireInside(file);
      return readReferenced(from, name);
    },
  };
}

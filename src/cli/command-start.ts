import { parentPort, workerData } from 'node:worker_threads';
import type * as commandThread from './command-thread';
import { openParts } from './parts';

/** Starts the thread of a command. */
async function start({ args }: commandThread.ThreadData): Promise<void> {
  const [use = ''] = args;
  const parts = openParts(__dirname, use);
  const { runOnPort } = parts.load('command-thread') as typeof commandThread;
  if (parentPort === null) throw new Error('a command runs on a thread of its own');
  const exitCode = await runOnPort(parentPort, workerData as commandThread.ThreadData, __dirname);
  if (exitCode <= 1) parts.keepCode();
  const ended: commandThread.ThreadMessage = { type: 'ended', exitCode };
  parentPort.postMessage(ended);
}

void start(workerData as commandThread.ThreadData);

import { Worker } from 'node:worker_threads';
import { memoryLimitMb, type ProcessRequest } from '../host/planner/process';
import type { WorkerData } from './thread';
import { pong, type ThreadEnd } from './process';

/** Half of what Node.js gives new objects by itself: some 30 MB less are resident, and plans take as long. */
const youngMb = 24;

/**
 * The planner's process: plans on a thread started from `file`, and relays to the process that started this one. A thread that plans reads
 * no messages, so cancellation is passed through a flag that both threads share, and pings are answered here. Ends with its thread, and
 * when nobody is left to answer.
 */
export function relayPlanner(file: string): void {
  const cancelFlag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const data: WorkerData = { cancelFlag: cancelFlag.buffer };
  const resourceLimits = { maxOldGenerationSizeMb: memoryLimitMb, maxYoungGenerationSizeMb: youngMb };
  const thread = new Worker(file, { workerData: data, resourceLimits });
  const end = (cause: Error): void => {
    const ended: ThreadEnd = { type: 'thread-ended', message: cause.message, code: errorCode(cause) };
    process.send?.(ended, () => process.exit(1));
  };
  thread.on('message', (reply: unknown) => process.send?.(reply));
  thread.on('messageerror', end);
  thread.on('error', end);
  thread.on('exit', (code) => end(new Error(`exit code ${code}`)));
  process.on('message', (message: ProcessRequest) => {
    if (message.type === 'give-up') Atomics.store(cancelFlag, 0, message.id);
    else if (message.type === 'ping') process.send?.(pong);
    else thread.postMessage(message);
  });
  process.on('disconnect', () => process.exit());
}

function errorCode(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}

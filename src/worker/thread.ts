import type { MessagePort } from 'node:worker_threads';
import * as v from 'valibot';
import { servePlanner, type Planners } from './serve';

/**
 * What a planner thread is started with. `cancelFlag` is one Int32: the id of the request to give up. A shared flag, since a thread that is
 * solving reads no messages.
 */
const workerData = v.object({ cancelFlag: v.instance(SharedArrayBuffer) });
export type WorkerData = v.InferOutput<typeof workerData>;

/**
 * `servePlanner` on a thread of the planner's process.
 * @param port to who started the thread. @throws ValiError when `data` is not `WorkerData`.
 */
export function serveThread(port: Pick<MessagePort, 'on' | 'postMessage'>, data: unknown, planners: Partial<Planners>): void {
  const cancelFlag = new Int32Array(v.parse(workerData, data).cancelFlag);
  servePlanner(
    {
      onMessage: (listener) => port.on('message', listener),
      post: (message, moved = []) => port.postMessage(message, [...moved]),
    },
    (id) => Atomics.load(cancelFlag, 0) === id,
    planners,
  );
}

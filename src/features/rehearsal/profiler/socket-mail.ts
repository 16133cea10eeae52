import { Worker } from 'node:worker_threads';
import type { Tensor } from 'onnxruntime-node';
import { itemKey } from '../core/handling';
import type { Transfer } from '../protocol';
import type { Runtime } from '../../../profiler/sessions';
import { machineClock } from './machine-clock';
import type { Mail } from './stage';
import type { Letter, MailTask, Received } from './mail-messages';

/**
 * Mail over local sockets, through a thread of its own.
 * @param threadFile runs `serveMail` in a thread that gets a `MailTask`. @throws Error where it cannot listen.
 */
export async function openSocketMail(runtime: Runtime, threadFile: string, stage: number, addresses: readonly string[]): Promise<Mail> {
  const task: MailTask = { task: 'mail', stage, addresses };
  const thread = new Worker(threadFile, { workerData: task });
  const arrived = new Map<string, Tensor>();
  const waiting = new Map<string, (tensor: Tensor) => void>();
  let transfers: Transfer[] = [];
  await new Promise<void>((resolve, reject) => {
    thread.once('message', () => {
      resolve();
    });
    thread.once('error', reject);
  });
  thread.on('message', ({ from, item, dims, bytes, data, sentMs, arrivedMs }: Received) => {
    transfers.push({ from, to: stage, bytes, sentMs, arrivedMs });
    const tensor = new runtime.Tensor('float32', new Float32Array(data), dims);
    const key = itemKey(item);
    const waits = waiting.get(key);
    waiting.delete(key);
    if (waits === undefined) arrived.set(key, tensor);
    else waits(tensor);
  });
  thread.on('error', (error) => {
    // Nothing can come any more: the parent hears it from the end of this process.
    throw error;
  });
  // What waits for mail keeps the process alive by its channel to the parent.
  thread.unref();
  return {
    send(to, { item, tensor }) {
      const data = (tensor.data as Float32Array).slice().buffer;
      const letter: Letter = { to, item, dims: tensor.dims, data, sentMs: machineClock() };
      thread.postMessage(letter, [data]);
    },
    take: (item) =>
      new Promise((resolve) => {
        const key = itemKey(item);
        const tensor = arrived.get(key);
        arrived.delete(key);
        if (tensor === undefined) waiting.set(key, resolve);
        else resolve(tensor);
      }),
    transfers() {
      const all = transfers;
      transfers = [];
      return all;
    },
  };
}

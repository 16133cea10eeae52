import { parentPort, workerData } from 'node:worker_threads';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { readCorpus } from './corpus';
import { runSeries } from './series';

/** What `run.ts` starts this thread with. */
export interface WorkerOptions {
  readonly seed: number;
  readonly first: number;
  readonly cases: number;
  /** Its one number is the case that runs now. */
  readonly current: Int32Array;
}

async function main({ seed, first, cases, current }: WorkerOptions): Promise<void> {
  const starting = (index: number) => void Atomics.store(current, 0, index);
  parentPort?.postMessage(await runSeries(readCorpus(), await shellReader(), { seed, first, cases, starting }));
}

void main(workerData as WorkerOptions);

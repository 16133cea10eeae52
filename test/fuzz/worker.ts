import { parentPort, workerData } from 'node:worker_threads';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { caseOf, hugeCases } from './cases';
import { readCorpus } from './corpus';
import { runSeries } from './series';

/** What `run.ts` starts this thread with. */
export interface WorkerOptions {
  /** Null for the huge numbers in turn. */
  readonly seed: number | null;
  readonly first: number;
  readonly cases: number;
  /** Its one number is the case that runs now. */
  readonly current: Int32Array;
  /** Kinds of failure that were shrunk before. */
  readonly known: readonly string[];
}

async function main({ seed, first, cases, current, known }: WorkerOptions): Promise<void> {
  const corpus = readCorpus();
  const huge = seed === null ? hugeCases(corpus) : [];
  parentPort?.postMessage(
    await runSeries(await shellReader(), {
      caseAt: (index) => (seed === null ? huge[index]! : caseOf(seed, index, corpus)),
      known,
      first,
      cases,
      isTimed: true,
      starting: (index) => void Atomics.store(current, 0, index),
    }),
  );
}

process.setSourceMapsEnabled(true);
void main(workerData as WorkerOptions);

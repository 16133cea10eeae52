import { runtimeProfile, type Runtime } from '../domain/runtime';
import type { TrainingSpec } from '../domain/request';
import { formatPercent } from '../format';
import { sentence, type Sentence } from '../sentence';
import { measuredMemory, measuredMemoryOfAll } from './measured-memory';
import { fragmentation, type MemoryVerdict } from './verdict';

/*
 * What layouts that nobody has run keep free beyond what every layout does: predicted memory is off by more under some runtimes than under
 * others. See docs/model/memory.md, Kept free in searches.
 */

/** Measured runs: nine of ten took at most `over` times the memory that was predicted, and `beyond` of them more. */
export interface MeasuredMemory {
  readonly runs: number;
  readonly over: number;
  readonly beyond: number;
}

/** The same of one runtime. */
export interface RuntimeMemory extends MeasuredMemory {
  readonly runtime: Runtime;
}

/** A share of each GPU's memory, 0 to less than 1, that is kept free, and why this much. */
export interface KeptFree {
  readonly share: number;
  readonly because: Sentence;
}

const byRuntime: readonly RuntimeMemory[] = measuredMemory;

/**
 * What nine of ten runs need: a run that is predicted to use all but that share of a GPU's memory fits with the tenth that needs most of
 * the runs of its runtime left out; of a runtime without measured runs, of all of them. Source: docs/accuracy.md, Memory that searches keep
 * free.
 * @param asked what the files want instead.
 */
export function keptFreeFor(training: Pick<TrainingSpec, 'runtime'>, asked?: number): KeptFree {
  if (asked !== undefined) return { share: asked, because: sentence`keepFree asks for it` };
  const { id, name } = runtimeProfile(training);
  const own = byRuntime.find(({ runtime }) => runtime === id);
  const { runs, over, beyond } = own ?? measuredMemoryOfAll;
  const whose = own === undefined ? sentence`measured runs of other runtimes` : sentence`measured runs of ${name}`;
  return {
    share: 1 - 1 / over,
    because: sentence`${beyond} of ${runs} ${whose} took over ${formatPercent(over - 1)} more than predicted`,
  };
}

/** Whether a layout that fits leaves that share of its fullest GPU free, too. */
export function keepsFree({ fits, peakBytes, usableBytes, capacityBytes }: MemoryVerdict, share: number): boolean {
  return fits && peakBytes <= usableBytes - (share * capacityBytes) / (1 + fragmentation);
}

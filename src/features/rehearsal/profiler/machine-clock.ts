import os from 'node:os';
import { sum } from '../../../core/numbers';
import type { ProviderName } from '../../../core/domain/profile';

/** Milliseconds of a clock that all processes and threads of the machine share. */
export function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Processor time of all threads of this process so far, ms. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

/** What the cores of the machine have worked so far, for whoever, ms. In steps of a few milliseconds. */
export function machineBusyMs(): number {
  return sum(os.cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq));
}

/** A result and how long it took, ms. */
interface Timed<T> {
  readonly result: T;
  readonly ms: number;
}

/** Times work of this process. */
export type TimeWork = <T>(work: () => Promise<T>) => Promise<Timed<T>>;

/**
 * By the clock; on one CPU thread the processor time where that is less: waiting for the scheduler is not a property of the work. Windows
 * counts it in steps of 16 ms.
 */
export function timeWorkOn(provider: ProviderName): TimeWork {
  const countsProcessor = provider === 'cpu' && process.platform !== 'win32';
  return async (work) => {
    const beforeMs = processorMs();
    const fromMs = machineClock();
    const result = await work();
    const wallMs = machineClock() - fromMs;
    return { result, ms: countsProcessor ? Math.min(wallMs, processorMs() - beforeMs) : wallMs };
  };
}

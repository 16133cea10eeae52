import type { ProviderName } from '../../core/spec/profile';

/** Milliseconds of a clock that all processes and threads of the machine share. */
export function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A result and how long it took, ms. */
export interface Timed<T> {
  readonly result: T;
  readonly ms: number;
}

/** Times work of this process. */
export type TimeWork = <T>(work: () => Promise<T>) => Promise<Timed<T>>;

/**
 * By the clock; on one CPU thread the processor time where that is less: waiting for the scheduler is no property of the work. Windows
 * counts it in steps of 16 ms.
 */
export function timeWorkOn(provider: ProviderName): TimeWork {
  const countsProcessor = provider === 'cpu' && process.platform !== 'win32';
  return async (work) => {
    const before = process.cpuUsage();
    const fromMs = machineClock();
    const result = await work();
    const wallMs = machineClock() - fromMs;
    const { user, system } = process.cpuUsage(before);
    return { result, ms: countsProcessor ? Math.min(wallMs, (user + system) / 1e3) : wallMs };
  };
}

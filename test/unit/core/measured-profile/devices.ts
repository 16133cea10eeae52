import { fitErrors, fitPart } from '../../../../src/core/measured-profile/fit';
import { cellMs, firstCells, isSettled, nextCells, shuffled, stopReason } from '../../../../src/core/measured-profile/design';
import type { Domain } from '../../../../src/core/measured-profile/uncertainty';
import type { Cell, Sample } from '../../../../src/core/domain/profile';
import { randomNumbers } from '../../../../src/core/numbers';

/** True times of a slice, ms. */
export interface Device {
  readonly forwardMs: (cell: Cell) => number;
  readonly backwardMs: (cell: Cell) => number;
}

export function device(forwardMs: Device['forwardMs'], backwardToForward = 2.1): Device {
  return { forwardMs, backwardMs: (cell) => backwardToForward * forwardMs(cell) };
}

/**
 * A CPU with one layer of width 512: 70 us a token, attention over the slice and the context, cache misses that grow with the square of the
 * context (facts: 4.1, 45.8 and 92.8 ms at 64, 512 after 512 and 1024).
 */
export const cpu = device(({ batch, tokens, context }) => {
  const rows = 0.068 * batch * tokens + 0.4 * Math.sqrt(batch * tokens) * 0.2;
  const attention = batch * tokens * (2.2e-5 * tokens + 4e-5 * context);
  return rows + attention + (context > 0 ? batch * (0.02 + 6e-4 * context + 1.2e-7 * context ** 2) : 0);
});

/** A GPU: GEMM tiles of 128 rows in waves, no kernel under its issue floor. */
export const gpu = device(({ batch, tokens, context }) => {
  const tiles = Math.ceil((batch * tokens) / 128);
  const gemms = Math.max(0.12, 0.05 * tiles);
  return gemms + batch * tokens * (3e-7 * tokens + 6e-7 * context) + (context > 0 ? 0.01 + 2e-5 * batch * context : 0);
});

/** Odd lengths are slower than the next even ones: another kernel is chosen. */
export const jumpy = device(({ batch, tokens, context }) => {
  const n = batch * tokens;
  const kernel = n > 512 && n <= 768 ? 1.25 : 1;
  return 0.3 + 0.002 * n * kernel + 1e-6 * n * context + (context > 0 ? 0.02 : 0);
});

/**
 * Measures as the profiler does: rounds in turn over all cells that are not settled; each time is the true one times noise of up to 6 %,
 * and in bursts (a tenth of the time) up to twice.
 */
export function measurer(truth: Device, seed: number) {
  const random = randomNumbers(seed);
  let burstLeft = 0;
  const noisy = (ms: number): number => {
    if (burstLeft > 0) burstLeft--;
    else if (random() < 0.01) burstLeft = Math.floor(1 + 20 * random());
    const burst = burstLeft > 0 ? 1 + random() : 1;
    return ms * (1 + 0.06 * random() ** 2) * burst;
  };
  let round = seed;
  return (cells: readonly Cell[], holdOut: boolean): Sample[] => {
    const times = cells.map((cell) => ({ cell, forward: [] as number[], backward: [] as number[] }));
    for (;;) {
      const open = times.filter(({ forward, backward }) => !isSettled(forward) || !isSettled(backward));
      if (open.length === 0) break;
      for (const entry of shuffled(open, round++)) {
        entry.forward.push(noisy(truth.forwardMs(entry.cell)));
        entry.backward.push(noisy(truth.backwardMs(entry.cell)));
      }
    }
    return times.map(({ cell, forward, backward }) => ({
      ...cell,
      forwardMs: cellMs(forward),
      backwardMs: cellMs(backward),
      rounds: forward.length,
      holdOut,
    }));
  };
}

/** Samples of a whole experiment: first cells, then `more` chosen ones, or as many until it is accurate. */
export function experiment(truth: Device, domain: Domain, seed: number, cells: number, choose: typeof nextCells = nextCells): Sample[] {
  const measure = measurer(truth, seed);
  const { fit, holdOut } = firstCells(domain, seed);
  let samples = [...measure(fit, false), ...measure(holdOut, true)];
  for (;;) {
    const used = samples.filter((sample) => !sample.holdOut).length;
    const next = used >= cells ? [] : choose(domain, samples, [], Math.min(4, cells - used));
    if (next.length === 0) return samples;
    samples = [...samples, ...measure(next, false)];
    const part = fitPart(samples);
    if (cells === Infinity && stopReason({ errors: part === null ? null : fitErrors(part, samples), samples, spent: 0 }) !== null)
      return samples;
  }
}

import { firstAtOrAfter } from './search';
import type { LiveCurve } from '../../../src/core/memory-model/curve';

/**
 * Most bytes in use inside each of `width` pixel columns from `startMs` on: peaks survive any zoom. The curve holds its value between
 * points.
 */
export function peaksPerColumn({ timeMs, bytes }: LiveCurve, startMs: number, msPerPx: number, width: number): Float64Array {
  const peaks = new Float64Array(width);
  let next = firstAtOrAfter(timeMs, startMs);
  let live = bytes[Math.max(0, next - 1)] ?? 0;
  for (let pixel = 0; pixel < width; pixel++) {
    const endMs = startMs + (pixel + 1) * msPerPx;
    while (timeMs[next] === startMs + pixel * msPerPx) live = bytes[next++] ?? 0;
    let most = live;
    for (; next < timeMs.length && (timeMs[next] ?? 0) < endMs; next++) {
      live = bytes[next] ?? 0;
      if (live > most) most = live;
    }
    peaks[pixel] = most;
  }
  return peaks;
}

/** Bytes in use at a time, from then on. */
export function bytesAt({ timeMs, bytes }: LiveCurve, ms: number): number {
  let next = firstAtOrAfter(timeMs, ms);
  while (timeMs[next] === ms) next++;
  return bytes[Math.max(0, next - 1)] ?? 0;
}

import { liveParts, livingParts, type LiveCurve, type LiveParts } from '../../../src/core/memory-model/curve';
import type { MemoryPart, MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import type { Operations } from '../../base/operations';
import { staticParts } from './summary';

/**
 * The point of a curve at which most is in use inside each of `width` pixel columns from `startMs` on, the first such: peaks survive any
 * zoom. The curve holds its value between points.
 */
export function peakPoints({ timeMs, bytes }: LiveCurve, startMs: number, msPerPx: number, width: number): Uint32Array {
  const peaks = new Uint32Array(width);
  let next = firstAtOrAfter(timeMs, startMs);
  let live = Math.max(0, next - 1);
  for (let pixel = 0; pixel < width; pixel++) {
    const endMs = startMs + (pixel + 1) * msPerPx;
    while (timeMs[next] === startMs + pixel * msPerPx) live = next++;
    let most = live;
    for (; next < timeMs.length && (timeMs[next] ?? 0) < endMs; next++) {
      live = next;
      if ((bytes[live] ?? 0) > (bytes[most] ?? 0)) most = live;
    }
    peaks[pixel] = most;
  }
  return peaks;
}

/** The point of a curve that holds at a time, from then on. */
export function pointAt({ timeMs }: LiveCurve, ms: number): number {
  let next = firstAtOrAfter(timeMs, ms);
  while (timeMs[next] === ms) next++;
  return Math.max(0, next - 1);
}

const knownCurves = new WeakMap<StageMemory, { readonly of: Operations; readonly curve: LiveParts }>();

/** Memory of a stage over the step, by its parts; made once. */
export function memoryCurve(operations: Operations, { chunks }: MemoryProfile, stage: StageMemory): LiveParts {
  const known = knownCurves.get(stage);
  if (known?.of === operations) return known.curve;
  const curve = liveParts(operations.timeline, chunks, stage.stage, stage.staticBytes);
  knownCurves.set(stage, { of: operations, curve });
  return curve;
}

/** Parts that a stage has at any time of the step, in stacking order. */
export function stageParts(curve: LiveParts, stage: StageMemory): MemoryPart[] {
  const always = staticParts(stage).flatMap(([part, bytes]) => (bytes > 0 ? [part] : []));
  return [...always, ...livingParts.filter((part) => curve.parts[part].some((bytes) => bytes > 0))];
}

/** Less of the axis than this is no more than a pixel of the lane. */
const leastSeenShare = 0.01;

/** Those of `stageParts` that are ever high enough to be seen on an axis of this many bytes. */
export function seenParts(curve: LiveParts, stage: StageMemory, axisBytes: number): MemoryPart[] {
  const least = leastSeenShare * axisBytes;
  return stageParts(curve, stage).filter((part) => {
    const living = livingParts.find((each) => each === part);
    return living === undefined ? stage.parts[part] >= least : curve.parts[living].some((bytes) => bytes >= least);
  });
}

/** What each part of a stage's memory takes at a point of its curve, bytes. */
export function partsAtPoint(curve: LiveParts, stage: StageMemory, point: number): Readonly<Record<MemoryPart, number>> {
  const living = livingParts.map((part) => [part, curve.parts[part][point] ?? 0] as const);
  return Object.fromEntries([...staticParts(stage), ...living]) as Record<MemoryPart, number>;
}

/** Index of the first value of an ascending column that is at least `wanted`; its length when there is none. */
function firstAtOrAfter(column: ArrayLike<number>, wanted: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] ?? 0) >= wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

import type { Dot } from './content';

/** The dot whose drawing is nearest to a place, or null when none is within `reach`. Positions and reach in one unit. */
export function nearestDot(
  drawn: readonly { readonly dot: Dot; readonly x: number; readonly y: number }[],
  x: number,
  y: number,
  reach: number,
): Dot | null {
  let best: Dot | null = null;
  let bestDistance = reach;
  for (const candidate of drawn) {
    const distance = Math.hypot(candidate.x - x, candidate.y - y);
    if (distance > bestDistance) continue;
    best = candidate.dot;
    bestDistance = distance;
  }
  return best;
}

/**
 * Where an arrow key leads from a dot (null: none yet): along x in the same group, up and down to the other group, Home and End to the
 * ends, Escape to none. Undefined when the key means nothing here. `dots` ascending in x.
 */
export function stepDot(dots: readonly Dot[], from: Dot | null, key: string): Dot | null | undefined {
  if (dots.length === 0) return undefined;
  const same = dots.filter(({ group }) => group === (from ?? dots[0])?.group);
  const at = from === null ? -1 : same.findIndex(({ id }) => id === from.id);
  switch (key) {
    case 'ArrowRight':
      return same[Math.min(same.length - 1, at + 1)];
    case 'ArrowLeft':
      return same[at < 0 ? same.length - 1 : Math.max(0, at - 1)];
    case 'Home':
      return same[0];
    case 'End':
      return same.at(-1);
    case 'ArrowUp':
    case 'ArrowDown':
      return otherGroup(dots, from);
    case 'Escape':
      return from === null ? undefined : null;
    default:
      return undefined;
  }
}

/** The same slice's dot of the other group; without one, the dot of it that is nearest in x. */
function otherGroup(dots: readonly Dot[], from: Dot | null): Dot | undefined {
  if (from === null) return dots[0];
  const others = dots.filter(({ group }) => group !== from.group);
  const twin = from.id.replace(/^\w+-/, '');
  return (
    others.find(({ id }) => id.endsWith(`-${twin}`)) ??
    others.reduce<Dot | undefined>(
      (best, dot) => (best === undefined || Math.abs(dot.x - from.x) < Math.abs(best.x - from.x) ? dot : best),
      undefined,
    ) ??
    from
  );
}

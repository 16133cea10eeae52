import { distance } from 'fastest-levenshtein';

/** The known name closest to a misspelt one, when it is close enough to be meant; by default a third of its letters may differ. */
export function closest(
  name: string,
  known: Iterable<string>,
  tolerance = (length: number) => Math.max(1, Math.floor(length / 3)),
): string | null {
  if (name.length > 100) return null;
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const candidate of known) {
    const edits = distance(normal(name), normal(candidate));
    if (edits < bestDistance) [best, bestDistance] = [candidate, edits];
  }
  return best !== null && bestDistance <= tolerance(best.length) ? best : null;
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll(/[_\-\s]/g, '');
}

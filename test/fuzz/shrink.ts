import type { Case } from './cases';

/** Trials that a shrinking may take. */
const maximumTrials = 1500;

/**
 * A smaller case that still fails: first without its neighbour, then with pieces of its text cut out, halves before characters.
 * @param fails whether a case shows the same defect.
 */
export async function shrunk(given: Case, fails: (candidate: Case) => Promise<boolean>): Promise<Case> {
  const withoutNeighbour = { ...given, neighbour: null };
  const start = given.neighbour !== null && (await fails(withoutNeighbour)) ? withoutNeighbour : given;
  const of = (text: string): Case => ({ ...start, main: { ...start.main, text } });
  return of(await smaller(start.main.text, (text) => fails(of(text))));
}

async function smaller(text: string, fails: (text: string) => Promise<boolean>): Promise<string> {
  let best = text;
  let trials = 0;
  for (let size = Math.ceil(text.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    let at = 0;
    while (at < best.length && trials < maximumTrials) {
      trials += 1;
      const candidate = best.slice(0, at) + best.slice(at + size);
      if (await fails(candidate)) best = candidate;
      else at += size;
    }
  }
  return best;
}

import { randomNumbers } from '../../src/core/numbers';
import type { Fixture } from './corpus';
import { mutated, pick } from './mutate';

/** A spoilt config, and what else its folder holds: a model config, the config itself, or nothing. */
export interface Case {
  readonly main: Fixture;
  readonly neighbour: Fixture | null;
}

/** Case `index` of a series: the same for the same seed and corpus, whatever ran before. */
export function caseOf(seed: number, index: number, corpus: readonly Fixture[]): Case {
  const random = randomNumbers(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const fixture = pick(random, corpus);
  const main = { file: fixture.file, text: mutated(fixture.text, random, corpus) };
  const chance = random();
  if (chance < 0.4) return { main, neighbour: null };
  if (chance < 0.45) return { main, neighbour: main };
  const other = pick(random, chance < 0.8 ? corpus.filter(({ file }) => /\/hf\/|config\.json$/.test(file)) : corpus);
  const text = random() < 0.5 ? other.text : mutated(other.text, random, corpus);
  return { main, neighbour: { file: `neighbour/${other.file}`, text } };
}

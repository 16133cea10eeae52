import { randomNumbers } from '../../src/core/numbers';
import { commandOn, runsCommand } from './commands';
import { isConfig, type Fixture } from './corpus';
import { mutated, pick } from './mutate';
import { restructured, substitutions } from './structure';

/** A spoilt config, what else its folder holds (a model config, the config itself, or nothing), and the command that it is given to. */
export interface Case {
  readonly main: Fixture;
  readonly neighbour: Fixture | null;
  /** Words of the command line, `FILE` for the config; none where it is only read. */
  readonly command: readonly string[];
}

/** Case `index` of a series: the same for the same seed and corpus, whatever ran before. */
export function caseOf(seed: number, index: number, corpus: readonly Fixture[]): Case {
  const random = randomNumbers(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const fixture = pick(random, corpus);
  const spoil = (text: string): string => (random() < 0.7 ? restructured : mutated)(text, random, corpus);
  const main = { file: fixture.file, text: spoil(fixture.text) };
  const command = runsCommand(random, fixture) ? commandOn(random, fixture) : [];
  const chance = random();
  if (chance < 0.4) return { main, neighbour: null, command };
  if (chance < 0.45) return { main, neighbour: main, command };
  const other = pick(random, chance < 0.8 ? corpus.filter(({ file }) => /\/hf\/|config\.json$/.test(file)) : corpus);
  const text = random() < 0.5 ? other.text : spoil(other.text);
  return { main, neighbour: { file: `neighbour/${other.file}`, text }, command };
}

/** Sizes that a reader has to refuse before anything of that length is made. */
const hugeSizes = ['1000000', '100000000', '4294967296'];

/** Each number of our configs replaced by each huge size, one at a time, and planned. */
export function hugeCases(corpus: readonly Fixture[]): readonly Case[] {
  return corpus
    .filter(isConfig)
    .flatMap(({ file, text }) =>
      hugeSizes.flatMap((size) =>
        substitutions(text, size).map((changed) => ({ main: { file, text: changed }, neighbour: null, command: ['plan', 'FILE'] })),
      ),
    );
}

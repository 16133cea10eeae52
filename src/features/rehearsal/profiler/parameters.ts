import { randomNumbers } from '../../../core/numbers';

/** Standard deviation of initial weights, as GPT-2's. */
const deviation = 0.02;

/**
 * Initial weights: always the same for a name, so that every process makes its own. Gains are 1, the rest uniform with GPT-2's standard
 * deviation.
 * @param name of the weight in the model, as `layer 3 qkv`. @param kind its name in the layer, as `qkv`.
 */
export function initialWeights(name: string, kind: string, elements: number): Float32Array {
  const values = new Float32Array(elements);
  if (/^(?:norm\d|queryNorm|keyNorm|finalNorm)$/.test(kind)) return values.fill(1);
  const next = namedRandom(name);
  const width = deviation * Math.sqrt(12);
  for (let i = 0; i < elements; i++) values[i] = width * (next() - 0.5);
  return values;
}

/** Pseudo-random token ids of one sequence, and as labels those that follow; the same for every cut of the batch. */
export function sequenceTokens(sequence: number, tokens: number, vocab: number): Int32Array {
  const next = namedRandom(`sequence ${sequence}`);
  return Int32Array.from({ length: tokens + 1 }, () => Math.floor(next() * vocab));
}

/** Numbers of the size of activations, always the same for a name. */
export function madeUpNumbers(name: string, elements: number): Float32Array {
  const next = namedRandom(name);
  return Float32Array.from({ length: elements }, () => next() - 0.5);
}

/** Uniform numbers in [0, 1), always the same for a name (FNV-1a makes the seed of it). */
function namedRandom(name: string): () => number {
  let seed = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) seed = Math.imul(seed ^ name.charCodeAt(i), 0x01000193);
  return randomNumbers(seed);
}

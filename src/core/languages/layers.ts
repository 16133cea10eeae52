import type { Place } from '../domain/located';

/** One of the files that a config is composed of. */
export interface Layer {
  readonly file: string;
  readonly text: string;
}

/** Another file that a config builds on, as it names it. */
export interface Base {
  readonly written: string;
  readonly place: Place;
  /** Where it may lie, from the file that names it: the first that exists counts. */
  readonly paths: readonly string[];
}

/** The layer that was opened. @throws Error where there is none. */
export function ownLayer(layers: readonly Layer[]): Layer {
  const own = layers.at(-1);
  if (own === undefined) throw new Error('no layer');
  return own;
}

/** How many folders above a file another one may be looked for. */
const folders = 8;

/** A path next to a file and in each folder above it. */
export function upwards(path: string): string[] {
  return Array.from({ length: folders }, (_, up) => '../'.repeat(up) + path);
}

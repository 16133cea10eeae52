import type { Place } from '../domain/located';
import type { LauncherFile, LauncherReader } from './facts';

/** One of the files that a config is composed of. */
export interface Layer {
  readonly file: string;
  readonly text: string;
}

/** Another file that a config builds on, as it names it. */
export interface Base {
  readonly written: string;
  readonly place: Place;
  /** Where it may lie, from the file that names it: the first that is there counts. */
  readonly paths: readonly string[];
}

/** How a launcher composes a run of several files. */
export interface Composition {
  /** What a text builds on, weakest first. @throws ExpectedError for text that is not of its syntax. */
  readonly basesOf: (layer: Layer) => readonly Base[];
  /** Reads a config over what it builds on, weakest first; the last is the one that was opened. */
  readonly read: (layers: readonly Layer[]) => LauncherFile;
  /** `read` says itself which files are missing, and they are few: what is found holds without them. */
  readonly saysMissing?: true;
}

/** A reader of one file that can compose a run of several. */
export type ComposingReader = LauncherReader & { readonly composition?: Composition };

/** Reads one file of a launcher whose runs are composed of several. */
export function composing(composition: Composition): ComposingReader {
  return Object.assign((file: string, text: string) => composition.read([{ file, text }]), { composition });
}

/** The layer that was opened. @throws Error where there is none. */
export function ownLayer(layers: readonly Layer[]): Layer {
  const own = layers.at(-1);
  if (own === undefined) throw new Error('no layer');
  return own;
}

/** How many folders above a file another one may be looked for. */
const folders = 8;

/** A path beside a file and in each folder above it. */
export function upwards(path: string): string[] {
  return Array.from({ length: folders }, (_, up) => '../'.repeat(up) + path);
}

import type { LauncherFile, LauncherReader } from '../run/facts';
import type { Base, Layer } from '../languages/layers';

/** How a launcher composes a run of several files. */
export interface Composition {
  /** What a text builds on, weakest first. @throws ExpectedError for text that is not of its syntax. */
  readonly findBases: (layer: Layer) => readonly Base[];
  /** Reads a config over what it builds on, weakest first; the last is the one that was opened. */
  readonly read: (layers: readonly Layer[]) => LauncherFile;
  /** `read` reports the missing files itself. They are few, so that the other findings hold without them. */
  readonly reportsMissing?: true;
}

/** A reader of one file that can compose a run of several. */
export type ComposingReader = LauncherReader & { readonly composition?: Composition };

/** Reads one file of a launcher whose runs are composed of several. */
export function composing(composition: Composition): ComposingReader {
  return Object.assign((file: string, text: string) => composition.read([{ file, text }]), { composition });
}

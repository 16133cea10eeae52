import type { LauncherReader } from '../core/run/facts';
import { ExpectedError, errorMessage } from '../core/errors';
import { printable } from '../core/text';
import { sentence } from '../core/sentence';

/** Where a command line speaks to. */
export interface Terminal {
  readonly out: (text: string) => void;
  /**
   * Resolves when the output is written except for a few pieces: writers of more than a page wait for it between pieces. Left out: at once.
   */
  readonly drained?: () => Promise<void>;
  readonly err: (text: string) => void;
  /** Milliseconds since some moment. */
  readonly clock: () => number;
  /** ISO 8601. */
  readonly now: () => string;
  /** Shows how far long work is; each line replaces the one before. */
  readonly progress: (line: string) => void;
  /** Shows progress, only on a terminal. */
  readonly status: (line: string) => void;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  /** The bundled child that measures slices. */
  readonly profilerFile: string;
  /** The sources of the PyTorch runtime. */
  readonly torchFolder: string;
  /** The folder of our documents (findings.md explains findings); left out: they are not here. */
  readonly docsFolder?: string;
  /** The reader of shell scripts. */
  readonly shell: () => Promise<LauncherReader>;
  /** Print stacks of internal errors. */
  readonly debug: boolean;
}

/** What a person reads of a failure that is a fault of ours. */
export function internalError(error: unknown): ExpectedError {
  return new ExpectedError(
    'internal',
    sentence`Internal error: ${printable(errorMessage(error))}`,
    sentence`report it with the output of TERAPIPE_DEBUG=1`,
  );
}

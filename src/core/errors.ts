import { say, type Sentence } from './sentence';
import type { Place } from './domain/located';

/** A failure that the user can understand and mend: a stable code, one sentence, what to do, and where. */
export class ExpectedError extends Error {
  override readonly name = 'ExpectedError';
  constructor(
    /** Stable, kebab-case, documented: e.g. `config-json-syntax`. */
    readonly code: string,
    /** What went wrong; `message` is its English. */
    readonly what: Sentence,
    /** What to do about it. */
    readonly remedy: Sentence,
    /** Where in which file, when it comes from one. */
    readonly place?: Place,
    /** What else is wrong with the same input, each by itself. */
    readonly further: readonly ExpectedError[] = [],
  ) {
    super(say(what));
  }
}

/** The user (or a newer request) cancelled the work. Silent everywhere. */
export class CancelledError extends Error {
  override readonly name = 'CancelledError';
  constructor() {
    super('Cancelled');
  }
}

/** The message of `error`, whatever was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What can be cancelled: an `AbortSignal`, or a flag shared between threads. */
export interface CancelSignal {
  readonly aborted: boolean;
}

/** @throws CancelledError when the signal is aborted. */
export function throwIfCancelled(signal: CancelSignal | undefined): void {
  if (signal?.aborted === true) throw new CancelledError();
}

/** Runs an action whose expected errors get a place where they have none. @throws what the action throws. */
export function placed<T>(place: Place | undefined, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.place !== undefined || place === undefined) throw error;
    throw new ExpectedError(error.code, error.what, error.remedy, place);
  }
}

/** Every way a config can be unreadable. Each has a heading in docs/findings.md. */
export const configErrorCodes = [
  'config-empty',
  'config-binary',
  'config-too-large',
  'config-too-deep',
  'config-json-syntax',
  'config-duplicate-key',
  'config-forbidden-key',
  'config-wrong-type',
  'config-out-of-range',
  'config-unknown-format',
  'config-unknown-model-type',
  'config-unknown-preset',
  'config-model-missing',
  'config-model-incomplete',
  'config-inconsistent',
  'config-cycle',
  'config-not-found',
  'config-several',
  'config-unreadable',
  'shell-too-complex',
  'override-syntax',
  'override-unknown-key',
] as const;
export type ConfigErrorCode = (typeof configErrorCodes)[number];

/** An `ExpectedError` whose code is documented. */
export function configError(code: ConfigErrorCode, message: Sentence, remedy: Sentence, place?: Place): ExpectedError {
  return new ExpectedError(code, message, remedy, place);
}

import { ExpectedError } from './errors';
import type { Place } from './domain/located';
import type { Sentence } from './sentence';

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

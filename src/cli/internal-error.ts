import { ExpectedError, errorMessage } from '../core/errors';
import { printable } from '../core/text';
import { sentence } from '../core/sentence';

/** What a person reads of a failure that is a fault of ours. */
export function internalError(error: unknown): ExpectedError {
  return new ExpectedError(
    'internal',
    sentence`Internal error: ${printable(errorMessage(error))}`,
    sentence`report it with the output of TERAPIPE_DEBUG=1`,
  );
}

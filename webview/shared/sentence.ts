import { sayFromStart, type Value } from '../../src/core/sentence';
import { capitalised } from '../../src/core/text';
import { t } from '../base/strings';

/** A sentence with its capital letter and full stop. */
export function sentence(text: string): string {
  return capitalised(stopped(text));
}

/** A message with its full stop, and its capital letter unless it begins with the name of a key or a file. */
export function messageText(message: Value): string {
  return stopped(sayFromStart(message, t));
}

/** A text with its full stop, to follow another. */
export const stopped = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

export { capitalised };

import { capitalised } from '../../src/core/text';

/** A sentence with its capital letter and full stop. */
export function sentence(text: string): string {
  return capitalised(/[.!?]$/.test(text) ? text : `${text}.`);
}

export { capitalised };

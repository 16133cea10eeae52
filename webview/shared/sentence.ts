/** A sentence with its capital letter and full stop. */
export function sentence(text: string): string {
  return capitalised(/[.!?]$/.test(text) ? text : `${text}.`);
}

/** A text that starts a line: first letter upper case. */
export function capitalised(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

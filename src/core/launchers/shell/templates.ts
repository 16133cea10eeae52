/** A value that Jinja, Helm or the like fills in, and its statements and comments. */
const values = /\{\{-?[^{}\n]{0,200}\}\}/g;
const statements = /\{%[^%\n]{0,500}%\}|\{#[^#\n]{0,500}#\}/g;

/**
 * A script with variables that nobody sets in the place of a template's values: `${gpus_____}` for `{{ gpus }}`, so that they are open
 * like any other. Statements become blanks. Every character stays at its offset.
 */
export function withTemplateVariables(text: string): string {
  if (!text.includes('{{') && !text.includes('{%')) return text;
  return text.replace(values, (written) => `\${${templateName(written).padEnd(written.length - 3, '_')}}`).replace(statements, blanks);
}

function templateName(written: string): string {
  return written
    .slice(2, -2)
    .trim()
    .replaceAll(/\W/g, '_')
    .replace(/^(?=\d)/, '_')
    .slice(0, written.length - 4);
}

function blanks(written: string): string {
  return ' '.repeat(written.length);
}

/** Whether a variable stands for a template's value. */
export function isOfTemplate(variable: string): boolean {
  return variable.endsWith('_');
}

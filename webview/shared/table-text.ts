import { maximum } from '../../src/core/numbers';
/** The cells of a table by row, as they read. */
export type Cells = readonly (readonly string[])[];

/** Tables as CSV (RFC 4180), an empty line between them. Cells that a spreadsheet would take for a formula get an apostrophe. */
export function tablesAsCsv(tables: readonly Cells[]): string {
  return tables.map((cells) => cells.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')).join('\r\n');
}

function csvCell(text: string): string {
  const inert = /^[=+@]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(inert) ? `"${inert.replace(/"/g, '""')}"` : inert;
}

/** Tables in GitHub's Markdown, the first row of each as its head. */
export function tablesAsMarkdown(tables: readonly Cells[]): string {
  return tables.map(toMarkdown).join('\n');
}

function toMarkdown(cells: Cells): string {
  const width = maximum(cells.map((row) => row.length));
  const line = (row: readonly string[]): string =>
    `| ${Array.from({ length: width }, (_, index) => (row[index] ?? '').replace(/[\\|]/g, '\\$&')).join(' | ')} |\n`;
  const [head = [], ...body] = cells;
  return line(head) + `|${' --- |'.repeat(width)}\n` + body.map(line).join('');
}

/** Cells as tab-separated text that a spreadsheet takes: tabs and line breaks inside cells become spaces. */
export function asTsv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => row.map((cell) => String(cell).replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n') + '\n';
}

/** A title as a file name: letters, digits, dots and dashes only, not too long. */
export function fileName(title: string): string {
  const plain = title
    .replace(/[^\p{L}\p{N}.-]+/gu, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
    .slice(0, 80);
  return plain === '' ? 'plan' : plain;
}

import { readRows } from '../base/paged-table';

/** The cells of a table by row, as they read. */
export type Cells = readonly (readonly string[])[];

/** The tables that are on screen under an element, the first of them first, with all of their rows. */
export function tablesIn(root: HTMLElement): Cells[] {
  return [...root.querySelectorAll('table')]
    .filter((table) => table.getClientRects().length > 0)
    .map((table) => readRows(table, (row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim())))
    .filter((cells) => cells.length > 0);
}

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
  return tables.map(markdownOf).join('\n');
}

function markdownOf(cells: Cells): string {
  const width = Math.max(...cells.map((row) => row.length));
  const line = (row: readonly string[]): string =>
    `| ${Array.from({ length: width }, (_, index) => (row[index] ?? '').replace(/[\\|]/g, '\\$&')).join(' | ')} |\n`;
  const [head = [], ...body] = cells;
  return line(head) + `|${' --- |'.repeat(width)}\n` + body.map(line).join('');
}

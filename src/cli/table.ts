import { maximum } from '../core/numbers';
import type { Report, ReportBlock } from '../core/report';
import { say, type Value } from '../core/sentence';
import { printable } from '../core/text';

/** Rows of cells as aligned lines: the first column to the left, the others to the right; `left` names further columns to keep left. */
export function table(rows: readonly (readonly string[])[], left: readonly number[] = []): string {
  const columns = Math.max(0, maximum(rows.map((row) => row.length)));
  const widths = Array.from({ length: columns }, (_, column) => maximum(rows.map((row) => textWidth(row[column] ?? ''))));
  return rows
    .map((row) =>
      row
        .map((cell, column) => {
          const gap = ' '.repeat((widths[column] ?? 0) - textWidth(cell));
          return column === 0 || left.includes(column) ? cell + gap : gap + cell;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Every line of a text, indented. */
export function indented(text: string, by = '  '): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? line : by + line))
    .join('\n');
}

/** A part of an answer with its title; nothing where it is empty. */
export function section(title: string, lines: string): string[] {
  return lines === '' ? [] : [`${title}\n${indented(lines)}`];
}

function textWidth(text: string): number {
  return Array.from(text).length;
}

/** A report as lines of a terminal. */
export function reportText({ headline, lines = [], blocks, notes = [] }: Report): string {
  return [text(headline), ...lines.map(text), ...blocks.flatMap(blockLines), ...notes.map(text)].join('\n');
}

function blockLines({ title, head, rows, left, foot }: ReportBlock): string[] {
  if (rows.length === 0) return [];
  const cells = [...(head === undefined ? [] : [head]), ...rows].map((row) => row.map(text));
  return [
    ...(title === undefined ? [] : ['', text(title)]),
    indented(table(cells, left)),
    ...(foot === undefined ? [] : [indented(text(foot))]),
  ];
}

function text(value: Value): string {
  return printable(say(value));
}

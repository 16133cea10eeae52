import type { Report, ReportBlock } from '../core/report';
import { say, type Value } from '../core/sentence';
import { printable } from '../core/text';
import { indented, table } from './table';

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

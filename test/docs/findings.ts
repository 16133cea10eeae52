import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { documentedCodes } from '../../src/core/rules/table';

const page = join(resolve(import.meta.dirname, '../..'), 'docs/findings.md');

/** Between these lines of docs/findings.md stands what the table of rules says. */
const [start, end] = ['<!-- rules: written by `npm run docs -- --write` from src/core/rules/table.ts -->', '<!-- end of rules -->'];

/** docs/findings.md with what the table of rules says of every code; the rest, about errors, is kept. */
export function findingsText(): string {
  const written = readFileSync(page, 'utf8');
  const [from, to] = [written.indexOf(start), written.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/findings.md lacks the line ${start} or ${end}`);
  const sections = documentedCodes().flatMap(({ code, doc }) => [`## \`${code}\``, '', doc, '']);
  return [written.slice(0, from) + start, '', ...sections, written.slice(to)].join('\n');
}

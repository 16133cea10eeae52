import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launchFindings } from '../../src/core/rules/launch-findings';
import { documentedCodes, type DocumentedCode } from '../../src/core/rules/table';
import { launcherOf } from '../unit/core/rules/launcher';
import { pairs } from '../unit/core/rules/pairs';
import { ownPairs } from '../unit/core/rules/run-pairs';
import { say } from '../../src/core/sentence';

const page = join(resolve(import.meta.dirname, '../..'), 'docs/findings.md');

/** Between these lines of docs/findings.md is what the table of rules documents. */
const [start, end] = ['<!-- rules: written by `npm run docs -- --write` from src/core/rules/table.ts -->', '<!-- end of rules -->'];

/** docs/findings.md with what the table of rules documents of every code; the rest, about errors, is kept. */
export function findingsText(): string {
  const written = readFileSync(page, 'utf8');
  const [from, to] = [written.indexOf(start), written.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/findings.md lacks the line ${start} or ${end}`);
  return [written.slice(0, from) + start, '', ...documentedCodes().flatMap(sectionOf), written.slice(to)].join('\n');
}

function sectionOf({ code, rule, doc, guidance }: DocumentedCode): string[] {
  const example = exampleOf(rule) ?? guidance.example;
  if (example === undefined) throw new Error(`${code} has no example: write one into src/core/rules/guidance.ts`);
  return [
    `## \`${code}\``,
    '',
    doc,
    '',
    `- Example: ${example}`,
    `- Source: ${guidance.source}`,
    `- Right to ignore when ${guidance.ignore}`,
    '',
  ];
}

/** What the tests break the rule with, and the text on it. */
function exampleOf(code: string): string | null {
  const pair = pairs.find((each) => each.code === code);
  if (pair !== undefined) {
    const found = launchFindings(launcherOf(pair.bad, pair.format)).find((finding) => finding.code === code);
    const values = Object.entries(pair.bad).map(
      ([name, value]) => `\`${name}\` ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
    );
    return `${values.join(', ')}. "${found === undefined ? pair.message : say(found.message)}"`;
  }
  const own = ownPairs.find((each) => each.code === code);
  if (own === undefined) return null;
  const bad = Object.entries(own.bad).filter(([name]) => name !== 'model');
  return `\`${JSON.stringify(Object.fromEntries(bad))}\`. "${own.message}"`;
}

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launchFindings } from '../../src/core/rules/launch-findings';
import { launcherOf } from '../unit/core/rules/launcher';
import { pairs } from '../unit/core/rules/pairs';
import { ownPairs } from '../unit/core/rules/run-pairs';
import { say } from '../../src/core/sentence';
import { findingPages, type FindingPage } from './finding-pages';

const page = join(resolve(import.meta.dirname, '../..'), 'docs/findings.md');

/** Between these lines of docs/findings.md are the pages of findings. */
const [start, end] = [
  '<!-- rules: written by `npm run docs -- --write` from the comments with @finding in src -->',
  '<!-- end of rules -->',
];

/** docs/findings.md with the page of every finding; the rest, about errors, is kept. */
export function findingsText(): string {
  const written = readFileSync(page, 'utf8');
  const [from, to] = [written.indexOf(start), written.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/findings.md lacks the line ${start} or ${end}`);
  return [written.slice(0, from) + start, '', ...findingPages().flatMap(sectionOf), written.slice(to)].join('\n');
}

function sectionOf({ code, doc, example: written, source, ignore }: FindingPage): string[] {
  const example = exampleOf(code) ?? written;
  if (example === undefined) throw new Error(`${code} has no example: write "@example" into the comment that has "@finding ${code}"`);
  const when = /^(?:always|never)\b/.test(ignore) ? ignore : `when ${ignore}`;
  return [`## \`${code}\``, '', doc, '', `- Example: ${example}`, `- Source: ${source}`, `- Right to ignore ${when}`, ''];
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

import type { Finding } from '../../../core/findings';
import { formatCount, plural } from '../../../core/format';
import { printable } from '../../../core/text';
import { findingLine, printedFinding } from '../../../cli/answer';
import { hasSeverity } from '../core/change';
import { causeRows, changeRows, fileText, sizeNames, type PlacedChange } from './rows';

/** What a comment that is updated is found by. */
const marker = '<!-- terapipe:diff -->';

/** Comments of GitHub have at most 65,536 characters. */
const longest = 60_000;

/** Columns of the table, by the row of a change that fills each. */
const columns = ['step', 'memory', 'layout', 'batch'] as const;
const batches = Object.values(sizeNames);

/**
 * Changes as Markdown for a pull request: a sentence with the sum, one table of the configs that changed, and the rest folded away. What
 * does not fit in a comment is counted.
 */
export function markdownDiff(changes: readonly PlacedChange[], summary: string): string {
  const head = [marker, `**${summary}.**`];
  if (changes.length === 0) return head.join('\n\n');
  const header = ['config', ...columns, 'findings'];
  const rows = withinLength(changes.map(tableRow), longest / 2);
  const left = changes.length - rows.length;
  const details = withinLength(
    changes.map(detail).filter((text) => text !== ''),
    longest / 2,
  );
  return [
    ...head,
    [tableLine(header), tableLine(header.map(() => '---')), ...rows].join('\n'),
    ...(left === 0 ? [] : [`${plural(left, 'more config')}: \`terapipe diff\` lists them.`]),
    ...(details.length === 0 ? [] : [['<details><summary>What changed</summary>', ...details, '</details>'].join('\n\n')]),
  ].join('\n\n');
}

function tableRow({ change }: PlacedChange): string {
  const rows = new Map(changeRows(change, 0));
  const cells = columns.map((name) => {
    const names = name === 'batch' ? batches : name === 'step' && rows.has('tokens/s') ? ['tokens/s'] : [name];
    const texts = names.flatMap((each) => rows.get(each) ?? []);
    return texts.map((text) => escaped(name === 'step' && names[0] !== name ? `${text} (tokens/s)` : text)).join(', ');
  });
  return tableLine([code(fileText(change)), ...cells, findingCounts(change.added, '+', change.resolved)]);
}

/** `+1 error, -2 warnings`. */
function findingCounts(added: readonly Finding[], plus: string, resolved: readonly Finding[]): string {
  const counts = [[added, plus] as const, [resolved, '-'] as const].flatMap(([findings, sign]) =>
    (['error', 'warning'] as const).flatMap((severity) => {
      const count = findings.filter(hasSeverity(severity)).length;
      return count === 0 ? [] : [`${sign}${formatCount(count)} ${count === 1 ? severity : `${severity}s`}`];
    }),
  );
  return counts.join(', ');
}

/** Settings that changed, and findings; empty where there are none. */
function detail({ change, texts }: PlacedChange): string {
  const causes = change.status === 'changed' ? causeRows(change, Infinity).map(([name, text]) => `- ${code(name)}: ${code(text)}`) : [];
  const findings = [
    ...change.added.map((finding) => ['new', printedFinding(finding, texts.head)] as const),
    ...change.resolved.map((finding) => ['resolved', printedFinding(finding, texts.base)] as const),
  ].map(([word, finding]) => `- ${word}: ${code(findingLine(finding))}`);
  const lines = [...causes, ...findings];
  return lines.length === 0 ? '' : [code(fileText(change)), lines.join('\n')].join('\n\n');
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Our words with names from files: nothing in them is markup. */
function escaped(text: string): string {
  return printable(text).replace(/[\\`*_{}[\]<|~@&]/g, String.raw`\$&`);
}

/** A text from a file: in code nothing is markup, an address or a mention. */
function code(text: string): string {
  return `\`${printable(text)
    .replaceAll('`', "'")
    .replaceAll('|', String.raw`\|`)}\``;
}

function withinLength(parts: readonly string[], limit: number): string[] {
  let length = 0;
  return parts.filter((part) => (length += part.length + 2) <= limit);
}

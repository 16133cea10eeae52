import { formatCount } from '../../format';
import type { Severity } from '../../findings';
import { say } from '../../sentence';
import type { PlanRequest } from '../../domain/request';
import { element, row, section, text } from './markup';
import { reportStyle } from './style';

/** A finding with its place in words: `run.sh:12:5`. */
export interface ReportFinding {
  readonly severity: Severity;
  readonly code: string;
  readonly where: string;
  readonly message: string;
  readonly remedy: string;
}

/** Rows of any list of words; further ones are counted. */
const maximumRows = 200;

/** A page of sections that loads nothing and runs nothing. @param title as it is written. */
export function htmlPage(title: string, sections: readonly string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    element('title', `${text(title)}: TeraPipe plan`),
    `<style>${reportStyle}</style>`,
    '</head>',
    '<body>',
    '<main>',
    ...sections,
    '</main>',
    '<footer>Made by TeraPipe. Times and memory are predictions; their assumptions are listed above.</footer>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** A number in large, with its basis. */
interface LargeNumber {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly note: string;
  readonly isBad?: boolean;
}

/** Numbers in boxes side by side. */
export function numberBoxes(label: string, numbers: readonly LargeNumber[]): string {
  const boxes = numbers.map(
    ({ name, value, unit, note, isBad = false }) =>
      `<div class="number${isBad ? ' bad' : ''}">${element('h2', name)}<p><strong>${text(value)}</strong> ${text(unit)}</p>${element('p', text(note), 'note')}</div>`,
  );
  return `<section class="numbers" aria-label="${label}">\n${boxes.join('\n')}\n</section>`;
}

/** What is wrong, where, and what to do. */
export function findingsSection(findings: readonly ReportFinding[]): string {
  if (findings.length === 0) return section('Findings', element('p', 'None.'));
  const rows = findings
    .slice(0, maximumRows)
    .map(({ severity, code, where, message, remedy }) =>
      row([element('em', severity, severity === 'error' ? 'bad' : ''), text(where), `${text(message)}<br>${text(remedy)}`, text(code)]),
    );
  const head = row(['', 'Where', 'What, and what to do', 'Code'], '', 'th');
  return section('Findings', `<table><thead>${head}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>${more(findings.length)}`);
}

/** What was assumed because no file sets it. */
export function assumptionsSection(assumptions: PlanRequest['assumptions']): string {
  if (assumptions.length === 0) return '';
  const rows = assumptions.slice(0, maximumRows).map(({ key, value, reason }) => row([text(key), text(value), text(say(reason))]));
  const head = row(['Setting', 'Taken as', 'Because'], '', 'th');
  return section('Assumed', `<table><thead>${head}</thead><tbody>\n${rows.join('\n')}\n</tbody></table>${more(assumptions.length)}`);
}

/** Sentences as a list; nothing without any. */
export function listSection(title: string, sentences: readonly string[]): string {
  if (sentences.length === 0) return '';
  const items = sentences.slice(0, maximumRows).map((sentence) => element('li', text(sentence)));
  return section(title, `<ul>\n${items.join('\n')}\n</ul>${more(sentences.length)}`);
}

function more(count: number): string {
  return count > maximumRows ? element('p', `and ${formatCount(count - maximumRows)} more`) : '';
}

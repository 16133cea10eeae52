import { mostSevereFirst, type Finding } from '../../core/findings';
import { printable } from '../../core/text';
import { printedFinding, type Texts } from '../answer';
import { checkSummary } from '../answers/check';
import type { CheckReport } from '../checked';
import { standardInput } from '../read-file';
import { relativeFile } from './file-uri';

/** Commands of GitHub's runner for a severity. */
const commands = { error: 'error', warning: 'warning', information: 'notice' } as const;

/** Annotations as the runner of GitHub Actions reads them, errors first: it shows ten of each kind in a step. */
export function githubText(report: CheckReport, folder: string): string {
  return [...mostSevereFirst(report.findings).map((finding) => annotation(finding, report.texts, folder)), checkSummary(report)].join('\n');
}

function annotation(finding: Finding, texts: Texts, folder: string): string {
  const { file, severity, code, line, column, endLine, message, remedy } = printedFinding(finding, texts);
  const where = file === '' || file === standardInput ? {} : { file: relativeFile(file, folder), line, endLine, col: column };
  const properties = Object.entries({ ...where, title: code }).map(([name, value]) => `${name}=${escapedProperty(String(value))}`);
  return `::${commands[severity]} ${properties.join(',')}::${escaped(`${message}; ${remedy}`)}`;
}

/** As `escapeData` of actions/toolkit reads it back; what else is invisible is shown. */
function escaped(text: string): string {
  return printable(text).replaceAll('%', '%25');
}

function escapedProperty(text: string): string {
  return escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

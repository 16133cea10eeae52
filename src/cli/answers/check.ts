import { countsByCode, fewInformations } from '../../core/findings';
import type { Counted, FolderSummary } from '../../core/config-files/folder-summary';
import { formatCount, plural } from '../../core/format';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type PrintedFinding } from '../answer';
import type { CheckReport } from '../checked';
import { exitCodeFor } from '../planned';

/** How a check is judged and printed. */
export interface CheckPrinting {
  /** Print every information, not a few of each file. */
  readonly all?: boolean;
  /** Warnings fail too. */
  readonly isStrict?: boolean;
}

/** `terapipe check`: what was found in JSON and in lines, and whether that fails. */
export function checkAnswer(report: CheckReport, { all = false, isStrict = false }: CheckPrinting = {}): Answer {
  const { findings, files, isUnfit, summary, texts } = report;
  const printed = findings.map((finding) => printedFinding(finding, texts));
  return {
    json: { version: 1, findings: printed, configs: files, ...(summary !== null && { folder: summary }) },
    text: [...(all ? printed.map(findingLine) : fewLines(printed)), ...summaryLines(summary), checkSummary(report)].join('\n'),
    exitCode: checkStatus(printed, isUnfit, isStrict),
  };
}

/** Names of files that are shown where there are many. */
const mostNames = 5;

/** So few configs that are all planned need no overview. */
const fewConfigs = 10;

/** What a folder holds, in a few lines. */
function summaryLines(summary: FolderSummary | null): string[] {
  if (summary === null) return [];
  const { recognised, planned, unplanned, unrecognised, training } = summary;
  const isShort = recognised.reduce((sum, { count }) => sum + count, 0) < fewConfigs;
  if (isShort && unplanned.length === 0 && training.length === 0) return [];
  const names = training.slice(0, mostNames).join(', ');
  const more = training.length > mostNames ? ` and ${formatCount(training.length - mostNames)} more` : '';
  return [
    `Read: ${recognised.length === 0 ? 'nothing' : counted(recognised)}; ${formatCount(planned)} planned`,
    ...unplanned.map(({ name, count }) => `  not planned, ${formatCount(count)}: ${name}`),
    ...(unrecognised.length === 0 ? [] : [`Not read: ${counted(unrecognised)}`]),
    ...(training.length === 0
      ? []
      : [`  look like training, of a launcher that is not read, ${formatCount(training.length)}: ${names}${more}`]),
  ].map(printable);
}

function counted(kinds: readonly Counted[]): string {
  return kinds.map(({ name, count }) => `${formatCount(count)} ${name}`).join(', ');
}

/** `3 findings in 2 configs`. */
export function checkSummary({ findings, files }: Pick<CheckReport, 'findings' | 'files'>): string {
  return `${findings.length === 0 ? 'No findings' : plural(findings.length, 'finding')} in ${plural(files.length, 'config')}`;
}

function checkStatus(printed: readonly PrintedFinding[], isUnfit: boolean, isStrict: boolean): 0 | 1 | 3 {
  if (printed.some(({ code }) => code === 'internal')) return 3;
  if (isStrict && printed.some(({ severity }) => severity === 'warning')) return 1;
  return exitCodeFor(printed, !isUnfit);
}

/** The findings of each file in lines, with one for the informations that are left out. */
function fewLines(printed: readonly PrintedFinding[]): string[] {
  const left = new Set<PrintedFinding>();
  const rest = [...new Set(printed.map(({ file }) => file))].flatMap((file) => {
    const { left: ofFile } = fewInformations(
      printed.filter((finding) => finding.file === file),
      (finding) => finding,
    );
    for (const finding of ofFile) left.add(finding);
    const counts = countsByCode(ofFile.map(({ code }) => code));
    return ofFile.length === 0 ? [] : [printable(`${file}: ${plural(ofFile.length, 'more information')}: ${counts}; --all prints them`)];
  });
  return [...printed.flatMap((finding) => (left.has(finding) ? [] : [findingLine(finding)])), ...rest];
}

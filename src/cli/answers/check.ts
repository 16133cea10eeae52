import { countsByCode, fewInformations } from '../../core/findings';
import { plural } from '../../core/format';
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
  const { findings, files, isUnfit, texts } = report;
  const printed = findings.map((finding) => printedFinding(finding, texts));
  return {
    json: { version: 1, findings: printed, configs: files },
    text: [...(all ? printed.map(findingLine) : fewLines(printed)), checkSummary(report)].join('\n'),
    exitCode: checkStatus(printed, isUnfit, isStrict),
  };
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

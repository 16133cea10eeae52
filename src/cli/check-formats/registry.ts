import { own } from '../../core/records';
import type { Answer } from '../answer';
import { checkAnswer, type CheckPrinting } from '../answers/check';
import type { CheckReport } from '../checked';
import { githubText } from './github';
import { junitText } from './junit';
import { readRulePages } from './rule-pages';
import { sarifText } from './sarif';

/** What a format is written with. */
interface FormatOptions extends CheckPrinting {
  /** Files are named relative to it. */
  readonly folder: string;
  /** Holds findings.md; left out: rules have no pages. */
  readonly docsFolder?: string | undefined;
}

/** Formats of a check that are neither our lines nor our JSON. */
const formats: Readonly<Record<string, (report: CheckReport, options: FormatOptions) => string | Promise<string>>> = {
  sarif: async (report, { folder, docsFolder }) => sarifText(report, folder, await readRulePages(docsFolder)),
  github: (report, { folder }) => githubText(report, folder),
  junit: (report, { folder, isStrict = false }) => junitText(report, folder, isStrict),
};

/** The answer of a check in a format; the exit status is the same in all. */
export async function formattedCheck(report: CheckReport, format: string, options: FormatOptions): Promise<Answer> {
  const answer = checkAnswer(report, options);
  const write = own(formats, format);
  return write === undefined ? answer : { ...answer, text: await write(report, options) };
}

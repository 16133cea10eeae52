import type { ReportFinding } from '../core/export/html/sections';
import { say } from '../core/sentence';
import { describePlace } from './pages/page-state';
import type { SessionState } from './sessions/session-state';

/** Findings of the files for a report, with their places in words. */
export function reportFindings(
  { findings, texts }: Pick<SessionState, 'findings' | 'texts'>,
  displayPath: (file: string) => string,
): readonly ReportFinding[] {
  return findings.map((finding) => ({
    ...finding,
    where: describePlace(finding.place, texts, displayPath),
    message: say(finding.message),
    remedy: say(finding.remedy),
  }));
}

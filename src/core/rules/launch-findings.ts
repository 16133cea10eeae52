import type { Fact, Facts, LauncherFile } from '../formats/facts';
import type { Finding, Severity } from '../findings';
import type { Place } from '../spec/located';
import { sharedRules } from './table';
import { viewOfLauncher, type ConfigView } from './view';
import { isPlannedAlone } from './launchers/formats';
import { fixesFor, type TextOf } from './fixes';
import { viewAfter, type Issue, type Rule } from './rule';

const severityOrder: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };

/**
 * What will fail or disappoint in the run that a launcher's file describes, most severe first. Each finding stands at the value that should change (never at a default); one that no
 * value of a file causes stands at `file.place` if it is worse than information, and is left out otherwise. The fixes edit `file` alone, and
 * each makes its finding go away.
 */
export function launchFindings(file: LauncherFile): Finding[] {
  const textOf: TextOf = (name) => (name === file.file ? file.text : undefined);
  if (isPlannedAlone(file.format)) return [];
  const view = viewOfLauncher(file);
  const findings = sharedRules.flatMap((rule) => {
    const issue = checked(rule, view);
    if (issue === null) return [];
    const finding = findingOf(rule, issue, file.facts, file.place, textOf);
    return finding === null ? [] : [finding];
  });
  return findings.sort((a, b) => severityOrder[a.severity] - severityOrder[b.severity]);
}

/** What a rule has to say, with the changes alone that silence it; null where it does not apply or nothing is wrong. */
export function checked(rule: Rule, view: ConfigView): Issue | null {
  const issue = rule.formats.includes(view.format) ? rule.check(view) : null;
  if (issue?.changes === undefined) return issue;
  return { ...issue, changes: issue.changes.filter((change) => rule.check(viewAfter(view, change)) === null) };
}

/** An issue at its place, with fixes that can be written; null: information that nothing in a file causes. */
export function findingOf(
  rule: { readonly code: string; readonly severity: Severity },
  issue: Issue,
  facts: Facts,
  fallback: Place,
  textOf: TextOf,
): Finding | null {
  const severity = issue.severity ?? rule.severity;
  const place = placeOf(facts, issue) ?? (severity === 'information' ? null : fallback);
  if (place === null) return null;
  const { message, remedy, changes = [] } = issue;
  return { code: rule.code, severity, place, message, remedy, fixes: fixesFor(facts, changes, textOf) };
}

export function placeOf(facts: Facts, { at }: Issue): Place | null {
  for (const name of at) {
    const fact: Fact<unknown> | undefined = facts[name];
    if (fact?.source.kind === 'file') return fact.source.place;
    // what the command line gives stands nowhere
    if (fact?.source.kind === 'override') return null;
  }
  return null;
}

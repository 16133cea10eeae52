import type { Place } from './spec/located';

export type Severity = 'error' | 'warning' | 'information';

/** One replacement of text in one file. */
export interface TextEdit {
  readonly place: Place;
  readonly newText: string;
}

/** A quick fix: a title in the imperative with its numbers, and the edits it makes. */
export interface Fix {
  readonly title: string;
  readonly edits: readonly TextEdit[];
  readonly preferred: boolean;
}

/** One thing wrong (or worth knowing) at one place. The editor, the terminal and the panel all print the same ones. */
export interface Finding {
  /** Stable, kebab-case; documented in docs/findings.md under the heading of the same name. */
  readonly code: string;
  readonly severity: Severity;
  readonly place: Place;
  /** What is wrong, one sentence without the remedy. */
  readonly message: string;
  /** What to do, in numbers where there are any. */
  readonly remedy: string;
  readonly fixes: readonly Fix[];
}

const severityOrder: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };

/** The same findings, errors first; those of one severity in their order. */
export function mostSevereFirst(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => severityOrder[a.severity] - severityOrder[b.severity]);
}

/**
 * Of findings those for which a launcher refuses to start the run as its files are written: every error but that it runs out of memory,
 * which it does later.
 */
export function startErrors<F extends Pick<Finding, 'code' | 'severity'>>(findings: readonly F[]): readonly F[] {
  return findings.filter(({ code, severity }) => severity === 'error' && code !== 'memory-over-capacity');
}

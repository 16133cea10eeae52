import { ExpectedError } from './errors';
import { formatCount } from './format';
import type { Sentence } from './sentence';
import type { Place } from './domain/located';

export type Severity = 'error' | 'warning' | 'information';

/** One replacement of text in one file. */
export interface TextEdit {
  readonly place: Place;
  readonly newText: string;
}

/** A quick fix: a title in the imperative with its numbers, and the edits it makes. */
export interface Fix {
  readonly title: Sentence;
  readonly edits: readonly TextEdit[];
  readonly preferred: boolean;
  /** Of what does not fit: time for as many tokens with it, over that without, less 1; negative is faster. */
  readonly slower?: number;
}

/** One thing wrong (or worth knowing) at one place. The editor, the terminal and the panel all print the same ones. */
export interface Finding {
  /** Stable, kebab-case; documented in docs/findings.md under the heading of the same name. */
  readonly code: string;
  readonly severity: Severity;
  readonly place: Place;
  /** What is wrong, one sentence without the remedy. */
  readonly message: Sentence;
  /** What to do, in numbers where there are any. */
  readonly remedy: Sentence;
  readonly fixes: readonly Fix[];
  /** Asks for nothing to be done: printed by `terapipe check`, left out of the Problems of the editor. */
  readonly isNote?: true;
}

/** No findings: one list, since a list that is another one counts as new. */
export const noFindings: readonly Finding[] = [];

const severityOrder: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };

/** Whether a finding is of this severity or a worse one. */
export function isAtLeast(least: Severity): (finding: Pick<Finding, 'severity'>) => boolean {
  return ({ severity }) => severityOrder[severity] <= severityOrder[least];
}

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

/** Of a file's informations this many are shown at once; one line counts the rest. */
const shownInformations = 5;

/** What is shown of a file's findings, and the informations that are not. */
interface ShownFindings<F> {
  readonly shown: readonly F[];
  readonly left: readonly F[];
}

/** All errors and warnings of one file and a few of its informations, in order; one of each code is shown before a second of any. */
export function fewInformations<F>(findings: readonly F[], classify: (finding: F) => Pick<Finding, 'code' | 'severity'>): ShownFindings<F> {
  const seen = new Map<string, number>();
  const informations = findings.flatMap((finding) => {
    const { code, severity } = classify(finding);
    if (severity !== 'information') return [];
    const round = seen.get(code) ?? 0;
    seen.set(code, round + 1);
    return [{ finding, round }];
  });
  const first = informations.toSorted((a, b) => a.round - b.round).slice(0, shownInformations);
  const kept = new Set(first.map(({ finding }) => finding));
  const left = informations.map(({ finding }) => finding).filter((finding) => !kept.has(finding));
  const hidden = new Set(left);
  return { shown: findings.filter((finding) => !hidden.has(finding)), left };
}

/** `flag-conditional (9), shell-syntax`: how many findings there are of each code. */
export function countsByCode(codes: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => (count === 1 ? code : `${code} (${formatCount(count)})`)).join(', ');
}

/** A model of a kind that is not read or not planned: nothing that the user has to mend. */
export function isOfAnotherKind({ code }: ExpectedError): boolean {
  return code === 'config-unknown-model-type' || code === 'model-not-planned';
}

/**
 * An error as the one finding of a file that cannot be read or planned; `fallback` is its place when it has none. A model of a family we do
 * not read is nothing wrong with the file, so only information.
 */
export function findingOfError(error: ExpectedError, fallback: Place): Finding {
  return {
    code: error.code,
    severity: isOfAnotherKind(error) ? 'information' : 'error',
    place: error.place ?? fallback,
    message: error.what,
    remedy: error.remedy,
    fixes: [],
  };
}

/** A finding as the error that stops what meets it. */
export function errorOfFinding({ code, message, remedy, place }: Finding): ExpectedError {
  return new ExpectedError(code, message, remedy, place);
}

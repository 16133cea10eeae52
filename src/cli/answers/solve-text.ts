import { formatDuration, formatPercent, plural } from '../../core/format';
import type { Incumbent } from '../../core/slicing/solve';
import type { Answer } from '../answer';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';
import type { Terminal } from '../terminal';
import type { BaselineAnswer, SolveAnswer } from './solve';

/** The text of `terapipe solve`, whose JSON has the same numbers. */
export function solvedAnswer(solved: SolveAnswer): Answer {
  const { whole, uniform, equalTime, equalWork, dynamicChunks } = solved.baselines;
  const row = (name: string, baseline: BaselineAnswer | null): string[][] =>
    baseline === null ? [] : [[name, formatDuration(baseline.latencyMs), plural(baseline.slices, 'slice')]];
  const rows = [
    ['latency', formatDuration(solved.latencyMs), proofText(solved)],
    ['whole sequences', formatDuration(whole), ''],
    ...row('best uniform', uniform),
    ...row('equal time', equalTime),
    ...row('equal FLOPs', equalWork),
    ...row('dynamic chunks', dynamicChunks),
    ['slowest slice', formatDuration(solved.slowestMs), ''],
  ];
  const effort = `${plural(solved.evaluations, 'threshold')} in ${formatDuration(solved.elapsedMs)}`;
  const lines = [...schemeLines(solved), '', indented(table(rows, [2])), '', effort];
  return { json: solved, text: lines.join('\n'), exitCode: 0 };
}

function proofText({ exact, judgedBy, latencyMs, lowerBoundMs }: SolveAnswer): string {
  const proof = exact ? 'proved optimal' : `at least ${formatDuration(lowerBoundMs)}, gap ${formatPercent(1 - lowerBoundMs / latencyMs)}`;
  return judgedBy === 'simulation' ? `simulated, ${proof}` : proof;
}

/** One line, or one per round. */
function schemeLines({ scheme, rounds }: SolveAnswer): string[] {
  if (rounds.length === 1) return [schemeText(scheme)];
  let from = 0;
  return rounds.map((chunks, index) => `round ${index + 1}: ${schemeText(scheme.slice(from, (from += chunks)))}`);
}

/** Milliseconds between two lines on how far a solution is. */
const incumbentEveryMs = 500;

/** Shows how far a long solution is: nothing on short ones. */
export function incumbentLine({ clock, progress }: Terminal): (incumbent: Incumbent) => void {
  let shownMs = clock();
  return ({ latencyMs, lowerBoundMs }) => {
    if (clock() - shownMs < incumbentEveryMs) return;
    shownMs = clock();
    progress(
      `best ${formatDuration(latencyMs)}, at least ${formatDuration(lowerBoundMs)}, gap ${formatPercent(1 - lowerBoundMs / latencyMs)}`,
    );
  };
}

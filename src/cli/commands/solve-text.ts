import { formatDuration, plural } from '../../core/format';
import type { Answer } from '../answer';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';
import type { SolveAnswer } from './solve';

/** `terapipe solve` in words beside its JSON. */
export function solvedAnswer(solved: SolveAnswer): Answer {
  const { whole, uniform } = solved.baselines;
  const rows = [
    ['latency', formatDuration(solved.latencyMs), solved.exact ? 'proved optimal' : `at least ${formatDuration(solved.lowerBoundMs)}`],
    ['whole sequences', formatDuration(whole), ''],
    ['best uniform', formatDuration(uniform.latencyMs), plural(uniform.slices, 'slice')],
    ['slowest slice', formatDuration(solved.slowestMs), ''],
  ];
  const effort = `${plural(solved.evaluations, 'threshold')} in ${formatDuration(solved.elapsedMs)}`;
  return { json: solved, text: [schemeText(solved.scheme), '', indented(table(rows, [2])), '', effort].join('\n'), exitCode: 0 };
}

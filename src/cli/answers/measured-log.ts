import { compareWithLog, logSentences, readSentence } from '../../core/compare/against-log';
import { formatDuration } from '../../core/format';
import type { Plan } from '../../core/planner/plan';
import { say } from '../../core/sentence';
import { printable } from '../../core/text';
import type { UsedLog } from '../measured-config';

/** How the run of a log differs from the planned one: what is printed first. */
export function differencesLines(used: UsedLog | null): string[] {
  if (used === null || used.differences.length === 0) return [];
  return [used.differences.map((one) => printable(say(one))).join('\n')];
}

/** Rows of a plan on the log that calibrates it: which steps count, then what it says of memory and FLOPs. */
export function logLines(plan: Plan, used: UsedLog | null): string[][] {
  if (used === null) return [];
  const { steady, log } = used;
  const compared = compareWithLog(plan, log);
  const spread = steady.counted > 1 ? `, half of them between ${formatDuration(steady.lowMs)} and ${formatDuration(steady.highMs)}` : '';
  const lines = [`${say(readSentence(compared, steady))}${spread}`, ...logSentences(compared).map((one) => say(one))];
  return lines.map((line, at) => [at === 0 ? 'log' : '', printable(line)]);
}

/** The same as JSON, `measured`: times ms, memory bytes. */
export function logJson(plan: Plan, used: UsedLog | null): object {
  if (used === null) return {};
  const { file, use, steady, log } = used;
  const compared = compareWithLog(plan, log);
  return {
    measured: { file, use, ...compared, facts: log.facts, steps: steady, sentences: logSentences(compared).map((one) => say(one)) },
  };
}

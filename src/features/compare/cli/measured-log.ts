import { compareWithLog, logSentences, readSentence, type LogComparison } from '../core/against-log';
import { formatDuration } from '../../../core/format';
import type { Plan } from '../../../core/planner/plan';
import { say } from '../../../core/sentence';
import { printable } from '../../../core/text';
import type { UsedLog } from './measured-config';

/** A log that calibrates a plan, compared with it. */
export interface ComparedLog extends UsedLog {
  readonly comparison: LogComparison;
}

/** Compares the log that calibrates a plan with it. */
export function comparedLog(plan: Plan, used: UsedLog | null): ComparedLog | null {
  return used === null ? null : { ...used, comparison: compareWithLog(plan, used.log) };
}

/** How the run of a log differs from the planned one: what is printed first. */
export function differencesLines(used: UsedLog | null): string[] {
  if (used === null || used.differences.length === 0) return [];
  return [used.differences.map((one) => printable(say(one))).join('\n')];
}

/** Rows of a plan on the log that calibrates it: which steps count, then its memory and FLOPs. */
export function logLines(log: ComparedLog | null): string[][] {
  if (log === null) return [];
  const { steady, comparison } = log;
  const spread = steady.counted > 1 ? `, half of them between ${formatDuration(steady.lowMs)} and ${formatDuration(steady.highMs)}` : '';
  const lines = [`${say(readSentence(comparison, steady))}${spread}`, ...logSentences(comparison).map((one) => say(one))];
  return lines.map((line, at) => [at === 0 ? 'log' : '', printable(line)]);
}

/** The same as JSON, `measured`: times ms, memory bytes. */
export function logJson(compared: ComparedLog | null): object {
  if (compared === null) return {};
  const { file, use, steady, log, comparison } = compared;
  return {
    measured: { file, use, ...comparison, facts: log.facts, steps: steady, sentences: logSentences(comparison).map((one) => say(one)) },
  };
}

import { formatCount } from '../../../core/format';
import { lineColumnAt, orList, printable, quoted } from '../../../core/text';
import { ExpectedError } from '../../../core/errors';
import { traceError } from './events';
import { makeLogReader } from './logs/read-log';
import { logNames, hasStepLines } from './logs/registry';
import type { RunLog } from './logs/run-log';
import { steadyOfLog, steadySteps, type SteadySteps } from './logs/steady';
import { isRecord, own } from '../../../core/records';
import { sentence } from '../../../core/sentence';

/** Measured times of one pass of one stage, means in ms. */
interface MeasuredStage {
  readonly stage: number;
  readonly forwardMs: number | null;
  readonly backwardMs: number | null;
}

/** Times measured in a run: of its steps in order, ms, and of its stages. One of both may be empty. */
export interface MeasuredTimes {
  readonly stepsMs: readonly number[];
  readonly stages: readonly MeasuredStage[];
  /** The log that they are from; absent: they are not from a log. */
  readonly log?: RunLog;
}

/** Steps kept of one file. */
const maximumSteps = 1_000_000;
const maximumStages = 10_000;

/** The steady steps of a measured run; null: it has none. */
export function steadyTimes({ log, stepsMs }: MeasuredTimes): SteadySteps | null {
  return log === undefined ? steadySteps(stepsMs) : steadyOfLog(log);
}

/** Times of the steps of a log. @throws ExpectedError `times-empty`. */
export function timesOfLog(log: RunLog | null, file: string): MeasuredTimes {
  if (log === null) throw noTimes(file);
  return { stepsMs: log.steps.map(({ ms }) => ms), stages: [], log };
}

/** The kind of measured times a text holds, by its content; null for none of them. */
export function detectTimesFormat(text: string): 'json' | 'log' | 'csv' | null {
  if (hasStepLines(text)) return 'log';
  const start = text.replace(/^\uFEFF/, '').trimStart();
  if (/^\[\s*[-+\d.]/.test(start) || (start.startsWith('{') && /^\{\s*"(?:stepsMs|iterationMs|stages)"\s*:/.test(start))) return 'json';
  const lines = start.split(/\r\n|\r|\n/, 50).filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const [head, ...rest] = lines;
  if (head === undefined) return null;
  const isNumbers = (line: string): boolean => splitCells(line).every((cell) => cell === '' || Number.isFinite(Number(cell)));
  const named = splitCells(head).some((cell) => parseColumn(cell) !== null && parseColumn(cell)?.what !== 'stage');
  return named || (rest.length > 0 && lines.every(isNumbers)) ? 'csv' : null;
}

/**
 * Reads measured times:
 * - JSON: `[ms, ...]` or `{"stepsMs": [...], "stages": [{"stage", "forwardMs", "backwardMs"}]}` (`iterationMs` for `stepsMs`);
 * - a log of a trainer (`logs`);
 * - CSV: a column of ms, or columns by name: `step_ms`, or `stage`, `forward_ms`, `backward_ms` (`_s`: seconds).
 * @throws ExpectedError, placed: `times-syntax`, `times-empty`, `times-value`, `times-too-many`.
 */
export function readTimes(text: string, file: string): MeasuredTimes {
  const format = detectTimesFormat(text);
  const times = format === 'json' ? fromJson(text, file) : format === 'log' ? fromLog(text, file) : fromCsv(text, file);
  if (times.stepsMs.length > maximumSteps || times.stages.length > maximumStages)
    throw traceError('times-too-many', file, sentence`The file has more than ${formatCount(maximumSteps)} times`, sentence`give fewer: the median of a hundred steps is enough`); // prettier-ignore
  if (times.stepsMs.length === 0 && times.stages.length === 0) throw noTimes(file);
  return times;
}

function noTimes(file: string): ExpectedError {
  return traceError(
    'times-empty',
    file,
    sentence`There are no times in the file`,
    sentence`give step times in ms, one a line, or a log of ${orList(logNames)}`,
  );
}

function fromLog(text: string, file: string): MeasuredTimes {
  const reader = makeLogReader();
  reader.push(text);
  return timesOfLog(reader.end(), file);
}

function fromJson(text: string, file: string): MeasuredTimes {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch {
    throw traceError('times-syntax', file, sentence`The file is not JSON`, sentence`fix its brackets and commas`);
  }
  const steps = Array.isArray(value) ? value : isRecord(value) ? (value['stepsMs'] ?? value['iterationMs'] ?? []) : [];
  const stages = isRecord(value) ? (value['stages'] ?? []) : [];
  if (!Array.isArray(steps) || !Array.isArray(stages)) throw traceError('times-syntax', file, sentence`stepsMs and stages are not lists`, sentence`write them as lists`); // prettier-ignore
  const time = (ms: unknown): number => {
    if (typeof ms === 'number' && Number.isFinite(ms) && ms > 0) return ms;
    throw traceError(
      'times-value',
      file,
      sentence`${printable(JSON.stringify(ms).slice(0, 60))} is not a time`,
      sentence`give milliseconds above 0`,
    );
  };
  return {
    stepsMs: steps.map(time),
    stages: stages.map((stage: unknown) => {
      if (!isRecord(stage) || !isStage(stage['stage']))
        throw traceError('times-value', file, sentence`A stage has no number`, sentence`give "stage": 0, 1, ...`);
      const of = (key: string): number | null => (own(stage, key) === undefined || own(stage, key) === null ? null : time(own(stage, key)));
      return { stage: stage['stage'], forwardMs: of('forwardMs'), backwardMs: of('backwardMs') };
    }),
  };
}

interface Column {
  readonly what: 'step' | 'stage' | 'forward' | 'backward';
  /** Milliseconds in its unit. */
  readonly unitMs: number;
}

/** What a column is by its title. */
function parseColumn(title: string): Column | null {
  const name = title.trim().replace(/^"|"$/g, '').toLowerCase().replace(/[\s()]+/g, '_').replace(/_+$/, ''); // prettier-ignore
  if (name === 'stage') return { what: 'stage', unitMs: 1 };
  const found = /^(?:(step|iteration|iter|elapsed|forward|backward)(?:_time)?_?)?(ms|s|sec|seconds)$/.exec(name);
  if (found === null) return null;
  const what = found[1] === 'forward' ? 'forward' : found[1] === 'backward' ? 'backward' : 'step';
  return { what, unitMs: found[2] === 'ms' ? 1 : 1000 };
}

function splitCells(line: string): string[] {
  return line.split(/[,;\t]/).map((cell) => cell.trim());
}

function fromCsv(text: string, file: string): MeasuredTimes {
  const stepsMs: number[] = [];
  const stages: MeasuredStage[] = [];
  let columns: readonly (Column | null)[] | null = null;
  let start = text.startsWith('\uFEFF') ? 1 : 0;
  for (const line of text.slice(start).split(/\r\n|\r|\n/)) {
    const at = start;
    start = at + line.length + (text.startsWith('\r\n', at + line.length) ? 2 : 1);
    if (line.trim() === '' || line.startsWith('#')) continue;
    const cells = splitCells(line);
    if (columns === null) {
      columns = cells.map(parseColumn);
      if (columns.some((column) => column !== null)) continue;
      columns = cells.map((_, index) => (index === cells.length - 1 ? { what: 'step', unitMs: 1 } : null));
    }
    const read = (what: Column['what']): number | null => {
      const index = columns?.findIndex((column) => column?.what === what) ?? -1;
      const cell = cells[index] ?? '';
      if (index < 0 || cell === '') return null;
      const value = Number(cell) * (columns?.[index]?.unitMs ?? 1);
      if (what === 'stage' ? isStage(value) : Number.isFinite(value) && value > 0) return value;
      const place = { file, range: { start: at, end: at + line.length } };
      throw new ExpectedError('times-value', sentence`Line ${lineColumnAt(text, at).line} has ${quoted(cell, 40)} for ${what}`, what === 'stage' ? sentence`give the number of the stage, from 0` : sentence`give a time above 0`, place); // prettier-ignore
    };
    const [step, stage] = [read('step'), read('stage')];
    if (stage !== null) stages.push({ stage, forwardMs: read('forward'), backwardMs: read('backward') });
    else if (step !== null) stepsMs.push(step);
  }
  return { stepsMs, stages };
}

function isStage(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < maximumStages;
}

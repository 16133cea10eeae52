import { longestLine, numberIn, plainText } from '../../compare/core/logs/lines';
import { errorStart, isWholeMessage, readMessage } from './messages';
import { makeHostReader } from './host-lines';
import { makeMemoryLineReader } from './memory-lines';
import { makeTracebacks } from './tracebacks';
import type { Evidence, MemoryPoint, OutOfMemory } from './evidence';

/** Points and errors that are kept: a log may be larger than memory. */
const mostPoints = 200_000;
const mostErrors = 10_000;
/** Further lines of a message. */
const messageLines = 8;

const rankPrefix = /^\s{0,9}(?:\[?(?:rank|default)?\s?(\d{1,7})\]?:)/;
const stepLine = /\biteration\s{0,3}=?\s{0,12}(\d{1,12})\s{0,3}\/|\bstep[:=]\s{0,6}(\d{1,12})\b|global_step=(\d{1,12})/;

/** Of transformers' Trainer: it has no step. */
const lossLine = /\{'loss'\s?:/;

interface Unfinished {
  readonly rank: number | null;
  readonly traceback: readonly string[];
  text: string;
  lines: number;
}

/** What the text of a log shows. */
export function evidenceOfText(text: string): Evidence {
  const reader = makeOomLogReader();
  reader.push(text);
  return reader.end();
}

/** Reads a log piece by piece, in bounded memory. */
export function makeOomLogReader(): { readonly push: (piece: string) => void; readonly end: () => Evidence } {
  const readMemory = makeMemoryLineReader();
  const host = makeHostReader();
  const tracebacks = makeTracebacks();
  const points: MemoryPoint[] = [];
  let errors: OutOfMemory[] = [];
  let unfinished: Unfinished | null = null;
  let lastStep: number | null = null;
  let [isExpandable, hasSteps] = [false, false];
  let rest = '';

  const finish = (): void => {
    if (unfinished !== null && errors.length < mostErrors) errors.push(readMessage(unfinished.text, unfinished.rank, unfinished.traceback));
    unfinished = null;
  };
  const readLine = (line: string): void => {
    const prefix = rankPrefix.exec(line);
    const rank = prefix?.[1] === undefined ? null : Number(prefix[1]);
    if (errorStart.test(line)) {
      finish();
      unfinished = { rank, traceback: tracebacks.take(rank), text: line, lines: 0 };
    } else if (unfinished !== null) {
      unfinished.text += ` ${line.slice(prefix?.[0].length ?? 0)}`;
      unfinished.lines++;
    }
    if (unfinished !== null) {
      if (isWholeMessage(unfinished.text) || unfinished.lines === messageLines) finish();
      return;
    }
    const step = stepIn(line);
    host.read(line, step !== null);
    hasSteps ||= step !== null || lossLine.test(line);
    if (step !== null) {
      lastStep = step;
      errors = [];
    }
    if (line.includes('expandable_segments:True') && !line.includes('try setting')) isExpandable = true;
    for (const one of readMemory(line, rank, lastStep)) if (points.length < mostPoints) points.push(one);
    tracebacks.read(line, rank);
  };
  return {
    push: (piece) => {
      const lines = plainText(rest + piece).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '').slice(0, longestLine);
      for (const line of lines) readLine(line.slice(0, longestLine));
    },
    end: () => {
      readLine(rest);
      finish();
      return { source: 'log', errors, points, lastStep, hasSteps, isExpandable, host: host.end(), snapshot: null };
    },
  };
}

function stepIn(line: string): number | null {
  const found = stepLine.exec(line);
  const written = found?.[1] ?? found?.[2] ?? found?.[3];
  return written === undefined ? numberIn(line, /\(after (\d{1,12}) iterations\)/) : Number(written);
}

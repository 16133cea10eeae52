import type { LogFacts } from './facts';
import { longestLine, plainText } from './lines';
import { logFormats } from './registry';
import type { RunLog } from './run-log';

/** Reads a log piece by piece; keeps only the end of one line and what was read of steps. */
interface LogReader {
  readonly push: (piece: string) => void;
  /** Null: no line has a step. */
  readonly end: () => RunLog | null;
}

/** One pass over a line that no trainer reads. */
const lineOfAny = new RegExp(logFormats.map(({ anyLine }) => anyLine.source).join('|'));

export function makeLogReader(): LogReader {
  const readers = logFormats.map(({ anyLine, read }) => ({ anyLine, lines: read() }));
  let rest = '';
  const read = (text: string): void => {
    // progress bars end their lines with a carriage return
    for (const line of plainText(text).split(/\r\n|\n|\r/)) {
      const part = line.slice(0, longestLine);
      if (!lineOfAny.test(part)) continue;
      for (const { anyLine, lines } of readers) if (anyLine.test(part)) lines.push(part);
    }
  };
  return {
    push: (piece) => {
      const end = Math.max(piece.lastIndexOf('\n'), piece.lastIndexOf('\r')) + 1;
      if (end > 0) read(rest + piece.slice(0, end));
      rest = (end > 0 ? piece.slice(end) : rest + piece).slice(0, longestLine);
    },
    end: () => {
      read(rest);
      return joined(readers.flatMap(({ lines }) => lines.end() ?? []).filter(({ steps }) => steps.length > 0));
    },
  };
}

/** The log of the first trainer, with what only the others have. */
function joined([first, ...others]: readonly RunLog[]): RunLog | null {
  if (first === undefined) return null;
  const facts = others.toReversed().reduce((known, log) => ({ ...known, ...withoutInterval(log.facts) }), {});
  const memory = [first, ...others].find((log) => log.memory.length > 0)?.memory ?? [];
  return { ...first, facts: { ...facts, ...first.facts }, memory };
}

/** The interval is of the lines of its own trainer. */
function withoutInterval(facts: LogFacts): LogFacts {
  return Object.fromEntries(Object.entries(facts).filter(([key]) => key !== 'logInterval'));
}

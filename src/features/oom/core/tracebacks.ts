import { ownStart } from './messages';

/** Ranks with a traceback that are kept, and lines of one. */
const mostRanks = 4096;
const mostLines = 60;

interface Traceback {
  readonly lines: string[];
  /** Of its last frame, or null before it: what is below a frame is indented further. */
  column: number | null;
  /** Its exception was read. */
  isEnded: boolean;
}

/** Keeps the last traceback of each rank, line by line, until the line after its exception. */
export function makeTracebacks(): {
  readonly read: (line: string, rank: number | null) => void;
  /** The traceback of an error, whose own line is that of the exception. */
  readonly take: (rank: number | null) => readonly string[];
} {
  const ofRank = new Map<number | null, Traceback>();
  return {
    read: (line, rank) => {
      const column = frameColumn(line);
      if (line.includes('Traceback (most recent call last)') || (column !== null && !ofRank.has(rank))) {
        if (ofRank.has(rank) || ofRank.size < mostRanks) ofRank.set(rank, { lines: [], column: null, isEnded: false });
        if (column === null) return;
      }
      const kept = ofRank.get(rank);
      if (kept === undefined || line.trim() === '') return;
      const isFrame = column !== null || isOfFrame(line, kept.column);
      if (!isFrame && kept.isEnded) {
        ofRank.delete(rank);
        return;
      }
      kept.column = column ?? kept.column;
      kept.isEnded = !isFrame;
      kept.lines.push(ownStart(line).trim());
      if (kept.lines.length > mostLines) kept.lines.shift();
    },
    take: (rank) => {
      const kept = ofRank.get(rank);
      if (kept === undefined) return [];
      kept.isEnded = true;
      return kept.lines;
    },
  };
}

function frameColumn(line: string): number | null {
  if (!line.includes('File "')) return null;
  return /^(?:\s|[\u2502|]|\[\w{1,20}\]:)*File "/.test(line) ? line.indexOf('File "') : null;
}

/** Source text, marks below it, a count of frames that repeat, or a line of a box. */
function isOfFrame(line: string, column: number | null): boolean {
  const text = line.replace(/^(?:\s*\[\w{1,20}\]:)+/, '');
  if (/^\s*(?:[\u2502|\u256d\u2570\u2771]|[~^]+\s*$)/.test(text)) return true;
  return column === null ? /^\s/.test(text) : line.slice(Math.max(0, column - 2), column + 2).trim() === '' || /^ {3,}\S/.test(text);
}

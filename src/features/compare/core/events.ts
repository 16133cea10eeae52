import { fileStart } from '../../../core/languages/json/document';
import { ExpectedError } from '../../../core/errors';
import { formatBytes } from '../../../core/format';
import { sentence, type Sentence } from '../../../core/sentence';

/** One event larger than this is not an event of a profiler. */
const maximumEventLength = 2 ** 20;
/** Room for what the head of a trace has on its rank. */
const maximumMemberLength = 2 ** 20;

/** Reads a trace piece by piece. */
interface EventScanner {
  /** @throws ExpectedError `trace-syntax`. */
  readonly push: (piece: string) => void;
  /** @throws ExpectedError `trace-syntax` when the text ends too soon. */
  readonly end: () => void;
}

/** What is heard of a trace: the text of each event, and of each small member of the outer object but its events. */
interface TraceListener {
  readonly event: (text: string) => void;
  readonly member: (name: string, text: string) => void;
}

const code = { quote: 34, backslash: 92, open: 123, close: 125, openList: 91, closeList: 93, comma: 44, colon: 58 } as const;

/**
 * Cuts a Chrome trace (Trace Event Format: `{"traceEvents": [...], ...}` or the bare array, whose closing bracket may be missing) into the
 * texts of its events. Holds one event at a time, so that a trace may be larger than memory.
 */
export function makeEventScanner(file: string, listener: TraceListener): EventScanner {
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** The outermost bracket; 0 before it. */
  let outer = 0;
  /** Depth at which events lie: 1 in a bare array, 2 among `traceEvents`; 0 outside of them. */
  let eventDepth = 0;
  let key = '';
  let kept: string[] | null = null;
  let keptLength = 0;
  let keeps: 'key' | 'member' | 'event' | null = null;
  let read = 0;

  const fail = (what: Sentence): never => {
    throw traceError(
      'trace-syntax',
      file,
      sentence`${what} (after ${formatBytes(read)})`,
      sentence`record the trace again, and stop the profiler before the run ends`,
    );
  };
  const stop = (): string => {
    const text = (kept ?? []).join('');
    kept = null;
    keeps = null;
    keptLength = 0;
    return text;
  };

  const push = (piece: string): void => {
    let from = keeps === null ? -1 : 0;
    const take = (until: number): string => {
      kept?.push(piece.slice(from, until));
      from = -1;
      return stop();
    };
    const keep = (what: 'key' | 'member' | 'event', at: number): void => {
      keeps = what;
      kept = [];
      from = at;
    };
    for (let at = 0; at < piece.length; at++) {
      const now = piece.charCodeAt(at);
      if (inString) {
        if (escaped) escaped = false;
        else if (now === code.backslash) escaped = true;
        else if (now === code.quote) {
          inString = false;
          if (keeps === 'key') key = take(at);
        }
        continue;
      }
      switch (now) {
        case code.quote:
          inString = true;
          if (keeps === null && outer === code.open && depth === 1) keep('key', at + 1);
          break;
        case code.open:
        case code.openList:
          depth++;
          if (outer === 0) {
            outer = now;
            eventDepth = now === code.openList ? 1 : 0;
          } else if (eventDepth === 0 && depth === 2 && keeps === null)
            if (key === 'traceEvents' && now === code.openList) eventDepth = 2;
            else keep('member', at);
          else if (depth === eventDepth + 1 && now === code.open && keeps === null) keep('event', at);
          break;
        case code.close:
        case code.closeList:
          depth--;
          if (depth < 0) fail(sentence`A bracket closes that was never opened`);
          if (keeps === 'event' && depth === eventDepth) listener.event(take(at + 1));
          else if (keeps === 'member' && depth === 1) listener.member(key, take(at + 1));
          else if (eventDepth > 0 && depth === eventDepth - 1) eventDepth = 0;
          break;
        default:
          if (outer === 0 && now > 32 && now !== 0xfeff) fail(sentence`A trace begins with { or [`);
      }
    }
    read += piece.length;
    if (keeps !== null && from >= 0) {
      kept?.push(piece.slice(from));
      keptLength += piece.length - from;
      if (keeps === 'member' && keptLength > maximumMemberLength) stop();
      else if (keptLength > maximumEventLength) fail(sentence`An event is over ${formatBytes(maximumEventLength)}`);
    }
  };
  const end = (): void => {
    const openArray = outer === code.openList && depth === 1 && !inString;
    if (outer === 0) fail(sentence`There is nothing in it`);
    if ((depth !== 0 && !openArray) || inString) fail(sentence`The trace ends in the middle`);
  };
  return { push, end };
}

/** An error about the file of a measured run as a whole. */
export function traceError(errorCode: string, file: string, message: Sentence, remedy: Sentence): ExpectedError {
  return new ExpectedError(errorCode, message, remedy, fileStart(file));
}

import { readTimes, detectTimesFormat, type MeasuredTimes } from './times';
import { makeTraceReader, type MeasuredTrace } from './trace';

/** What a file of a measured run holds. */
export type Measured =
  { readonly kind: 'trace'; readonly trace: MeasuredTrace } | { readonly kind: 'times'; readonly times: MeasuredTimes };

/** Whether a text is a Chrome trace: its object form, or a list of objects. */
function isTrace(text: string): boolean {
  const start = text.replace(/^\uFEFF/, '').trimStart();
  return /^\[\s*(?:\{\s*"|\]|$)/.test(start) || (start.startsWith('{') && /"traceEvents"\s*:/.test(start));
}

/** Whether a text is of a measured run, by its content. */
export function isMeasured(text: string): boolean {
  return isTrace(text) || detectTimesFormat(text) !== null;
}

/**
 * Reads the whole text of a measured run: a Chrome trace or measured times.
 * @throws ExpectedError `trace-*`, `times-*`, at the start of the file or at the line.
 */
export function readMeasured(text: string, file: string): Measured {
  if (!isTrace(text)) return { kind: 'times', times: readTimes(text, file) };
  const reader = makeTraceReader(file);
  reader.push(text);
  return { kind: 'trace', trace: reader.end() };
}

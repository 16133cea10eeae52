import { quoted } from '../../text';
import { configError } from '../../errors';
import { fileStart, maximumConfigSize } from '../../languages/json/document';
import { sentence } from '../../sentence';

const maximumDepth = 100;
/** Brackets, commas, dots, equals signs, strings and comments together: the parser takes about 1.6 kB for each. */
const maximumMarks = 10_000;
/** The parser spreads a string's characters over an argument list, which overflows its stack beyond about 120,000. */
const maximumRun = 65_536;

/**
 * Refuses what would cost the TOML parser unbounded time, memory or stack, in one pass without recursion.
 * @throws ExpectedError `config-empty`, `config-binary`, `config-too-large` or `config-too-deep`, placed.
 */
export function refuseUnfitToml(file: string, text: string): void {
  const start = fileStart(file);
  if (text.length > maximumConfigSize)
    throw configError(
      'config-too-large',
      sentence`The file is over 5 MB, too large for a config`,
      sentence`name the config file itself`,
      start,
    );
  if (text.trim() === '') throw configError('config-empty', sentence`The file is empty`, sentence`write the settings of a run`, start);
  if (text.includes('\0')) throw configError('config-binary', sentence`The file is not text`, sentence`name a TOML config file`, start);
  refuseLongRuns(file, text);
  refuseDeepAndMany(file, text);
}

function refuseDeepAndMany(file: string, text: string): void {
  const marks = /[#"'[\]{},=.]/g;
  let depth = 0;
  let count = 0;
  for (let match = marks.exec(text); match !== null; match = marks.exec(text)) {
    const at = match.index;
    const mark = match[0];
    count += 1;
    if (mark === '[' || mark === '{') depth += 1;
    else if (mark === ']' || mark === '}') depth = Math.max(0, depth - 1);
    else if (mark === '#') marks.lastIndex = endOfLine(text, at);
    else if (mark === '"' || mark === "'") marks.lastIndex = endOfString(file, text, at);
    const range = { start: at, end: at + 1 };
    if (depth > maximumDepth)
      throw configError('config-too-deep', sentence`Nested more than ${maximumDepth} levels deep`, sentence`name a config file`, {
        file,
        range,
      });
    if (count > maximumMarks)
      throw configError('config-too-large', sentence`The file has too many settings for a config`, sentence`name the config file itself`, {
        file,
        range,
      });
  }
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function endOfString(file: string, text: string, start: number): number {
  const quote = text.charAt(start);
  const long = text.startsWith(quote.repeat(3), start);
  const close = long ? quote.repeat(3) : quote;
  for (let at = start + close.length; at < text.length; at += 1) {
    if (at - start > maximumRun) throw tooLong(file, text, start);
    if (text.startsWith(close, at)) return at + close.length;
    if (!long && text[at] === '\n') return at;
    if (quote === '"' && text[at] === '\\') at += 1;
  }
  return text.length;
}

/** Digits go the same way as strings; only numbers and bare keys have such runs outside of strings. */
function refuseLongRuns(file: string, text: string): void {
  const runs = /[\w+.-]+/g;
  for (let match = runs.exec(text); match !== null; match = runs.exec(text))
    if (match[0].length > maximumRun) throw tooLong(file, text, match.index);
}

function tooLong(file: string, text: string, start: number): Error {
  const message = sentence`A text of over ${maximumRun} characters begins with ${quoted(text.slice(start, start + 20))}`;
  return configError('config-too-large', message, sentence`name a config file`, { file, range: { start, end: start + 1 } });
}

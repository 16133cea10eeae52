import { ExpectedError } from '../../core/errors';
import type { LengthShare } from '../../core/domain/scheme';
import type { TextRange } from '../../core/domain/located';
import { isRecord, own } from '../../core/records';
import { sentence } from '../../core/sentence';
import { quoted } from '../../core/text';
import type { SourceText } from '../read-file';

/** Names under which a line of JSON may give the tokens of a prompt or a document. */
const lengthKeys = ['tokens', 'length', 'prompt_tokens', 'prompt_len', 'input_length', 'input_tokens', 'num_tokens', 'seq_len'];
const longest = 2 ** 24;

/** What a file gives, up to the first that is not a length, and where that one is. */
interface Read {
  readonly lengths: readonly LengthShare[];
  readonly broken: TextRange | null;
}

/**
 * Lengths of prompts or documents from a file: a number a line, a JSON object a line that holds one (and maybe a `count`), or one object of
 * counts by length. @throws ExpectedError `prefill-lengths`, at the first that is not a length.
 */
export function readLengths(source: SourceText): readonly LengthShare[] {
  const whole = parseJson(source.text);
  const isHistogram = isRecord(whole) && !lengthKeys.some((key) => Object.hasOwn(whole, key));
  const { lengths, broken } = isHistogram ? readCounts(whole, source.text) : readLines(source.text);
  if (lengths.length > 0 && broken === null) return lengths;
  const range = broken ?? { start: 0, end: 0 };
  throw new ExpectedError(
    'prefill-lengths',
    broken === null
      ? sentence`There are no lengths in the file`
      : sentence`${quoted(source.text.slice(range.start, range.end))} is not a length`,
    sentence`give a number of tokens a line, or JSON as {"tokens": 4096, "count": 12} or {"4096": 12}`,
    { file: source.file, range },
  );
}

function isSound({ tokens, count }: LengthShare): boolean {
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= longest && count > 0 && count < Infinity;
}

function readCounts(counts: Readonly<Record<string, unknown>>, text: string): Read {
  const lengths: LengthShare[] = [];
  for (const [tokens, count] of Object.entries(counts)) {
    const length = { tokens: Number(tokens), count: Number(count) };
    if (!isSound(length)) {
      const start = Math.max(0, text.indexOf(JSON.stringify(tokens)));
      return { lengths, broken: { start, end: start + JSON.stringify(tokens).length } };
    }
    lengths.push(length);
  }
  return { lengths, broken: null };
}

function readLines(text: string): Read {
  const lengths: LengthShare[] = [];
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end);
    const written = line.trim();
    if (written !== '') {
      const length = parseLength(parseJson(written));
      const at = start + line.indexOf(written);
      if (!isSound(length)) return { lengths, broken: { start: at, end: at + written.length } };
      lengths.push(length);
    }
    start = end + 1;
  }
  return { lengths, broken: null };
}

function parseLength(value: unknown): LengthShare {
  if (!isRecord(value)) return { tokens: Number(value), count: 1 };
  const key = lengthKeys.find((each) => Object.hasOwn(value, each));
  return { tokens: Number(key === undefined ? NaN : own(value, key)), count: Number(value['count'] ?? 1) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Lengths as `training.lengths` has them, each once and ascending. */
export function writtenLengths(lengths: readonly LengthShare[]): readonly (readonly [tokens: number, count: number])[] {
  const counts = new Map<number, number>();
  for (const { tokens, count } of lengths) counts.set(tokens, (counts.get(tokens) ?? 0) + count);
  return [...counts].sort(([a], [b]) => a - b);
}

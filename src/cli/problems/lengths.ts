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

/** A length as its file gives it, with where it does. */
interface Entry extends LengthShare {
  readonly range: TextRange;
}

/**
 * Lengths of prompts or documents from a file: a number a line, a JSON object a line that holds one (and maybe a `count`), or one object of
 * counts by length. @throws ExpectedError `prefill-lengths`, at the first that is not a length.
 */
export function readLengths(source: SourceText): readonly LengthShare[] {
  const whole = parseJson(source.text);
  const isHistogram = isRecord(whole) && !lengthKeys.some((key) => Object.hasOwn(whole, key));
  const entries = isHistogram ? entriesOfCounts(whole, source.text) : entriesOfLines(source.text);
  const broken = entries.find((each) => !isSound(each));
  if (entries.length > 0 && broken === undefined) return entries.map(({ tokens, count }) => ({ tokens, count }));
  const range = broken?.range ?? { start: 0, end: 0 };
  throw new ExpectedError(
    'prefill-lengths',
    broken === undefined
      ? sentence`There are no lengths in the file`
      : sentence`${quoted(source.text.slice(range.start, range.end))} is not a length`,
    sentence`give a number of tokens a line, or JSON as {"tokens": 4096, "count": 12} or {"4096": 12}`,
    { file: source.file, range },
  );
}

function isSound({ tokens, count }: LengthShare): boolean {
  return Number.isInteger(tokens) && tokens >= 1 && tokens <= longest && count > 0 && count < Infinity;
}

function entriesOfCounts(counts: Readonly<Record<string, unknown>>, text: string): Entry[] {
  return Object.entries(counts).map(([tokens, count]) => {
    const entry = { tokens: Number(tokens), count: Number(count), range: { start: 0, end: 0 } };
    if (isSound(entry)) return entry;
    const start = Math.max(0, text.indexOf(JSON.stringify(tokens)));
    return { ...entry, range: { start, end: start + JSON.stringify(tokens).length } };
  });
}

function entriesOfLines(text: string): Entry[] {
  const entries: Entry[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const written = line.trim();
    const at = start + line.indexOf(written);
    if (written !== '') entries.push({ ...parseLength(parseJson(written)), range: { start: at, end: at + written.length } });
    start += line.length + 1;
  }
  return entries;
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

import { ExpectedError } from '../../core/errors';
import type { LengthShare } from '../../core/domain/scheme';
import { sentence } from '../../core/sentence';

/** Names under which a line of JSON may give the tokens of a prompt or a document. */
const lengthKeys = ['tokens', 'length', 'prompt_tokens', 'prompt_len', 'input_length', 'input_tokens', 'num_tokens', 'seq_len'];
const longest = 2 ** 24;

/**
 * Lengths of prompts or documents from a file: a number a line, a JSON object a line that holds one (and maybe a `count`), or one object of
 * counts by length. @throws ExpectedError `prefill-lengths`.
 */
export function readLengths(text: string): readonly LengthShare[] {
  const whole = parseJson(text);
  const isHistogram = isObject(whole) && !lengthKeys.some((key) => key in whole);
  if (isHistogram) return checked(Object.entries(whole).map(([tokens, count]) => ({ tokens: Number(tokens), count: Number(count) })));
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return checked(
    lines.map((line) => {
      const value = parseJson(line);
      if (!isObject(value)) return { tokens: Number(value), count: 1 };
      const key = lengthKeys.find((each) => each in value);
      return { tokens: Number(key === undefined ? NaN : value[key]), count: Number(value['count'] ?? 1) };
    }),
  );
}

function checked(lengths: readonly LengthShare[]): readonly LengthShare[] {
  const isSound = ({ tokens, count }: LengthShare): boolean =>
    Number.isInteger(tokens) && tokens >= 1 && tokens <= longest && count > 0 && count < Infinity;
  const broken = lengths.findIndex((each) => !isSound(each));
  if (lengths.length > 0 && broken < 0) return lengths;
  throw new ExpectedError(
    'prefill-lengths',
    lengths.length === 0 ? sentence`There are no lengths in the file` : sentence`Entry ${broken + 1} is not a length`,
    sentence`give a number of tokens a line, or JSON as {"tokens": 4096, "count": 12} or {"4096": 12}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lengths as `training.lengths` has them, each once and ascending. */
export function writtenLengths(lengths: readonly LengthShare[]): readonly (readonly [tokens: number, count: number])[] {
  const counts = new Map<number, number>();
  for (const { tokens, count } of lengths) counts.set(tokens, (counts.get(tokens) ?? 0) + count);
  return [...counts].sort(([a], [b]) => a - b);
}

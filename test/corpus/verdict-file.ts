import { readFileSync } from 'node:fs';
import * as v from 'valibot';

/**
 * What somebody found who compared a file of the corpus with the source of its launcher. The rule `recognised` is about the file itself:
 * false where no person would call it a config to train with.
 */
export interface Verdict {
  /** Under the corpus folder: `owner+name/path/in/the/repository`. */
  readonly file: string;
  /** Code of a finding, or `recognised`. */
  readonly rule: string;
  /** Whether the finding is true. */
  readonly verdict: boolean;
  readonly why: string;
}

const schema = v.array(
  v.strictObject({ file: v.string(), rule: v.string(), verdict: v.boolean(), why: v.pipe(v.string(), v.minLength(1)) }),
);

/** The verdicts of the repository, in order of file and rule. */
export function readVerdicts(path = `${import.meta.dirname}/verdicts.json`): readonly Verdict[] {
  return v.parse(schema, JSON.parse(readFileSync(path, 'utf8')));
}

export type Judge = (file: string, rule: string) => Verdict | undefined;

export function judgeOf(verdicts: readonly Verdict[]): Judge {
  const known = new Map(verdicts.map((each) => [keyOf(each.file, each.rule), each]));
  return (file, rule) => known.get(keyOf(file, rule));
}

const keyOf = (file: string, rule: string): string => `${file}\n${rule}`;

/** One line for each verdict, in order of file and rule, so that several people can add theirs. */
export function writtenVerdicts(verdicts: readonly Verdict[]): string {
  const sorted = [...verdicts].sort((a, b) => (keyOf(a.file, a.rule) < keyOf(b.file, b.rule) ? -1 : 1));
  return `[\n${sorted.map((each) => `  ${JSON.stringify(each)}`).join(',\n')}\n]\n`;
}

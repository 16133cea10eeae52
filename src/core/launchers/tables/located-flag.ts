import type { Place, TextRange } from '../../domain/located';
import type { Fact } from '../../run/facts';
import type { FlagRead } from '../../languages/reads';

/** One word after a flag (or a YAML value). */
export interface FlagWord {
  /** Without its quotes; null where it is only known when the script runs. */
  readonly text: string | null;
  /** Of a path whose beginning is only known then: `./models/Qwen3-8B` for `$DATA/models/Qwen3-8B`. */
  readonly pathEnd?: string;
  /** Exactly the value's text. */
  readonly place: Place;
}

/** A command-line flag where a file gives it. */
export interface LocatedFlag {
  /** As written: `--num-layers`. */
  readonly name: string;
  readonly place: Place;
  /** Empty for a plain switch. A YAML reader gives `true` or `false` for a switch. */
  readonly words: readonly FlagWord[];
  /** What to cut out to remove the flag with its words. */
  readonly whole?: TextRange;
  /** Set under a condition that is known only at run time. */
  readonly isConditional?: true;
}

/** A flag as a fact; undefined where it is missing, or sets nothing that the fact can hold. */
export function flagFact<T>(flag: LocatedFlag | undefined, read: FlagRead<T>): Fact<T> | undefined {
  const outcome = flag === undefined ? null : flagOutcome(flag, read);
  if (flag === undefined || outcome === null || !('value' in outcome)) return undefined;
  const source = { kind: 'file', place: placeOfValue(flag), key: flag.name } as const;
  const { name, whole, isConditional } = flag;
  return { value: outcome.value, source, name, ...(whole && { whole }), ...(isConditional && { isConditional }) };
}

/** What its words mean; null where it is known only at run time. */
export function flagOutcome<T>({ words }: LocatedFlag, read: FlagRead<T>): ReturnType<FlagRead<T>['of']> | null {
  const texts = words.map((entry) => entry.text ?? (read.isPath === true ? (entry.pathEnd ?? null) : null));
  return texts.every((entry) => entry !== null) ? read.of(texts) : null;
}

/** From its first word to its last; of a switch its name. */
export function placeOfValue({ place, words }: LocatedFlag): Place {
  const [first, last] = [words[0], words.at(-1)];
  if (first === undefined || last === undefined) return place;
  const sameFile = first.place.file === last.place.file && last.place.range.end >= first.place.range.end;
  return sameFile ? { file: first.place.file, range: { start: first.place.range.start, end: last.place.range.end } } : first.place;
}

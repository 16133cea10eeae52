/** A length of prompts or sequences, and how often it comes. */
export interface LengthShare {
  readonly tokens: number;
  readonly count: number;
}

/** Lengths as a config writes them. */
export function lengthShares(written: readonly (readonly [tokens: number, count: number])[]): readonly LengthShare[] {
  return written.map(([tokens, count]) => ({ tokens, count }));
}

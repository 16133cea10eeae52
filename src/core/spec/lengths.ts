/** A length of prompts or sequences, and how often it comes. */
export interface LengthShare {
  readonly tokens: number;
  readonly count: number;
}

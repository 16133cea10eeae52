import type { Value } from './sentence';

/** What was found, for a person: the terminal prints it as lines of text, VS Code shows it as a document. Plain data. */
export interface Report {
  /** The answer in a sentence. */
  readonly headline: Value;
  /** Sentences right after it. */
  readonly lines?: readonly Value[];
  readonly blocks: readonly ReportBlock[];
  /** Sentences at the end. */
  readonly notes?: readonly Value[];
}

/** Rows of cells; a block without rows is not shown. */
export interface ReportBlock {
  readonly title?: Value;
  /** Names of the columns; left out: the first cell of a row names it. */
  readonly head?: readonly Value[];
  readonly rows: readonly (readonly Value[])[];
  /** Columns of text after the first; others are of numbers. */
  readonly left: readonly number[];
  /** What marks in the rows stand for. */
  readonly foot?: Value;
}

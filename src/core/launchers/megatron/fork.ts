import type { Capabilities, ProgramTraits } from '../../run/facts';

/** How scripts show which fork they start, surest first. */
interface ForkSigns {
  /** Flags that only it has, by `flagKey`. */
  readonly flags: readonly string[];
  /** Programs, modules and variables that only it has, in the text of a script. */
  readonly text: RegExp | null;
  /** Its repository, in the path of the script or in those that the script names. */
  readonly repository: RegExp;
}

/** A program of the Megatron-LM family: one record for each, which `forks.ts` lists. */
export interface MegatronFork {
  /** As its makers call it. */
  readonly name: string;
  /** Where its source is, and at which commit the lines are that its traits and rules rest on. */
  readonly source: string;
  readonly signs: ForkSigns;
  /**
   * What flags take whose choices differ between the programs of the family, by `flagKey`: its argparse stops at anything else. A flag of
   * `flagsThatDiffer` that is not listed takes anything here.
   */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  readonly traits: ProgramTraits;
  /** What it can run; absent: as Megatron-LM. */
  readonly capabilities?: Capabilities;
}

/** Flags whose choices differ between the programs of the family: what one of them refuses another takes. */
export const flagsThatDiffer: ReadonlySet<string> = new Set(['position-embedding-type', 'recompute-method']);

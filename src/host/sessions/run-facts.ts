import type { Fact, FactName, Facts } from '../../core/run/facts';
import type { SessionState } from './session-state';

/**
 * Everything a launcher's run sets: the launcher's facts, and where it leaves it open those of the model config joined to it. Empty for
 * other configs.
 */
export function factsOfRun({ launcher, run }: SessionState): Facts {
  return launcher === null ? {} : { ...run?.facts, ...launcher.facts };
}

/** One fact with its name in our vocabulary, whatever its type. */
export interface NamedFact {
  readonly key: FactName;
  readonly fact: Fact<unknown>;
}

export function namedFacts(facts: Facts): readonly NamedFact[] {
  return (Object.keys(facts) as FactName[]).flatMap((key) => {
    const fact = facts[key];
    return fact === undefined ? [] : [{ key, fact }];
  });
}

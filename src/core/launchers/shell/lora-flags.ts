import { loraSettings, type GivenAdapters } from '../../formats/adapters';
import { factOf, type LocatedFlag } from '../tables/located-flag';

/** Settings of LoRA as flags give them. */
export function loraFlags(flags: ReadonlyMap<string, LocatedFlag>): Omit<GivenAdapters, 'place' | 'name'> {
  return loraSettings((name, read) => factOf(flags.get(name.replaceAll('_', '-')), read));
}

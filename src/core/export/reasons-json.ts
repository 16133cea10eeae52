import type { Assumption } from '../domain/request';
import { say, type Sentence } from '../sentence';

/** An entry of JSON with its reason in English, also as `because`, the name it had first. */
export function withBecause<T extends { readonly reason: Sentence | string }>(
  entry: T,
): Omit<T, 'reason'> & { readonly reason: string; readonly because: string } {
  const reason = typeof entry.reason === 'string' ? entry.reason : say(entry.reason);
  return { ...entry, reason, because: reason };
}

/** What no file set, with its reason. */
export function assumptionJson({ key, value, reason }: Assumption): object {
  return withBecause({ key, value, reason });
}

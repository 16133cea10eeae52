import type { Sentence } from '../sentence';
import type { Located } from '../domain/located';
import type { Assumption } from '../domain/request';

/** A value that no file gives, and why it is taken. */
export interface Fallback<T> {
  readonly value: T;
  readonly reason: Sentence;
  /** As when it was first taken, where it is kept from there. */
  readonly firstReason?: Sentence;
}

/** Collects what had to be assumed while taking what is given. @param known what is assumed already. */
export function defaultsRecorder(known: readonly Assumption[] = []) {
  const assumptions = [...known];
  return {
    assumptions,
    valueOrDefault: <T>(key: string, given: Located<T> | undefined, fallback: () => Fallback<T>): T => {
      if (given !== undefined) return given.value;
      const { value, ...reasons } = fallback();
      assumptions.push({ key, value: typeof value === 'object' ? JSON.stringify(value) : String(value), ...reasons });
      return value;
    },
  };
}

export type ValueOrDefault = ReturnType<typeof defaultsRecorder>['valueOrDefault'];

/** A value that no file gives and that follows from what they do give, recorded as assumed. */
export function derivedValue<T>(valueOrDefault: ValueOrDefault, key: string, value: T, reason: Sentence): Located<T> {
  return { value: valueOrDefault(key, undefined, () => ({ value, reason })), source: { kind: 'default', reason } };
}

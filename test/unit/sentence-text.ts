import { say, type Value } from '../../src/core/sentence';
import type { Located } from '../../src/core/domain/located';

/** A sentence, or a value that fills one, in English; empty where there is none. */
export function toText(value: Value | null | undefined): string {
  return typeof value === 'object' && value !== null ? say(value) : String(value ?? '');
}

/** Where a value comes from, a default's reason in English. */
export function plainSource({ source }: Located<unknown>): object {
  return source.kind === 'default' ? { kind: 'default', reason: say(source.reason) } : source;
}

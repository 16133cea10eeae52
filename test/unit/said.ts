import { say, type Value } from '../../src/core/sentence';
import type { Located } from '../../src/core/domain/located';

/** What a sentence, or a value that fills one, says in English; nothing where there is none. */
export function said(value: Value | null | undefined): string {
  return typeof value === 'object' && value !== null ? say(value) : String(value ?? '');
}

/** Where a value comes from, a default's reason in English. */
export function saidSource({ source }: Located<unknown>): object {
  return source.kind === 'default' ? { kind: 'default', reason: say(source.reason) } : source;
}

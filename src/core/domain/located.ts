import type { Sentence } from '../sentence';

/** A half-open range of UTF-16 offsets in a text, as VS Code's `TextDocument.positionAt` counts. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A range in a named file. `file` is whatever the face that read it uses as identity: a path or a URI string. */
export interface Place {
  readonly file: string;
  readonly range: TextRange;
}

/** Where a value comes from. Every number on screen has one. */
export type Source =
  | { readonly kind: 'file'; readonly place: Place; readonly key: string }
  /** Not in any file: a documented default, with the sentence that documents it. A guess is an assumption of plans, which may be wrong. */
  | { readonly kind: 'default'; readonly reason: Sentence; readonly isGuess?: true }
  /** Given on the command line or by a control. */
  | { readonly kind: 'override' };

/** A value together with where it was read from, kept from the first parse on. */
export interface Located<T> {
  readonly value: T;
  readonly source: Source;
}

/** A value that no file gives, with the sentence that documents it. */
export function byDefault<T>(value: T, reason: Sentence): Located<T> {
  return { value, source: { kind: 'default', reason } };
}

/** A value that is guessed, and from what. */
export function guessed<T>(value: T, reason: Sentence): Located<T> {
  return { value, source: { kind: 'default', reason, isGuess: true } };
}

/** A value given on the command line or by a control. */
export function overridden<T>(value: T): Located<T> {
  return { value, source: { kind: 'override' } };
}

/** A value that follows from one that was read: same source. */
export function from<T>({ source }: Located<unknown>, value: T): Located<T> {
  return { value, source };
}

/** The fields of `T`, each with its source. */
export type LocatedFields<T> = { readonly [K in keyof T]: Located<T[K]> };

/** Drops the sources: `LocatedFields<T>` to plain `T`. */
export function plainValues<T extends object>(fields: LocatedFields<T>): T {
  return Object.fromEntries(Object.entries(fields).map(([key, located]) => [key, (located as Located<unknown>).value])) as T;
}

import { configError, ExpectedError } from '../core/errors';
import type { TextEdit } from '../core/findings';
import { fileStart, maximumConfigSize } from '../core/languages/json/document';
import { sentence } from '../core/sentence';
import { referencedPath } from '../host/sessions/referenced-path';

/** Plans of files without a folder are called after it. */
const root = 'file:///model/';
const mostEdits = 50;

/** Texts of files in memory, by their URI, `file:///model/PATH`. */
export interface WebFiles {
  readonly all: () => ReadonlyMap<string, string>;
  /** Puts a file, or changes it. @throws ExpectedError `config-too-large`. */
  readonly put: (file: string, text: string) => void;
  readonly clear: () => void;
  /** Keeps the file of a measured run, which may be large, without reading it. */
  readonly putMeasured: (file: string, content: File) => void;
  readonly measured: (file: string) => File | null;
  /** @throws ExpectedError `config-not-found`. */
  readonly read: (file: string) => string;
  /** Makes edits as one that `undo` takes back. */
  readonly edit: (edits: readonly TextEdit[]) => void;
  readonly canUndo: () => boolean;
  readonly undo: () => void;
}

/** @param changed hears of the file whose text is another. */
export function makeFiles(changed: (file: string) => void): WebFiles {
  const texts = new Map<string, string>();
  let measured: { readonly file: string; readonly content: File } | null = null;
  let undone: readonly ReadonlyMap<string, string>[] = [];
  const put = (file: string, text: string): void => {
    if (text.length > maximumConfigSize)
      throw configError('config-too-large', sentence`${displayPath(file)} is over 5 MB`, sentence`open a config`, fileStart(file));
    if (texts.get(file) === text) return;
    texts.set(file, text);
    changed(file);
  };
  return {
    all: () => texts,
    put,
    clear: () => {
      texts.clear();
      measured = null;
      undone = [];
    },
    putMeasured: (file, content) => (measured = { file, content }),
    measured: (file) => (measured?.file === file ? measured.content : null),
    read: (file) => {
      const text = texts.get(file);
      if (text !== undefined) return text;
      throw configError(
        'config-not-found',
        sentence`There is no file ${displayPath(file)}`,
        sentence`open it together with this one`,
        fileStart(file),
      );
    },
    edit: (edits) => {
      const before = new Map<string, string>();
      for (const { place, newText } of [...edits].sort((a, b) => b.place.range.start - a.place.range.start)) {
        const text = texts.get(place.file) ?? '';
        if (!before.has(place.file)) before.set(place.file, text);
        put(place.file, text.slice(0, place.range.start) + newText + text.slice(place.range.end));
      }
      if (before.size > 0) undone = [...undone, before].slice(-mostEdits);
    },
    canUndo: () => undone.length > 0,
    undo: () => {
      const last = undone.at(-1);
      undone = undone.slice(0, -1);
      for (const [file, text] of last ?? []) put(file, text);
    },
  };
}

/** The URI of a file by its path in what was opened. */
export function fileUri(path: string): string {
  return (
    root +
    path
      .replaceAll('\\', '/')
      .split('/')
      .filter((part) => part !== '')
      .map(encodeURIComponent)
      .join('/')
  );
}

/** A file's path in what was opened. */
export function displayPath(file: string): string {
  return decodeURIComponent(file.slice(root.length));
}

/** The URI of the file that `path` names inside the file `from`. @throws ExpectedError `config-not-found`. */
export function resolvePath(from: string, path: string): string {
  const referenced = referencedPath({ scheme: 'file', authority: '' }, path);
  if (referenced === null)
    throw new ExpectedError(
      'config-not-found',
      sentence`The path leads to another machine`,
      sentence`name a file next to this one`,
      fileStart(from),
    );
  const [base, relative] = 'absolute' in referenced ? [root, referenced.absolute] : [from, referenced.relative];
  return new URL(relative.split('/').map(encodeURIComponent).join('/'), base).href;
}

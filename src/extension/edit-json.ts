import { applyEdits, findNodeAtLocation, modify, parse, parseTree, type FormattingOptions, type ParseError } from 'jsonc-parser';
import { ExpectedError } from '../core/errors';

/** One value to set in a JSON text; `undefined` removes the key. */
export interface JsonChange {
  readonly path: readonly string[];
  readonly value: string | number | undefined;
}

/** The one replacement that turns a text into its changed version; comments and layout elsewhere stay. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly newText: string;
}

/**
 * Sets values in a JSON text with comments, as few characters changed as possible. Null when nothing changes.
 * @throws ExpectedError `config-json-syntax` when the text is no JSON: editing it would make it worse.
 */
export function changeJson(text: string, changes: readonly JsonChange[]): Replacement | null {
  const errors: ParseError[] = [];
  const root: unknown = parse(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  if (errors.length > 0 || (root !== undefined && (typeof root !== 'object' || root === null || Array.isArray(root))))
    throw new ExpectedError('config-json-syntax', 'terapipe.json has a JSON error', 'mend it first, then choose again');
  const formattingOptions = layoutOf(text);
  const changed = changes.reduce((current, change) => {
    const { path, value } = withinObjects(current, change);
    if (value === undefined && !exists(current, path)) return current;
    return applyEdits(current, modify(current, path, value, { formattingOptions }));
  }, text);
  return replacementBetween(text, changed);
}

/** The change as `modify` can make it: a parent that is no object (`"cluster": 3`) is replaced by one that holds the value. */
function withinObjects(text: string, { path, value }: JsonChange): { readonly path: string[]; readonly value: unknown } {
  const tree = parseTree(text);
  for (let depth = 1; depth < path.length; depth += 1) {
    const parent = tree === undefined ? undefined : findNodeAtLocation(tree, path.slice(0, depth));
    if (parent === undefined || parent.type === 'object') continue;
    const rest = path.slice(depth);
    const nested = value === undefined ? undefined : rest.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
    return { path: path.slice(0, depth), value: nested };
  }
  return { path: [...path], value };
}

function exists(text: string, path: string[]): boolean {
  const tree = parseTree(text);
  return tree !== undefined && findNodeAtLocation(tree, path) !== undefined;
}

function layoutOf(text: string): FormattingOptions {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

/** The smallest single replacement from one text to another. */
function replacementBetween(before: string, after: string): Replacement | null {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { start, end: before.length - tail, newText: after.slice(start, after.length - tail) };
}

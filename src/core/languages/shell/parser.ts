import { Edit, Language, Parser, type Tree, type TreeCursor } from 'web-tree-sitter';

/** The two WebAssembly modules, as the face found them: `web-tree-sitter.wasm` and `tree-sitter-bash.wasm`. */
interface ShellWasm {
  readonly runtime: Uint8Array;
  readonly bash: Uint8Array;
}

/**
 * A node of a script as plain data: named ones, and the few words of the grammar that say which child is what. Offsets are UTF-16 units.
 */
export interface ShellNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly children: readonly ShellNode[];
}

/** Gives the same tree for the same text, whatever it has parsed before. */
export interface ShellParser {
  /** The tree of a script; it tolerates errors (nodes of type `ERROR`). Null for a text that takes the grammar too long. */
  readonly parse: (text: string) => ShellNode | null;
}

/** Words of the grammar that distinguish the parts of a statement. */
const kept: ReadonlySet<string> = new Set(['then', 'do', 'in', '&&', '||', '!', '+=']);

/** Nothing that people write is nested deeper; what is deeper is left out. */
const maximumDepth = 150;

/** The engine calls back after a fixed number of steps, so that the limit is the same on every machine: about 1 MB of script. */
const maximumCalls = 10_000;

/** They have no children: the walk need not look. */
const leaves: ReadonlySet<string> = new Set([
  'variable_name',
  'special_variable_name',
  'word',
  'number',
  'string_content',
  'raw_string',
  'test_operator',
]);

/** web-tree-sitter 0.27 keeps one engine for all; two starts at once would make two, and each lose the languages of the other. */
let engine: Promise<void> | null = null;

function startEngine(runtime: Uint8Array): Promise<void> {
  return (engine ??= Parser.init({ wasmBinary: runtime }).catch((error: unknown) => {
    engine = null;
    throw error;
  }));
}

/** Compiles the grammar; may be called again while it does. Rejects when the bytes are not those two modules. */
export async function loadShellParser(wasm: ShellWasm): Promise<ShellParser> {
  await startEngine(wasm.runtime);
  const language = await Language.load(wasm.bash);
  const types = language.types.map((name, id) => (language.nodeTypeIsNamed(id) || kept.has(name) ? name : null));
  let last: Parsed | null = null;
  return {
    parse: (text) => {
      if (text.length < leastKept || text.length > mostKept) return parsed(language, types, text, null)?.root ?? null;
      const before: Parsed | null = last;
      const found = parsed(language, types, text, before);
      if (found !== null && found !== before) {
        before?.tree?.delete();
        last = found;
      }
      return found?.root ?? null;
    },
  };
}

/** A tree whose text is `by` characters further on. */
export function shifted(node: ShellNode, by: number): ShellNode {
  return { type: node.type, start: node.start + by, end: node.end + by, children: node.children.map((child) => shifted(child, by)) };
}

/** Sizes of texts whose tree is kept, so that only changes of the next text are parsed; characters. */
const [leastKept, mostKept] = [16_384, 500_000];

/** A text as the grammar reads it, with its tree in the engine. */
interface Parsed {
  readonly readable: string;
  /** Of a text that is kept. */
  readonly tree: Tree | null;
  readonly root: ShellNode;
  /** The statements of the root by the engine's own number. */
  readonly statements: ReadonlyMap<number, ShellNode>;
}

/** What differs between two texts: from `start` on, up to `oldEnd` of the one and `newEnd` of the other. */
interface Difference {
  readonly start: number;
  readonly oldEnd: number;
  readonly newEnd: number;
}

/**
 * @param before the last text; statements that are alike are taken over. A tree with an error is parsed whole: what the engine
 * makes of an error may depend on where it starts.
 */
function parsed(language: Language, types: readonly (string | null)[], text: string, before: Parsed | null): Parsed | null {
  const readableText = readable(text);
  if (before?.readable === readableText) return before;
  const isKept = text.length >= leastKept && text.length <= mostKept;
  const difference = before === null || !isKept ? null : differing(before.readable, readableText);
  const parser = new Parser();
  try {
    parser.setLanguage(language);
    let left = maximumCalls;
    const whole = (from: Tree | null): Tree | null => parser.parse(readableText, from, { progressCallback: () => (left -= 1) < 0 });
    let tree = before === null || difference === null ? null : partlyParsed(before, readableText, difference, whole);
    const taken = tree === null ? null : { before, difference };
    tree ??= whole(null);
    if (tree === null) return null;
    const statements = new Map<number, ShellNode>();
    const cursor = tree.walk();
    try {
      const root = plainTree(cursor, types, text, (id, start, end) => takenOver(taken, id, start, end), statements);
      return { readable: readableText, tree: isKept ? tree : null, root, statements };
    } finally {
      cursor.delete();
      if (!isKept) tree.delete();
    }
  } finally {
    parser.delete();
  }
}

/** Null where little is alike. */
function differing(old: string, text: string): Difference | null {
  const shorter = Math.min(old.length, text.length);
  let start = 0;
  while (start < shorter && old.charCodeAt(start) === text.charCodeAt(start)) start++;
  let same = 0;
  while (same < shorter - start && old.charCodeAt(old.length - 1 - same) === text.charCodeAt(text.length - 1 - same)) same++;
  const [oldEnd, newEnd] = [old.length - same, text.length - same];
  return Math.max(oldEnd, newEnd) - start > shorter / 10 ? null : { start, oldEnd, newEnd };
}

/** The tree of a text by that of the last one; null where it has an error. */
function partlyParsed(
  { tree, readable: old }: Parsed,
  text: string,
  { start, oldEnd, newEnd }: Difference,
  whole: (from: Tree) => Tree | null,
): Tree | null {
  // a copy: the old tree keeps the numbers of its nodes
  const edited = tree?.copy();
  if (edited === undefined) return null;
  try {
    edited.edit(
      new Edit({
        startIndex: start,
        oldEndIndex: oldEnd,
        newEndIndex: newEnd,
        startPosition: pointAt(old, start),
        oldEndPosition: pointAt(old, oldEnd),
        newEndPosition: pointAt(text, newEnd),
      }),
    );
    const found = whole(edited);
    if (found?.rootNode.hasError !== true) return found;
    found.delete();
    return null;
  } finally {
    edited.delete();
  }
}

function pointAt(text: string, index: number): { readonly row: number; readonly column: number } {
  let row = 0;
  let line = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', line)) {
    row++;
    line = at + 1;
  }
  return { row, column: index - line };
}

/** The statement of the last text that is this one, moved to where it is now; null where it is not the same. */
function takenOver(
  from: { readonly before: Parsed | null; readonly difference: Difference | null } | null,
  id: number,
  start: number,
  end: number,
): ShellNode | null {
  const [node, difference] = [from?.before?.statements.get(id), from?.difference];
  if (node === undefined || difference === null || difference === undefined || node.end - node.start !== end - start) return null;
  if (node.end < difference.start && node.start === start) return node;
  const by = difference.newEnd - difference.oldEnd;
  if (node.start <= difference.oldEnd || node.start + by !== start) return null;
  return by === 0 ? node : shifted(node, by);
}

/**
 * The text at the same length, with what the grammar does not parse replaced: `DATA=<path>/gpt`, a placeholder that a person fills in; a
 * backslash at the end of the file, which a shell accepts; and text after a second variable of a word, as in `$A/b$C/d` or `"x "n=$H,k=1`,
 * where the grammar takes `C/d` for a separate word, but not `C:d`. The tree only gives positions, so the original text is still what is
 * read.
 */
function readable(text: string): string {
  return text
    .replace(/(?<=[\s="'/:,])<[A-Za-z][^<>\n$|;&()"'`]{0,120}(?<! )>(?=[\w\s"'/\\;:,.-]|$)/g, (found) => 'x'.repeat(found.length))
    .replace(lateVariable, (found, variable: string | undefined) => (variable === undefined ? found : `${variable}:`))
    .replace(/\\[ \t]*\s*$/, (found) => ' '.repeat(found.length));
}

/**
 * A variable that follows other pieces of its word, with the sign after it; or, to be left unchanged, the rest of a line from an arithmetic
 * expression on, where the sign is an operator.
 */
const lateVariable = /(?:\(\(|\$\[).*|(\$(?<=[$}"'][\w/.,=:@%+~^*!-]{1,200}\$)(?:[A-Za-z_]\w*|\d))[/.,+~^*!-]/g;

interface Open {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly children: ShellNode[];
}

/** Copies what is needed out of WebAssembly's memory in one walk, except for statements that are `known`; notes all `statements`. */
function plainTree(
  cursor: TreeCursor,
  types: readonly (string | null)[],
  text: string,
  known: (id: number, start: number, end: number) => ShellNode | null,
  statements: Map<number, ShellNode>,
): ShellNode {
  const root: Open = { type: 'program', start: cursor.startIndex, end: cursor.endIndex, children: [] };
  const open = [root];
  let entering = cursor.gotoFirstChild();
  while (open.length > 0) {
    if (entering) {
      const isStatement = open.length === 1;
      const taken = isStatement ? known(cursor.nodeId, cursor.startIndex, cursor.endIndex) : null;
      const node = taken === null ? enter(cursor, types, text, open.at(-1)) : null;
      if (taken !== null) root.children.push(taken);
      const statement = taken ?? node;
      if (isStatement && statement !== null) statements.set(cursor.nodeId, statement);
      entering = node !== null && !leaves.has(node.type) && open.length < maximumDepth && cursor.gotoFirstChild();
      if (entering && node !== null) open.push(node);
      if (entering) continue;
    }
    entering = cursor.gotoNextSibling();
    if (entering) continue;
    open.pop();
    if (open.length > 0) cursor.gotoParent();
  }
  return root;
}

function enter(cursor: TreeCursor, types: readonly (string | null)[], text: string, parent: Open | undefined): Open | null {
  const id = cursor.nodeTypeId;
  // 65535 is the engine's own id of an error.
  const type = id === 65535 ? 'ERROR' : (types[id] ?? null);
  if (type === null || type === 'comment' || parent === undefined) return null;
  const [first, end] = [cursor.startIndex, cursor.endIndex];
  // Between two expansions in a string the grammar counts blanks and continued lines to the second one.
  const start = /(?:expansion|command_substitution)$/.test(type) ? findSigil(text, first, end) : first;
  const node = { type, start, end, children: [] };
  parent.children.push(node);
  return node;
}

/** Where the `$` or the backtick of an expansion is, which ends at `end`. */
function findSigil(text: string, start: number, end: number): number {
  const skipped = /^(?:\s|\\\r?\n)*/.exec(text.slice(start, end))?.[0].length ?? 0;
  return /[$`]/.test(text.charAt(start + skipped)) ? start + skipped : start;
}

import { Language, Parser, type TreeCursor } from 'web-tree-sitter';

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

/** Pure after it is loaded. */
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
  return { parse: (text) => parse(language, types, text) };
}

/** A tree whose text is `by` characters further on. */
export function shifted(node: ShellNode, by: number): ShellNode {
  return { type: node.type, start: node.start + by, end: node.end + by, children: node.children.map((child) => shifted(child, by)) };
}

function parse(language: Language, types: readonly (string | null)[], text: string): ShellNode | null {
  const parser = new Parser();
  try {
    parser.setLanguage(language);
    let left = maximumCalls;
    const tree = parser.parse(readable(text), null, { progressCallback: () => (left -= 1) < 0 });
    if (tree === null) return null;
    const cursor = tree.walk();
    try {
      return plainTree(cursor, types, text);
    } finally {
      cursor.delete();
      tree.delete();
    }
  } finally {
    parser.delete();
  }
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
  readonly children: Open[];
}

/** Copies what is needed out of WebAssembly's memory in one walk. */
function plainTree(cursor: TreeCursor, types: readonly (string | null)[], text: string): ShellNode {
  const root: Open = { type: 'program', start: cursor.startIndex, end: cursor.endIndex, children: [] };
  const open = [root];
  let entering = cursor.gotoFirstChild();
  while (open.length > 0) {
    if (entering) {
      const node = enter(cursor, types, text, open.at(-1));
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

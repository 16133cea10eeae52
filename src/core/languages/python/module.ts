import type { SyntaxNode } from '@lezer/common';
import { parser } from '@lezer/python';
import { sentence } from '../../sentence';
import { configError } from '../../errors';
import { upwards, type Layer } from '../layers';

/** The longest module of recipes has 23,000 words and signs, 170 in a line; the parser takes half a second for what is allowed here. */
const maximumSize = 2 ** 19;
const maximumTokens = 60_000;
const maximumLine = 4000;
const maximumDepth = 200;
/** Signs before an expression, for which the parser takes time by the square of their number. */
const prefixes = /(?:\bnot\s+){100}|(?:[-+~]\s*){100}|(?:\blambda\b[^:\n]{0,40}:\s*){50}|\*{100}/;

/** A name that a module takes from another one. */
interface Import {
  /** As written: `megatron.bridge.recipes.common`, `.common`, `.`. */
  readonly module: string;
  readonly name: string;
  readonly node: SyntaxNode;
}

/** A Python file, parsed and never run. Broken text leaves out what is broken. */
export interface PythonModule extends Layer {
  /** Functions of the top level, in file order. */
  readonly functions: ReadonlyMap<string, SyntaxNode>;
  /** What the top level assigns to plain names: the node of the value. */
  readonly constants: ReadonlyMap<string, SyntaxNode>;
  /** By the name that this module has for it. */
  readonly imports: ReadonlyMap<string, Import>;
}

/** @throws ExpectedError `config-too-large`, `config-too-deep`, placed. */
export function parsePython({ file, text }: Layer): PythonModule {
  refuseUnfit(file, text);
  const functions = new Map<string, SyntaxNode>();
  const constants = new Map<string, SyntaxNode>();
  const imports = new Map<string, Import>();
  for (const node of childNodes(parser.parse(text).topNode)) {
    const definition = node.name === 'DecoratedStatement' ? node.getChild('FunctionDefinition') : node;
    const name = definition?.getChild('VariableName');
    if (definition?.name === 'FunctionDefinition' && name) functions.set(text.slice(name.from, name.to), definition);
    else if (node.name === 'AssignStatement' && name && node.lastChild) constants.set(text.slice(name.from, name.to), node.lastChild);
    else if (node.name === 'ImportStatement') for (const [own, each] of parseFromImport(node, text)) imports.set(own, each);
  }
  return { file, text, functions, constants, imports };
}

/** Refuses what would cost the parser unbounded time, in passes without recursion. */
function refuseUnfit(file: string, text: string): void {
  const place = (start: number) => ({ file, range: { start, end: start } });
  const tooLarge = sentence`The file has too many settings for a config`;
  const remedy = sentence`name the config file itself`;
  if (text.length > maximumSize) throw configError('config-too-large', tooLarge, remedy, place(0));
  let [tokens, depth, line] = [0, 0, 0];
  for (const { 0: token, index } of text.matchAll(/\w+|\n|[^\w\s]/g)) {
    tokens += 1;
    if (token === '\n') line = index;
    if ('([{'.includes(token)) depth += 1;
    else if (')]}'.includes(token)) depth = Math.max(0, depth - 1);
    if (tokens > maximumTokens || index - line > maximumLine) throw configError('config-too-large', tooLarge, remedy, place(index));
    if (depth > maximumDepth)
      throw configError(
        'config-too-deep',
        sentence`Nested more than ${maximumDepth} levels deep`,
        sentence`name a config file`,
        place(index),
      );
  }
  const chain = prefixes.exec(text);
  if (chain !== null)
    throw configError(
      'config-too-deep',
      sentence`Nested more than ${maximumDepth} levels deep`,
      sentence`name a config file`,
      place(chain.index),
    );
}

export function childNodes(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** `from a.b import c as d, e`: the names on both sides. */
function parseFromImport(node: SyntaxNode, text: string): [string, Import][] {
  const [, module = '', names = ''] = /^from\s+([\w.]+)\s+import\s+\(?([\s\S]{0,20000}?)\)?\s*$/.exec(text.slice(node.from, node.to)) ?? [];
  return names
    .replace(/#[^\n]*/g, '')
    .split(',')
    .flatMap((each): [string, Import][] => {
      const [, name, own = name] = /^\s*(\w+)(?:\s+as\s+(\w+))?\s*$/.exec(each) ?? [];
      return name === undefined || own === undefined ? [] : [[own, { module, name, node }]];
    });
}

/** Where the file of an imported module may lie, from the file that imports it. */
export function modulePaths(module: string): readonly string[] {
  const [, dots = '', rest = ''] = /^(\.*)(.*)$/.exec(module) ?? [];
  const path = `${rest.replaceAll('.', '/')}.py`;
  if (dots !== '') return rest === '' ? [] : ['../'.repeat(dots.length - 1) + path];
  return upwards(path);
}

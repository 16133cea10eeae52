import type { Place, TextRange } from '../../domain/located';
import { appended, caseItem, isArgument, isGroup, lineEnd, sameText } from './values';
import { conditionHolds } from './conditions';
import type { Branch, Command, Evaluation, HereDocument, MaybeValue, ScriptHost, Sourced } from './evaluation';
import { expandElement, mixedParts, expandText, valueOf, type Scope, type Variable } from './expand';
import { commandString, pathWritten, scriptRun, sourcePath } from './inner-scripts';
import { mappedText } from './mapped-text';
import type { Origin, ScriptTexts } from './script-texts';
import { shifted, type ShellNode } from './parser';
import type { Element, Part, Value } from './words';

interface State {
  readonly texts: ScriptTexts;
  readonly host: ScriptHost;
  readonly sourced: Sourced[];
  readonly lost: TextRange[];
  /** Here-documents that are written to files, by their names. */
  readonly written: Map<string, readonly Part[]>;
  /** The words of the command that starts the shell that is followed: `srun -N 4`. */
  starter: readonly Element[];
  /** The branches that are followed. */
  branches: readonly Branch[];
  innerDepth: number;
  variables: Map<string, Variable>;
  readonly functions: Map<string, ShellNode>;
  readonly called: Set<string>;
  readonly commands: Command[];
  readonly hereDocuments: HereDocument[];
  readonly maybe: MaybeValue[];
  callDepth: number;
  stepsLeft: number;
}

const maximumSteps = 200_000;
const maximumCallDepth = 10;
const maximumInnerDepth = 5;

/**
 * Follows a script statement by statement. Nothing is executed: assignments are remembered, conditions judged where their words are known,
 * both branches followed where not.
 */
export function evaluate(texts: ScriptTexts, root: ShellNode, environment: ReadonlyMap<string, Value>, host: ScriptHost): Evaluation {
  const variables = new Map([...environment].map(([name, value]): [string, Variable] => [name, { value }]));
  const state: State = {
    texts,
    host,
    sourced: [],
    lost: [],
    written: new Map(),
    starter: [],
    branches: [],
    innerDepth: 0,
    variables,
    functions: new Map(),
    called: new Set(),
    commands: [],
    hereDocuments: [],
    maybe: [],
    callDepth: 0,
    stepsLeft: maximumSteps,
  };
  run(state, root);
  for (const [name, body] of state.functions) if (!state.called.has(name)) run(state, body);
  return state;
}

function expansionScope(state: State): Scope {
  return { text: state.texts.text(), get: (name) => state.variables.get(name), set: (name, value) => assign(state, name, value) };
}

function assign(state: State, name: string, value: Value): void {
  state.variables.set(name, { value });
}

function runAll(state: State, nodes: readonly ShellNode[]): void {
  for (const node of nodes) run(state, node);
}

function run(state: State, node: ShellNode): void {
  state.stepsLeft -= 1;
  if (state.stepsLeft < 0) return;
  (statements.get(node.type) ?? runChildren)(state, node);
}

function runChildren(state: State, { children }: ShellNode): void {
  runAll(state, children);
}

const statements: ReadonlyMap<string, (state: State, node: ShellNode) => void> = new Map([
  ['variable_assignment', runAssignment],
  ['unset_command', runUnset],
  ['if_statement', runIf],
  ['case_statement', runCase],
  ['for_statement', runFor],
  ['while_statement', runLoop],
  ['c_style_for_statement', runLoop],
  ['function_definition', define],
  ['list', runList],
  ['command', runCommand],
  ['redirected_statement', runRedirected],
]);

function runUnset(state: State, { children }: ShellNode): void {
  for (const { type, start, end } of children)
    if (type === 'variable_name') assign(state, state.texts.text().slice(start, end), { kind: 'scalar', parts: [] });
}

/** A body that runs never, once or often. */
function runLoop(state: State, node: ShellNode): void {
  const body = node.children.filter(({ type }) => type === 'do_group');
  runBranches(state, [body], false, node);
}

function runAssignment(state: State, node: ShellNode): void {
  const [target, ...rest] = node.children;
  if (target?.type !== 'variable_name') return;
  const name = state.texts.text().slice(target.start, target.end);
  const source = rest.find(({ type }) => type !== '+=');
  const value: Value = source === undefined ? { kind: 'scalar', parts: [] } : valueOf(expansionScope(state), source);
  const old = rest[0]?.type === '+=' ? state.variables.get(name) : undefined;
  const next = old === undefined ? value : appended(old.value, value);
  state.variables.set(name, { value: next, ...(old?.condition !== undefined && { condition: old.condition }) });
}

function runIf(state: State, node: ShellNode): void {
  const elseIfs = node.children.filter(({ type }) => type === 'elif_clause' || type === 'else_clause');
  const branches: (readonly ShellNode[])[] = [];
  let decided = false;
  for (const clause of [node, ...elseIfs]) {
    const at = clause.children.findIndex(({ type }) => type === 'then');
    const body = clause.children.slice(at + 1).filter((child) => !elseIfs.includes(child));
    const isElse = clause.type === 'else_clause';
    const holds = isElse || conditionHolds(expansionScope(state), at === 1 ? clause.children[0] : undefined);
    if (holds !== false) branches.push(body);
    decided = holds === true;
    if (decided) break;
  }
  if (decided && branches.length === 1) runAll(state, branches[0] ?? []);
  else if (branches.length > 0) runBranches(state, branches, decided, node);
}

function runCase(state: State, node: ShellNode): void {
  const [subject, ...rest] = node.children;
  const items = rest.filter(({ type }) => type === 'case_item').map((item) => caseItem(state.texts.text(), item));
  const word = subject === undefined ? null : expandText(expansionScope(state), subject);
  const isGlob = (pattern: string): boolean => /[*?[$`\\]/.test(pattern);
  const match = word === null ? undefined : items.find(({ patterns }) => patterns.some((pattern) => pattern === word || isGlob(pattern)));
  if (word !== null && match === undefined) return;
  if (match?.patterns.some((pattern) => pattern === word || pattern === '*') === true) runAll(state, match.body);
  else {
    const exhaustive = items.some(({ patterns }) => patterns.includes('*'));
    runBranches(
      state,
      items.map(({ body }) => body),
      exhaustive,
      node,
    );
  }
}

/** The body once, with the first word. */
function runFor(state: State, node: ShellNode): void {
  const at = node.children.findIndex(({ type }) => type === 'do_group');
  const [variable, , ...words] = node.children.slice(0, Math.max(at, 0));
  const first = words[0];
  if (variable?.type === 'variable_name' && first !== undefined) {
    const value = valueOf(expansionScope(state), first);
    state.variables.set(state.texts.text().slice(variable.start, variable.end), {
      value,
      ...(words.length > 1 && { condition: variable }),
    });
  }
  runAll(state, node.children.slice(at));
}

function define(state: State, node: ShellNode): void {
  const [name, body] = [node.children[0], node.children.at(-1)];
  if (name !== undefined && body !== undefined) state.functions.set(state.texts.text().slice(name.start, name.end), body);
}

function runList(state: State, node: ShellNode): void {
  const [left, operator, right] = node.children;
  if (left === undefined || right === undefined || (operator?.type !== '&&' && operator?.type !== '||')) {
    runAll(state, node.children);
    return;
  }
  run(state, left);
  const isTest = left.type === 'test_command' || left.type === 'negated_command' || left.type === 'compound_statement';
  const succeeds = operator.type === '&&' ? true : null;
  const holds = isTest ? conditionHolds(expansionScope(state), left) : succeeds;
  if (holds === null) runBranches(state, [[right]], false, node);
  else if (holds === (operator.type === '&&')) run(state, right);
}

/**
 * Follows branches, at most one of which is taken; which one is unknown. What was set before them stays (`exhaustive`: unless every branch
 * sets it);
 * what only they set is taken from the first that does. Either way it is marked with the condition.
 */
function runBranches(state: State, branches: readonly (readonly ShellNode[])[], exhaustive: boolean, { start, end }: TextRange): void {
  const before = state.variables;
  const condition = { start, end: Math.min(end, lineEnd(state.texts.text(), start)) };
  const outer = state.branches;
  const results = branches.map((branch, index) => {
    state.variables = new Map(before);
    state.branches = [...outer, { site: start, index }];
    runAll(state, branch);
    return state.variables;
  });
  state.branches = outer;
  state.variables = new Map(before);
  for (const name of new Set(results.flatMap((result) => [...result.keys()]))) {
    const old = before.get(name);
    const changed = results
      .map((result) => result.get(name))
      .filter((variable) => variable !== undefined && variable !== old) as Variable[];
    const isReplaced = exhaustive && changed.length === results.length;
    mergeVariable(state, name, isReplaced ? undefined : old, changed, isReplaced, condition);
  }
}

function mergeVariable(
  state: State,
  name: string,
  old: Variable | undefined,
  changed: readonly Variable[],
  isReplaced: boolean,
  condition: TextRange,
): void {
  // `--model) MODEL="$2"`: a script that is started without that argument leaves the variable to what it sets later
  const given = isReplaced || old !== undefined ? changed : changed.filter(({ value }) => !isArgument(value));
  const first = given[0];
  if (first === undefined) return;
  const kept = old ?? first;
  const settled = isReplaced && changed.every(({ value }) => sameText(value, first.value));
  const isCertain = settled || (old !== undefined && isGroup(old.value));
  state.variables.set(name, isCertain ? kept : { value: kept.value, condition });
  if (!settled) for (const { value } of changed) if (value !== kept.value && isGroup(value)) state.maybe.push({ value, condition });
}

function runCommand(state: State, node: ShellNode): void {
  const words = node.children.filter(({ type }) => type !== 'variable_assignment' && !type.endsWith('redirect'));
  const name = words[0];
  if (name === undefined) return;
  const written = state.texts.text().slice(name.start, name.end);
  const body = state.functions.get(written);
  const scope = expansionScope(state);
  if (body !== undefined && state.callDepth < maximumCallDepth) {
    call(state, written, body, words.slice(1));
    return;
  }
  const elements = words.map((word) => expandElement(scope, word));
  if (runSourced(state, elements) || runWritten(state, elements) || runString(state, elements)) return;
  state.commands.push({
    start: node.start,
    end: node.end,
    words: [...state.starter, ...elements],
    environment: commandEnvironment(scope, node),
    branches: state.branches,
  });
}

function commandEnvironment(scope: Scope, { children }: ShellNode): ReadonlyMap<string, Value> {
  const assignments = children.filter(({ type }) => type === 'variable_assignment');
  return new Map(
    assignments.flatMap(({ children: [target, ...rest] }): [string, Value][] => {
      const source = rest.find(({ type }) => type !== '+=');
      const isNamed = target?.type === 'variable_name' && source !== undefined;
      return isNamed ? [[scope.text.slice(target.start, target.end), valueOf(scope, source)]] : [];
    }),
  );
}

/** `source env.sh`: its statements as if they were here. */
function runSourced(state: State, words: readonly Element[]): boolean {
  const named = sourcePath(words);
  if (named === null) return false;
  const path = named.path ?? '';
  const isWritten = path !== '' && runWritten(state, words.slice(1));
  const found = isWritten || path === '' || state.innerDepth >= maximumInnerDepth ? null : state.host.sourced(path);
  if (found !== null) runText(state, found.text, { placeInFile: (range) => ({ file: found.file, range }) }, named.range);
  state.sourced.push({ ...named, isFound: isWritten || found !== null });
  return true;
}

/** `bash job.sh` of a file that a here-document wrote. */
function runWritten(state: State, words: readonly Element[]): boolean {
  const run = state.written.size === 0 ? null : scriptRun(words, (path) => state.written.has(path));
  if (run === null) return false;
  const parts = state.written.get(run.path) ?? [];
  state.written.delete(run.path);
  inStarter(state, run.starter, () => {
    runParts(state, parts, run.range);
  });
  state.written.set(run.path, parts);
  return true;
}

/** `bash -c '...'` and `eval "..."` of text that is more than the words of one command. */
function runString(state: State, words: readonly Element[]): boolean {
  const found = commandString(words);
  if (found === null) return false;
  let isRun = false;
  inStarter(state, found.starter, () => {
    isRun = runParts(state, found.parts, found.range);
  });
  return isRun;
}

function inStarter(state: State, starter: readonly Element[], follow: () => void): void {
  const before = state.starter;
  state.starter = [...before, ...starter];
  follow();
  state.starter = before;
}

function runParts(state: State, parts: readonly Part[], range: TextRange): boolean {
  const { text, sourceRange, conditionAt } = mappedText(state.texts.text(), parts);
  const placeInFile = (inner: TextRange): Place | null => {
    const source = sourceRange(inner);
    return source === null ? null : state.texts.placeAt(source);
  };
  return runText(state, text, { placeInFile, conditionAt }, range);
}

/** Whether a text that the statement at `range` brings in could be followed. */
function runText(state: State, text: string, origin: Origin, range: TextRange): boolean {
  if (state.innerDepth >= maximumInnerDepth) return false;
  const root = state.host.parse(text);
  const start = root === null ? null : state.texts.add(text, origin, state.texts.placeAt(range));
  if (root === null || start === null) {
    state.lost.push(range);
    return false;
  }
  state.innerDepth += 1;
  run(state, shifted(root, start));
  state.innerDepth -= 1;
  return true;
}

function call(state: State, name: string, body: ShellNode, words: readonly ShellNode[]): void {
  const scope = expansionScope(state);
  const outer = state.variables;
  const inner = new Map(outer);
  for (const [index, word] of words.entries()) inner.set(String(index + 1), { value: valueOf(scope, word) });
  const all: Variable = { value: { kind: 'array', elements: words.map((word) => expandElement(scope, word)) } };
  for (const every of allArguments) inner.set(every, all);
  state.variables = inner;
  state.called.add(name);
  state.callDepth += 1;
  run(state, body);
  state.callDepth -= 1;
  for (let index = 1; index <= words.length; index += 1) restore(state.variables, outer, String(index));
  for (const every of allArguments) restore(state.variables, outer, every);
}

/** `"$@"` and `$*`. */
const allArguments = ['@', '*'];

function restore(variables: Map<string, Variable>, outer: ReadonlyMap<string, Variable>, name: string): void {
  const old = outer.get(name);
  if (old === undefined) variables.delete(name);
  else variables.set(name, old);
}

function runRedirected(state: State, node: ShellNode): void {
  const text = state.texts.text();
  const documents = node.children.filter(({ type }) => type === 'heredoc_redirect');
  const command = node.children.find(({ type }) => type === 'command');
  const file = [...node.children, ...documents.flatMap(({ children }) => children)].find(({ type }) => type === 'file_redirect');
  const isShell = command !== undefined && takesScript(text, command);
  for (const child of node.children) if (!child.type.endsWith('redirect') && !(isShell && documents.length > 0)) run(state, child);
  for (const document of documents) {
    const parts = hereDocument(state, document);
    if (parts === null) continue;
    if (isShell) runParts(state, parts, command);
    const path = command === undefined ? null : pathWritten(expansionScope(state), command, file);
    if (path !== null) state.written.set(path, parts);
    runAll(
      state,
      document.children.filter(({ type }) => type === 'command' || type === 'pipeline'),
    );
  }
}

/** `sbatch <<EOF` and `bash -s <<EOF`: a command that reads a script and is given none. */
function takesScript(text: string, { start, end }: ShellNode): boolean {
  return /^(?:\S*\/)?(?:sbatch|ba?sh|zsh|srun\s[\s\S]*\bbash)(?:\s+-[^\n]*)?$/.test(text.slice(start, end).trim());
}

function hereDocument(state: State, { children }: ShellNode): readonly Part[] | null {
  const body = children.find(({ type }) => type === 'heredoc_body');
  const delimiter = children.find(({ type }) => type === 'heredoc_start');
  if (body === undefined || delimiter === undefined) return null;
  const isRaw = /["'\\]/.test(state.texts.text().slice(delimiter.start, delimiter.end));
  const parts = mixedParts(expansionScope(state), body.start, body.end, isRaw ? [] : body.children, isRaw ? 'raw' : 'quoted');
  state.hereDocuments.push({ start: body.start, end: body.end, parts });
  return parts;
}

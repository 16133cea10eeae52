import type { TextRange } from '../../spec/located';
import { conditionHolds } from './conditions';
import { elementOf, mixedParts, textOf, valueOf, type Scope, type Variable } from './expand';
import type { ShellNode } from './shell-parser';
import { valueText, type Element, type Part, type Value } from './words';

/** A command that the script may run, with its variables as they are at that point. */
export interface Command extends TextRange {
  readonly words: readonly Element[];
}

/** A here-document that is written to a file. */
export interface HereDocument extends TextRange {
  readonly parts: readonly Part[];
}

/** A list of flags that is only used under a condition. */
export interface MaybeValue {
  readonly value: Value;
  readonly condition: TextRange;
}

/** What a script does, as far as it can be known without running it. */
export interface Evaluation {
  readonly commands: readonly Command[];
  readonly hereDocuments: readonly HereDocument[];
  readonly variables: ReadonlyMap<string, Variable>;
  readonly maybe: readonly MaybeValue[];
}

interface State {
  readonly text: string;
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

/**
 * Follows a script statement by statement. Nothing is executed: assignments are remembered, conditions judged where their words are known,
 * both branches followed where not.
 */
export function evaluate(text: string, root: ShellNode, environment: ReadonlyMap<string, Value>): Evaluation {
  const variables = new Map([...environment].map(([name, value]): [string, Variable] => [name, { value }]));
  const state: State = {
    text,
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

function scopeOf(state: State): Scope {
  return { text: state.text, get: (name) => state.variables.get(name), set: (name, value) => assign(state, name, value) };
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
    if (type === 'variable_name') assign(state, state.text.slice(start, end), { kind: 'scalar', parts: [] });
}

/** A body that runs never, once or often. */
function runLoop(state: State, node: ShellNode): void {
  const body = node.children.filter(({ type }) => type === 'do_group');
  runBranches(state, [body], false, node);
}

function runAssignment(state: State, node: ShellNode): void {
  const [target, ...rest] = node.children;
  if (target?.type !== 'variable_name') return;
  const name = state.text.slice(target.start, target.end);
  const source = rest.find(({ type }) => type !== '+=');
  const value: Value = source === undefined ? { kind: 'scalar', parts: [] } : valueOf(scopeOf(state), source);
  const old = rest[0]?.type === '+=' ? state.variables.get(name) : undefined;
  const next = old === undefined ? value : appended(old.value, value);
  state.variables.set(name, { value: next, ...(old?.condition !== undefined && { condition: old.condition }) });
}

/** Longer lists are linked, not copied, so that appending stays cheap. */
const copiedLength = 2000;

function appended(old: Value, more: Value): Value {
  const length = old.kind === 'scalar' ? old.parts.length : old.elements.length;
  if (length > copiedLength) {
    const parts: readonly Part[] = [{ kind: 'ref', start: 0, end: 0, quoted: true, value: old }];
    return old.kind === 'scalar' && more.kind === 'scalar'
      ? { kind: 'scalar', parts: [...parts, ...more.parts] }
      : { kind: 'array', elements: [{ start: 0, end: 0, parts }, ...elementsOf(more)] };
  }
  if (old.kind === 'scalar' && more.kind === 'scalar') return { kind: 'scalar', parts: [...old.parts, ...more.parts] };
  return { kind: 'array', elements: [...elementsOf(old), ...elementsOf(more)] };
}

function elementsOf(value: Value): readonly Element[] {
  if (value.kind === 'array') return value.elements;
  const [first, last] = [value.parts[0], value.parts.at(-1)];
  return first === undefined || last === undefined ? [] : [{ start: first.start, end: last.end, parts: value.parts }];
}

function runIf(state: State, node: ShellNode): void {
  const elseIfs = node.children.filter(({ type }) => type === 'elif_clause' || type === 'else_clause');
  const branches: (readonly ShellNode[])[] = [];
  let decided = false;
  for (const clause of [node, ...elseIfs]) {
    const at = clause.children.findIndex(({ type }) => type === 'then');
    const body = clause.children.slice(at + 1).filter((child) => !elseIfs.includes(child));
    const isElse = clause.type === 'else_clause';
    const holds = isElse || conditionHolds(scopeOf(state), at === 1 ? clause.children[0] : undefined);
    if (holds !== false) branches.push(body);
    decided = holds === true;
    if (decided) break;
  }
  if (decided && branches.length === 1) runAll(state, branches[0] ?? []);
  else if (branches.length > 0) runBranches(state, branches, decided, node);
}

function runCase(state: State, node: ShellNode): void {
  const [subject, ...rest] = node.children;
  const items = rest.filter(({ type }) => type === 'case_item').map((item) => caseItem(state.text, item));
  const word = subject === undefined ? null : textOf(scopeOf(state), subject);
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

function caseItem(
  text: string,
  { start, end, children }: ShellNode,
): { readonly patterns: readonly string[]; readonly body: readonly ShellNode[] } {
  const written = text
    .slice(start, end)
    .replace(/^\(/, '')
    .replace(/\)[\s\S]*$/, '');
  const patterns = written.split('|').map((pattern) => pattern.trim().replace(/^(["'])(.*)\1$/, '$2'));
  const bodyStart = text.indexOf(')', start);
  return { patterns, body: children.filter((child) => child.start > bodyStart) };
}

/** The body once, with the first word. */
function runFor(state: State, node: ShellNode): void {
  const at = node.children.findIndex(({ type }) => type === 'do_group');
  const [variable, , ...words] = node.children.slice(0, Math.max(at, 0));
  const first = words[0];
  if (variable?.type === 'variable_name' && first !== undefined) {
    const value = valueOf(scopeOf(state), first);
    state.variables.set(state.text.slice(variable.start, variable.end), { value, ...(words.length > 1 && { condition: variable }) });
  }
  runAll(state, node.children.slice(at));
}

function define(state: State, node: ShellNode): void {
  const [name, body] = [node.children[0], node.children.at(-1)];
  if (name !== undefined && body !== undefined) state.functions.set(state.text.slice(name.start, name.end), body);
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
  const holds = isTest ? conditionHolds(scopeOf(state), left) : succeeds;
  if (holds === null) runBranches(state, [[right]], false, node);
  else if (holds === (operator.type === '&&')) run(state, right);
}

/**
 * Follows branches of which one at most is taken, nobody knows which. What was set before them stays (`exhaustive`: unless every branch
 * sets it);
 * what only they set is taken from the first that does. Either way it is marked with the condition.
 */
function runBranches(state: State, branches: readonly (readonly ShellNode[])[], exhaustive: boolean, { start, end }: TextRange): void {
  const before = state.variables;
  const condition = { start, end: Math.min(end, lineEnd(state.text, start)) };
  const results = branches.map((branch) => {
    state.variables = new Map(before);
    runAll(state, branch);
    return state.variables;
  });
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
  const first = changed[0];
  if (first === undefined) return;
  const kept = old ?? first;
  const settled = isReplaced && changed.every(({ value }) => sameText(value, first.value));
  const isCertain = settled || (old !== undefined && isGroup(old.value));
  state.variables.set(name, isCertain ? kept : { value: kept.value, condition });
  if (!settled) for (const { value } of changed) if (value !== kept.value && isGroup(value)) state.maybe.push({ value, condition });
}

function sameText(a: Value, b: Value): boolean {
  const text = valueText(a);
  return text !== null && text === valueText(b);
}

/** Whether a value is a list of flags: what differs is said flag by flag. */
function isGroup(value: Value): boolean {
  return value.kind === 'array' || value.parts.length > 1 || (valueText(value) ?? '--').includes('--');
}

function lineEnd(text: string, start: number): number {
  const at = text.slice(start, start + 200).search(/[\r\n;]/);
  return at === -1 ? start + 200 : start + at;
}

function runCommand(state: State, node: ShellNode): void {
  const words = node.children.filter(({ type }) => type !== 'variable_assignment' && !type.endsWith('redirect'));
  const name = words[0];
  if (name === undefined) return;
  const written = state.text.slice(name.start, name.end);
  const body = state.functions.get(written);
  const scope = scopeOf(state);
  if (body !== undefined && state.callDepth < maximumCallDepth) {
    call(state, written, body, words.slice(1));
    return;
  }
  state.commands.push({ start: node.start, end: node.end, words: words.map((word) => elementOf(scope, word)) });
}

function call(state: State, name: string, body: ShellNode, words: readonly ShellNode[]): void {
  const scope = scopeOf(state);
  const outer = state.variables;
  const inner = new Map(outer);
  for (const [index, word] of words.entries()) inner.set(String(index + 1), { value: valueOf(scope, word) });
  state.variables = inner;
  state.called.add(name);
  state.callDepth += 1;
  run(state, body);
  state.callDepth -= 1;
  for (let index = 1; index <= words.length; index += 1) restore(state.variables, outer, String(index));
}

function restore(variables: Map<string, Variable>, outer: ReadonlyMap<string, Variable>, name: string): void {
  const old = outer.get(name);
  if (old === undefined) variables.delete(name);
  else variables.set(name, old);
}

function runRedirected(state: State, node: ShellNode): void {
  for (const child of node.children) {
    if (child.type !== 'heredoc_redirect') {
      if (!child.type.endsWith('redirect')) run(state, child);
      continue;
    }
    const body = child.children.find(({ type }) => type === 'heredoc_body');
    const delimiter = child.children.find(({ type }) => type === 'heredoc_start');
    if (body === undefined || delimiter === undefined) continue;
    const isRaw = /["'\\]/.test(state.text.slice(delimiter.start, delimiter.end));
    const parts = mixedParts(scopeOf(state), body.start, body.end, isRaw ? [] : body.children, 'quoted');
    state.hereDocuments.push({ start: body.start, end: body.end, parts });
    runAll(
      state,
      child.children.filter(({ type }) => type === 'command' || type === 'pipeline'),
    );
  }
}

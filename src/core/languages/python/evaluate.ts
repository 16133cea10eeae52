import type { SyntaxNode } from '@lezer/common';
import type { Place } from '../../domain/located';
import { childNodes, modulePaths, type PythonModule } from './module';
import { applied, chosen } from './operators';
import { deepCopy, parseLiteral, truthiness, type PythonObject, type PythonPlain, type PythonValue } from './values';

/** Statements and expressions that one config may take; the longest recipe takes some hundreds. */
const mostSteps = 50_000;
const deepestCall = 20;
/** Long chains of members and operators nest to the left, statements by their indentation. */
const deepestNesting = 400;

/** Names of a function's body; a body whose condition is unknown leaves what it assigns unknown. */
interface Scope {
  readonly machine: Machine;
  readonly module: PythonModule;
  readonly names: Map<string, PythonValue>;
  readonly isCertain: boolean;
  readonly depth: number;
}

/** What a function of a module returns, followed through functions of these modules; nothing is run. Null where that is not an object. */
export function evaluateFunction(modules: readonly PythonModule[], own: PythonModule, name: string): PythonObject | null {
  const definition = own.functions.get(name);
  if (definition === undefined) return null;
  const machine: Machine = { modules, steps: 0, nesting: 0 };
  const result = call(machine, { module: own, definition, positional: [], keywords: new Map(), depth: 0 });
  return result?.kind === 'object' ? result : null;
}

/** What the top level of modules assigns, by name; a later module's goes before an earlier one's. Nothing is run. */
export function evaluateTopLevel(modules: readonly PythonModule[], own: PythonModule): PythonObject {
  const machine: Machine = { modules, steps: 0, nesting: 0 };
  const fields: PythonObject['fields'] = new Map();
  for (const module of modules) {
    const scope: Scope = { machine, module, names: new Map(), isCertain: true, depth: 0 };
    for (const [name, node] of module.constants) fields.set(name, { key: placeAt(scope, node), value: evaluate(scope, node) });
  }
  return { kind: 'object', callee: '', positional: [], fields, place: { file: own.file, range: { start: 0, end: own.text.length } } };
}

/** What one interpretation has at hand, and what it has taken. */
interface Machine {
  readonly modules: readonly PythonModule[];
  steps: number;
  nesting: number;
}

interface Call {
  readonly module: PythonModule;
  readonly definition: SyntaxNode;
  readonly positional: readonly PythonValue[];
  readonly keywords: ReadonlyMap<string, PythonValue>;
  readonly depth: number;
}

/** `work`, unless it is nested too deep or has taken too long. */
function within<T>({ machine }: Scope, work: () => T, otherwise: T): T {
  machine.steps += 1;
  if (machine.steps > mostSteps || machine.nesting > deepestNesting) return otherwise;
  machine.nesting += 1;
  const result = work();
  machine.nesting -= 1;
  return result;
}

function call(machine: Machine, { module, definition, positional, keywords, depth }: Call): PythonValue | null {
  if (depth > deepestCall) return null;
  const scope: Scope = { machine, module, names: new Map(), isCertain: true, depth };
  bind(scope, definition.getChild('ParamList'), positional, keywords);
  const body = definition.getChild('Body');
  return body === null ? null : run(scope, body);
}

function bind(scope: Scope, list: SyntaxNode | null, positional: readonly PythonValue[], keywords: ReadonlyMap<string, PythonValue>) {
  const nodes = list === null ? [] : childNodes(list);
  let index = 0;
  nodes.forEach((node, at) => {
    if (node.name !== 'VariableName') return;
    const name = nodeText(scope, node);
    const assign = nodes.slice(at + 1).find((next) => next.name === 'AssignOp' || next.name === ',');
    const fallback = assign?.name === 'AssignOp' ? assign.nextSibling : null;
    const value = keywords.get(name) ?? positional[index] ?? (fallback === null ? null : evaluate(scope, fallback));
    index += 1;
    scope.names.set(name, value ?? unknownAt(scope, node));
  });
}

/** Runs statements one after the other; what a `return` gives, else null. */
function run(scope: Scope, body: SyntaxNode): PythonValue | null {
  for (const statement of childNodes(body)) {
    const returned = within(scope, () => runOne(scope, statement), null);
    if (returned !== null) return returned;
  }
  return null;
}

function runOne(scope: Scope, statement: SyntaxNode): PythonValue | null {
  switch (statement.name) {
    case 'AssignStatement':
      assignAll(scope, statement);
      return null;
    case 'UpdateStatement':
      if (statement.firstChild) assign(scope, statement.firstChild, unknownAt(scope, statement));
      return null;
    case 'ExpressionStatement':
      if (statement.firstChild) evaluate(scope, statement.firstChild);
      return null;
    case 'ReturnStatement':
      return statement.lastChild === null || statement.lastChild.name === 'return' ? null : evaluate(scope, statement.lastChild);
    case 'IfStatement':
      return runIf(scope, statement);
    case 'WithStatement':
    case 'TryStatement':
      return run(scope, statement.getChild('Body') ?? statement);
    case 'ForStatement':
    case 'WhileStatement':
      run({ ...scope, isCertain: false }, statement.getChild('Body') ?? statement);
      return null;
    default:
      return null;
  }
}

function runIf(scope: Scope, statement: SyntaxNode): PythonValue | null {
  const parts = childNodes(statement);
  let isCertain = scope.isCertain;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    if (part?.name !== 'Body') continue;
    const isElse = parts[at - 1]?.name === 'else';
    const condition = parts[at - 1];
    const truth = isElse || condition === undefined ? true : truthiness(evaluate(scope, condition));
    if (truth === false) continue;
    if (truth === null) isCertain = false;
    const returned = run({ ...scope, isCertain }, part);
    if (truth === true) return returned;
  }
  return null;
}

function assignAll(scope: Scope, statement: SyntaxNode): void {
  const parts = childNodes(statement).filter(({ name }) => name !== 'TypeDef');
  const last = parts.at(-1);
  if (last === undefined || last.name === 'AssignOp' || !parts.some(({ name }) => name === 'AssignOp')) return;
  const value = evaluate(scope, last);
  const targets = parts.slice(0, -1).filter(({ name }) => name !== 'AssignOp' && name !== ',');
  const isTuple = parts.some(({ name }) => name === ',');
  targets.forEach((target, index) => {
    const each = !isTuple ? value : value.kind === 'list' ? value.items[index] : undefined;
    assign(scope, target, each ?? unknownAt(scope, target));
  });
}

function assign(scope: Scope, target: SyntaxNode, given: PythonValue): void {
  const value: PythonValue = scope.isCertain ? given : { kind: 'unknown', place: given.place };
  if (target.name === 'VariableName') scope.names.set(nodeText(scope, target), value);
  if (target.name !== 'MemberExpression' || target.firstChild === null || target.lastChild === null) return;
  const owner = objectAt(scope, target.firstChild);
  const name = memberName(scope, target);
  if (owner !== null && name !== null) owner.fields.set(name, { key: placeAt(scope, target), value });
}

/** The object that is assigned into; one is made where a member has none yet, of the value that it has. */
function objectAt(scope: Scope, node: SyntaxNode): PythonObject | null {
  return within(scope, () => foundAt(scope, node), null);
}

function foundAt(scope: Scope, node: SyntaxNode): PythonObject | null {
  const value = evaluate(scope, node);
  if (value.kind === 'object') return value;
  if (node.name !== 'MemberExpression') return null;
  const callee = value.kind === 'plain' && typeof value.value === 'string' ? value.value : value.kind === 'name' ? value.name : '';
  const made: PythonObject = { kind: 'object', callee, positional: [], fields: new Map(), place: value.place };
  assign({ ...scope, isCertain: true }, node, made);
  return made;
}

/** The name after the dot, or the string between brackets. */
function memberName(scope: Scope, node: SyntaxNode): string | null {
  const property = node.getChild('PropertyName');
  if (property !== null) return nodeText(scope, property);
  const inside = node.getChild('[')?.nextSibling;
  const key = inside === null || inside === undefined ? null : evaluate(scope, inside);
  return key?.kind === 'plain' && key.value !== null ? String(key.value) : null;
}

function evaluate(scope: Scope, node: SyntaxNode): PythonValue {
  return within(scope, () => valueOf(scope, node), unknownAt(scope, node));
}

function valueOf(scope: Scope, node: SyntaxNode): PythonValue {
  const plain = (value: PythonPlain): PythonValue => ({ kind: 'plain', value, place: placeAt(scope, node) });
  switch (node.name) {
    case 'Number':
    case 'String':
    case 'ContinuedString': {
      const value = parseLiteral(node.name, nodeText(scope, node));
      return value === null ? unknownAt(scope, node) : plain(value);
    }
    case 'Boolean':
      return plain(nodeText(scope, node) === 'True');
    case 'None':
      return plain(null);
    case 'VariableName':
      return resolveName(scope, node);
    case 'MemberExpression':
      return memberValue(scope, node);
    case 'CallExpression':
      return callValue(scope, node);
    case 'ParenthesizedExpression':
      return placed(evaluate(scope, node.firstChild?.nextSibling ?? node.firstChild ?? node), placeAt(scope, node));
    case 'ArrayExpression':
    case 'TupleExpression':
      return { kind: 'list', items: itemNodes(node).map((item) => evaluate(scope, item)), place: placeAt(scope, node) };
    case 'DictionaryExpression':
      return dictionary(scope, node);
    case 'UnaryExpression':
      return unary(scope, node);
    case 'BinaryExpression':
      return binary(scope, node);
    case 'ConditionalExpression':
      return conditional(scope, node);
    default:
      return unknownAt(scope, node);
  }
}

function resolveName(scope: Scope, node: SyntaxNode): PythonValue {
  const name = nodeText(scope, node);
  const local = scope.names.get(name);
  if (local !== undefined) return local;
  const constant = findConstant(scope, name);
  if (constant === null) return { kind: 'name', name, place: placeAt(scope, node) };
  const [module, value] = constant;
  if (scope.depth >= deepestCall) return unknownAt(scope, node);
  return evaluate({ ...scope, module, names: new Map(), isCertain: true, depth: scope.depth + 1 }, value);
}

function memberValue(scope: Scope, node: SyntaxNode): PythonValue {
  const base = node.firstChild === null ? null : evaluate(scope, node.firstChild);
  const name = memberName(scope, node);
  if (base === null || name === null) return unknownAt(scope, node);
  if (base.kind === 'object') return base.fields.get(name)?.value ?? unknownAt(scope, node);
  if (base.kind === 'list') return base.items[Number(name)] ?? unknownAt(scope, node);
  return base.kind === 'name' ? { ...base, name: `${base.name}.${name}`, place: placeAt(scope, node) } : unknownAt(scope, node);
}

function callValue(scope: Scope, node: SyntaxNode): PythonValue {
  const [target, list] = [node.firstChild, node.getChild('ArgList')];
  if (target === null) return unknownAt(scope, node);
  const { positional, keywords, spread } = evaluateArguments(scope, list);
  const place = placeAt(scope, node);
  const own = target.name === 'VariableName' ? findFunction(scope, nodeText(scope, target)) : null;
  if (own !== null) {
    const [module, definition] = own;
    const next = { module, definition, positional, keywords: valuesIn(keywords), depth: scope.depth + 1 };
    return call(scope.machine, next) ?? unknownAt(scope, node);
  }
  const method = target.name === 'MemberExpression' && target.firstChild !== null ? evaluate(scope, target.firstChild) : null;
  const called = method?.kind === 'object' ? method : null;
  const callee = called === null ? dotted(scope, target) : `${called.callee}.${memberName(scope, target) ?? ''}`;
  const [first] = positional;
  if (/(^|\.)(deepcopy|replace)$/.test(callee) && called === null && first?.kind === 'object') return overlaid(first, keywords);
  const given = called !== null && positional.length === 0 ? called.positional : positional;
  return { kind: 'object', callee, positional: given, fields: new Map([...spread, ...keywords]), place };
}

function evaluateArguments(scope: Scope, list: SyntaxNode | null) {
  const positional: PythonValue[] = [];
  const keywords: PythonObject['fields'] = new Map();
  const spread: PythonObject['fields'] = new Map();
  const nodes = list === null ? [] : childNodes(list);
  nodes.forEach((node, at) => {
    const [before, after] = [nodes[at - 1]?.name, nodes[at + 1]?.name];
    if (/^[(),*]+$|^AssignOp$|^Comment$/.test(node.name) || before === '*') return;
    if (node.name === 'VariableName' && after === 'AssignOp') return;
    const value = evaluate(scope, node);
    const named = before === 'AssignOp' ? nodes[at - 2] : undefined;
    if (named !== undefined) keywords.set(nodeText(scope, named), { key: placeAt(scope, named), value });
    else if (before !== '**') positional.push(value);
    else if (value.kind === 'object') for (const [name, field] of value.fields) spread.set(name, field);
  });
  return { positional, keywords, spread };
}

function dictionary(scope: Scope, node: SyntaxNode): PythonValue {
  const fields: PythonObject['fields'] = new Map();
  const nodes = childNodes(node);
  nodes.forEach((value, at) => {
    const key = nodes[at - 2];
    if (nodes[at - 1]?.name === '**') {
      const more = evaluate(scope, value);
      if (more.kind === 'object') for (const [name, field] of more.fields) fields.set(name, field);
    }
    if (nodes[at - 1]?.name !== ':' || key === undefined) return;
    const name = evaluate(scope, key);
    if (name.kind === 'plain') fields.set(String(name.value), { key: placeAt(scope, key), value: evaluate(scope, value) });
  });
  return { kind: 'object', callee: 'dict', positional: [], fields, place: placeAt(scope, node) };
}

function unary(scope: Scope, node: SyntaxNode): PythonValue {
  if (node.firstChild === null || node.lastChild === null) return unknownAt(scope, node);
  const operator = nodeText(scope, node.firstChild);
  const value = evaluate(scope, node.lastChild);
  const truth = truthiness(value);
  if (operator === 'not' && truth !== null) return { kind: 'plain', value: !truth, place: placeAt(scope, node) };
  if (operator !== '-' || value.kind !== 'plain' || typeof value.value !== 'number') return unknownAt(scope, node);
  return { kind: 'plain', value: -value.value, place: placeAt(scope, node) };
}

function binary(scope: Scope, node: SyntaxNode): PythonValue {
  const [first, last] = [node.firstChild, node.lastChild];
  if (first === null || last === null || first === last) return unknownAt(scope, node);
  const operator = scope.module.text.slice(first.to, last.from).trim().replace(/\s+/g, ' ');
  const [left, right] = [evaluate(scope, first), evaluate(scope, last)];
  if (operator === 'and' || operator === 'or') return chosen(operator, left, right) ?? unknownAt(scope, node);
  if (operator === 'in' && left.kind === 'plain' && right.kind === 'list' && right.items.every(({ kind }) => kind === 'plain'))
    return { kind: 'plain', value: right.items.some((item) => applied('==', left, item) === true), place: placeAt(scope, node) };
  const value = applied(operator, left, right);
  return value === undefined ? unknownAt(scope, node) : { kind: 'plain', value, place: placeAt(scope, node) };
}

function conditional(scope: Scope, node: SyntaxNode): PythonValue {
  const [yes, condition, no] = childNodes(node).filter(({ name }) => name !== 'if' && name !== 'else');
  const truth = condition === undefined ? null : truthiness(evaluate(scope, condition));
  const branch = truth === null ? undefined : truth ? yes : no;
  return branch === undefined ? unknownAt(scope, node) : evaluate(scope, branch);
}

function dotted(scope: Scope, node: SyntaxNode): string {
  const value = evaluate(scope, node);
  return value.kind === 'name' ? value.name : '';
}

function findFunction(scope: Scope, name: string): readonly [PythonModule, SyntaxNode] | null {
  return definedIn(scope, name, (each, own) => each.functions.get(own));
}
function findConstant(scope: Scope, name: string): readonly [PythonModule, SyntaxNode] | null {
  return definedIn(scope, name, (each, own) => each.constants.get(own));
}

function definedIn(
  { module, machine }: Scope,
  name: string,
  find: (module: PythonModule, name: string) => SyntaxNode | undefined,
): readonly [PythonModule, SyntaxNode] | null {
  let [at, own] = [module, name];
  for (let hops = 0; hops < 5; hops += 1) {
    const node = find(at, own);
    if (node !== undefined) return [at, node];
    const imported = at.imports.get(own);
    const next = imported === undefined ? undefined : moduleNamed(machine, imported.module);
    if (imported === undefined || next === undefined) return null;
    [at, own] = [next, imported.name];
  }
  return null;
}

function moduleNamed({ modules }: Machine, name: string): PythonModule | undefined {
  const end = modulePaths(name)[0]?.replace(/^(\.\.\/)+/, '');
  return end === undefined ? undefined : modules.find(({ file }) => `/${file.replaceAll('\\', '/')}`.endsWith(`/${end}`));
}

function overlaid(base: PythonObject, keywords: PythonObject['fields']): PythonValue {
  const copy = deepCopy(base);
  if (copy.kind === 'object') for (const [name, field] of keywords) copy.fields.set(name, field);
  return copy;
}

function valuesIn(fields: PythonObject['fields']): ReadonlyMap<string, PythonValue> {
  return new Map([...fields].map(([name, { value }]) => [name, value]));
}

function itemNodes(node: SyntaxNode): readonly SyntaxNode[] {
  return childNodes(node).filter(({ name }) => !/^[[\](),]$|^Comment$/.test(name));
}

function nodeText({ module }: Scope, { from, to }: SyntaxNode): string {
  return module.text.slice(from, to);
}

function placeAt({ module }: Scope, { from, to }: SyntaxNode): Place {
  return { file: module.file, range: { start: from, end: to } };
}

function placed(value: PythonValue, place: Place): PythonValue {
  return value.kind === 'plain' ? { ...value, place } : value;
}

function unknownAt(scope: Scope, node: SyntaxNode): PythonValue {
  return { kind: 'unknown', place: placeAt(scope, node) };
}

import { arithmetic } from './arithmetic';
import { expandText, type Scope } from './expand';
import type { ShellNode } from './parser';
import { valueText } from './words';
import { own } from '../../records';

/** Whether a condition holds; null where that is only known when the script runs. */
export function conditionHolds(scope: Scope, node: ShellNode | undefined): boolean | null {
  if (node === undefined) return null;
  const inner = node.children.filter(({ type }) => type !== '!');
  switch (node.type) {
    case 'test_command':
    case 'parenthesized_expression':
      return inner.length === 1 ? conditionHolds(scope, inner[0]) : null;
    case 'compound_statement':
      return inner.length === 1 ? arithmeticHolds(scope, node) : null;
    case 'negated_command':
      return not(conditionHolds(scope, inner[0]));
    case 'list':
      return joined(scope, inner);
    case 'unary_expression':
      return node.children[0]?.type === '!' ? not(conditionHolds(scope, inner[0])) : unary(scope, inner);
    case 'binary_expression':
      return scope.text[node.start] === '(' ? null : binary(scope, node);
    case 'command':
      return commandHolds(scope.text.slice(node.start, node.end));
    default:
      return null;
  }
}

function commandHolds(written: string): boolean | null {
  return written === 'true' || written === ':' ? true : written === 'false' ? false : null;
}

function not(holds: boolean | null): boolean | null {
  return holds === null ? null : !holds;
}

function arithmeticHolds(scope: Scope, node: ShellNode): boolean | null {
  const variable = (name: string): string | null => {
    const found = scope.get(name);
    return found === undefined ? null : valueText(found.value);
  };
  const value = arithmetic(node, { text: scope.text, read: (inner) => expandText(scope, inner), variable });
  return value === null ? null : value !== 0;
}

function joined(scope: Scope, inner: readonly ShellNode[]): boolean | null {
  const operator = inner.find(({ type }) => type === '&&' || type === '||')?.type;
  const [left, right] = inner.filter(({ type }) => type !== '&&' && type !== '||').map((child) => conditionHolds(scope, child));
  if (left === undefined || right === undefined || operator === undefined) return null;
  const decisive = operator === '||';
  if (left === decisive || right === decisive) return decisive;
  return left === null || right === null ? null : !decisive;
}

function unary(scope: Scope, [operator, operand]: readonly ShellNode[]): boolean | null {
  const written = operator === undefined ? '' : scope.text.slice(operator.start, operator.end);
  const value = operand === undefined || !/^-[nz]$/.test(written) ? null : expandText(scope, operand);
  return value === null ? null : (value === '') === (written === '-z');
}

const numeric: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '-eq': (a, b) => a === b,
  '-ne': (a, b) => a !== b,
  '-lt': (a, b) => a < b,
  '-le': (a, b) => a <= b,
  '-gt': (a, b) => a > b,
  '-ge': (a, b) => a >= b,
};

function binary(scope: Scope, node: ShellNode): boolean | null {
  const operands = node.children.filter(({ type }) => type !== '&&' && type !== '||' && type !== 'test_operator');
  const [left, right] = operands;
  if (left === undefined || right === undefined || operands.length !== 2) return null;
  const operator = scope.text.slice(left.end, right.start).trim();
  if (operator === '&&' || operator === '||' || operator === '-a' || operator === '-o')
    return joined(scope, asList(node, left, right, operator));
  const [a, b] = [expandText(scope, left), expandText(scope, right)];
  if (a === null || b === null) return null;
  const compare = own(numeric, operator);
  if (compare !== undefined) return /^\s*-?\d{1,15}\s*$/.test(a) && /^\s*-?\d{1,15}\s*$/.test(b) ? compare(Number(a), Number(b)) : null;
  const isPattern = right.type !== 'string' && right.type !== 'raw_string' && /[*?[]/.test(b);
  if (isPattern) return null;
  return operator === '=' || operator === '==' ? a === b : operator === '!=' ? a !== b : null;
}

function asList({ start, end }: ShellNode, left: ShellNode, right: ShellNode, operator: string): readonly ShellNode[] {
  const type = operator === '&&' || operator === '-a' ? '&&' : '||';
  return [left, { type, start, end, children: [] }, right];
}

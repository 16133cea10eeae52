import type { ShellNode } from './parser';

interface Operands {
  readonly text: string;
  readonly read: (node: ShellNode) => string | null;
  readonly variable: (name: string) => string | null;
}

const operations: ReadonlyMap<string, (left: number, right: number) => number> = new Map<string, (left: number, right: number) => number>([
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => (b === 0 ? NaN : Math.trunc(a / b))],
  ['%', (a, b) => a % b],
  ['**', (a, b) => (b < 0 ? NaN : a ** b)],
  ['<<', (a, b) => a * 2 ** b],
  ['>>', (a, b) => Math.floor(a / 2 ** b)],
  ['==', (a, b) => Number(a === b)],
  ['!=', (a, b) => Number(a !== b)],
  ['<', (a, b) => Number(a < b)],
  ['<=', (a, b) => Number(a <= b)],
  ['>', (a, b) => Number(a > b)],
  ['>=', (a, b) => Number(a >= b)],
  ['&&', (a, b) => Number(a !== 0 && b !== 0)],
  ['||', (a, b) => Number(a !== 0 || b !== 0)],
]);

/** The whole number that `$(( ... ))` gives; null where a variable is not known, or beyond exact numbers. */
export function arithmetic(node: ShellNode, operands: Operands): number | null {
  const value = evaluate(node, operands);
  return Number.isSafeInteger(value) ? value : null;
}

function evaluate(node: ShellNode, operands: Operands): number {
  const [first, second] = node.children;
  switch (node.type) {
    case 'arithmetic_expansion':
    case 'parenthesized_expression':
    case 'compound_statement':
      return first === undefined || second !== undefined ? NaN : evaluate(first, operands);
    case 'number':
      return wholeNumber(operands.text.slice(node.start, node.end));
    case 'variable_name':
    case 'word':
      return wholeNumber(operands.variable(operands.text.slice(node.start, node.end)));
    case 'binary_expression':
      return binary(node, operands);
    case 'unary_expression': {
      const last = node.children.at(-1);
      const sign = last === undefined ? '' : operands.text.slice(node.start, last.start).trim();
      const value = last === undefined ? NaN : evaluate(last, operands);
      return sign === '-' ? -value : sign === '+' ? value : sign === '!' ? Number(value === 0) : NaN;
    }
    default:
      return wholeNumber(operands.read(node));
  }
}

function binary(node: ShellNode, operands: Operands): number {
  const named = node.children.filter(({ type }) => type !== '&&' && type !== '||');
  const [left, right] = named;
  if (left === undefined || right === undefined || named.length !== 2) return NaN;
  const operation = operations.get(operands.text.slice(left.end, right.start).trim());
  return operation === undefined ? NaN : operation(evaluate(left, operands), evaluate(right, operands));
}

/** A leading zero means octal to a shell: not guessed at. */
function wholeNumber(text: string | null): number {
  return text !== null && /^\s*[+-]?(0|[1-9]\d{0,15})\s*$/.test(text) ? Number(text) : NaN;
}

import type { PythonPlain, PythonValue } from './values';
import { truthiness } from './values';
import { own } from '../../records';

/** A string that is doubled line by line would not fit memory. */
const longestString = 10_000;

const arithmetic: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '//': (left, right) => Math.floor(left / right),
  '%': (left, right) => left - right * Math.floor(left / right),
  '**': (left, right) => left ** right,
};

const comparisons: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
};

/** The result of an operator on the values of both sides; undefined where it is not known. `and` and `or` give one of the sides. */
export function applied(operator: string, left: PythonValue, right: PythonValue): PythonPlain | undefined {
  const equal = equals(left, right);
  if (operator === '==' || operator === 'is') return equal ?? undefined;
  if (operator === '!=' || operator === 'is not') return equal === null ? undefined : !equal;
  if (left.kind !== 'plain' || right.kind !== 'plain') return undefined;
  if (operator === '+' && typeof left.value === 'string' && typeof right.value === 'string')
    return left.value.length + right.value.length > longestString ? undefined : left.value + right.value;
  if (typeof left.value !== 'number' || typeof right.value !== 'number') return undefined;
  const compare = own(comparisons, operator);
  if (compare !== undefined) return compare(left.value, right.value);
  const result = own(arithmetic, operator)?.(left.value, right.value);
  return result !== undefined && Number.isFinite(result) ? result : undefined;
}

/** Which side `and` or `or` evaluates to; null where it is not known. */
export function chosen(operator: 'and' | 'or', left: PythonValue, right: PythonValue): PythonValue | null {
  const truth = truthiness(left);
  return truth === null ? null : truth === (operator === 'and') ? right : left;
}

/** Null where it is not known. */
function equals(left: PythonValue, right: PythonValue): boolean | null {
  if (left.kind === 'plain' && right.kind === 'plain') return left.value === right.value;
  const none = [left, right].find((each) => each.kind === 'plain' && each.value === null);
  const other = none === left ? right : left;
  return none !== undefined && (other.kind === 'object' || other.kind === 'list') ? false : null;
}

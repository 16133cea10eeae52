import type { Place } from '../../domain/located';
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

export type PythonPlain = string | number | boolean | null;

/** What an expression evaluates to without running it. */
export type PythonValue =
  | { readonly kind: 'plain'; readonly value: PythonPlain; readonly place: Place }
  | { readonly kind: 'list'; readonly items: readonly PythonValue[]; readonly place: Place }
  | PythonObject
  /** A name of another module, as written: `torch.bfloat16`. */
  | { readonly kind: 'name'; readonly name: string; readonly place: Place }
  | { readonly kind: 'unknown'; readonly place: Place };

/** What a call of another module's makes; assignments change it, wherever it is known by. */
export interface PythonObject {
  readonly kind: 'object';
  /** Dotted, with the methods that were called on it: `AutoBridge.from_hf_pretrained.to_megatron_provider`. */
  readonly callee: string;
  readonly positional: readonly PythonValue[];
  readonly fields: Map<string, PythonField>;
  readonly place: Place;
}

interface PythonField {
  readonly key: Place;
  readonly value: PythonValue;
}

/** Whether a value is true, as Python's `if` takes it; null where that is not known. */
export function truthiness(value: PythonValue): boolean | null {
  if (value.kind === 'plain') return Boolean(value.value);
  if (value.kind === 'list') return value.items.length > 0;
  return value.kind === 'object' ? true : null;
}

const mostCopied = 10_000;
const deepestCopied = 50;

/** A copy that assignments to either leave the other as it is; unknown within for what is endless or too large. */
export function deepCopy(value: PythonValue): PythonValue {
  let copied = 0;
  const copy = (each: PythonValue, depth: number): PythonValue => {
    copied += 1;
    if (copied > mostCopied || depth > deepestCopied) return { kind: 'unknown', place: each.place };
    if (each.kind === 'list') return { ...each, items: each.items.map((item) => copy(item, depth + 1)) };
    if (each.kind !== 'object') return each;
    const fields = [...each.fields].map(([name, field]) => [name, { ...field, value: copy(field.value, depth + 1) }] as const);
    return { ...each, fields: new Map(fields) };
  };
  return copy(value, 0);
}

/** The value of a number or of strings; null for what is neither plain text nor a finite number. */
export function parseLiteral(kind: string, text: string): PythonPlain {
  if (kind === 'Number') {
    const value = /^[\w.+-]{1,40}$/.test(text) ? Number(text.replaceAll('_', '')) : NaN;
    return Number.isFinite(value) ? value : null;
  }
  const parts = [...text.matchAll(/([rRuU]?)("""|'''|"|')([\s\S]*?)\2/g)].map(([, , , inner = '']) => inner);
  return parts.length === 0 || text.includes('\\') || text.length > 10_000 ? null : parts.join('');
}

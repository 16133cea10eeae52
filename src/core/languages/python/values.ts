import type { Place } from '../../domain/located';

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

import { entryAt, type YamlMap, type YamlScalar } from './document';
import { own } from '../../records';

export type Plain = string | number | boolean | null;

/** What a value is once its `${...}` are replaced; `unknown` where the file does not give it, `cycle` where it refers to itself. */
type Resolution = { readonly kind: 'value'; readonly value: Plain } | { readonly kind: 'unknown' | 'cycle' };

/** Resolves a scalar that is under `path` (its own key last). */
export type Resolver = (scalar: YamlScalar, path: readonly string[]) => Resolution;

const unknown: Resolution = { kind: 'unknown' };
const longestChain = 50;
const longestExpression = 1000;
const longestNumber = 40;

/** A resolver that knows no references: Megatron and GPT-NeoX take `${NAME}` from the environment, which no file gives. */
export const environmentOnly: Resolver = (scalar) => (scalar.text.includes('${') ? unknown : known(scalarValue(scalar)));

/**
 * OmegaConf interpolations as NeMo uses them: `${model.hidden_size}` from the root, `${.x}` next to the value, `${..x}` a level up, and
 * arithmetic (`${multiply:4, ${.hidden_size}}`). NeMo-Framework-Launcher mounts its file under `training`. Each value is resolved once.
 */
export function createResolver(root: YamlMap): Resolver {
  const resolved = new Map<string, Resolution>();
  const cycle: Resolution = { kind: 'cycle' };
  const chain = new Set<string>();

  const resolve: Resolver = (scalar, path) => {
    if (!scalar.text.includes('${')) return known(scalarValue(scalar));
    const id = JSON.stringify(path);
    const before = resolved.get(id);
    if (before !== undefined) return before;
    if (chain.has(id)) return cycle;
    if (chain.size >= longestChain) return unknown;
    chain.add(id);
    const result = evaluate(scalar.text.trim(), path.slice(0, -1));
    chain.delete(id);
    resolved.set(id, result);
    return result;
  };

  const evaluate = (text: string, parents: readonly string[], depth = 0): Resolution => {
    if (text.length > longestExpression || depth > 10 || !isOneReference(text)) return unknown;
    const inner = text.slice(2, -1).trim();
    const call = /^([A-Za-z_][\w.]*):(.*)$/s.exec(inner);
    if (call !== null) {
      // it parses a string, and stops where a value is given
      if (call[1] === 'oc.decode' && !(call[2] ?? '').trim().startsWith('${')) return unknown;
      const args = splitArguments(call[2] ?? '').map((argument) => resolveArgument(argument, parents, depth));
      return args.find(({ kind }) => kind === 'cycle') ?? apply(call[1] ?? '', args);
    }
    const target = resolveReferencePath(inner, parents, root);
    const entry = target === null ? null : entryAt(root, target);
    return target === null || entry?.value.kind !== 'scalar' ? unknown : resolve(entry.value, target);
  };

  const resolveArgument = (written: string, parents: readonly string[], depth: number): Resolution => {
    if (written.startsWith('${')) return evaluate(written, parents, depth + 1);
    const unquoted = /^(["'])(.*)\1$/s.exec(written)?.[2];
    return known(unquoted ?? plainOfText(written));
  };

  return resolve;
}

/** A scalar as PyYAML's safe loader reads it, as far as configs need: null, booleans, decimal numbers, text. */
export function scalarValue({ text, quoted }: YamlScalar): Plain {
  return quoted ? text : plainOfText(text);
}

function plainOfText(text: string): Plain {
  if (text.length > longestNumber) return text;
  if (/^(~|null|)$/i.test(text)) return null;
  if (/^(true|yes|on)$/i.test(text)) return true;
  if (/^(false|no|off)$/i.test(text)) return false;
  return /^[+-]?(\d[\d_]*)?\.?\d+(e[+-]?\d{1,4})?$/i.test(text) ? Number(text.replaceAll('_', '')) : text;
}

function known(value: Plain): Resolution {
  return { kind: 'value', value };
}

/** One `${...}` from end to end. */
function isOneReference(text: string): boolean {
  if (!text.startsWith('${') || !text.endsWith('}')) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1;
    else if (text[index] === '}') depth -= 1;
    if (depth === 0 && index > 0) return index === text.length - 1;
  }
  return false;
}

function splitArguments(text: string): readonly string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] = `${parts.at(-1) ?? ''}${character}`;
  }
  return parts.map((part) => part.trim());
}

/** Keys from the root. One leading dot is the mapping of the value itself, each further one its parent. */
function resolveReferencePath(written: string, parents: readonly string[], root: YamlMap): readonly string[] | null {
  const [, dots = '', rest = ''] = /^(\.*)([\w-]+(?:\.[\w-]+)*)$/.exec(written) ?? [];
  if (rest === '' || dots.length > parents.length + 1) return null;
  const keys = rest.split('.');
  if (dots !== '') return [...parents.slice(0, parents.length + 1 - dots.length), ...keys];
  return keys[0] === 'training' && keys.length > 1 && !root.entries.has('training') ? keys.slice(1) : keys;
}

/** NeMo-RL's names are shorter. */
const arithmetic: Readonly<Record<string, (left: number, right: number) => number>> = {
  multiply: (left, right) => left * right,
  mul: (left, right) => left * right,
  div: (left, right) => left / right,
  divide: (left, right) => left / right,
  divide_ceil: (left, right) => Math.ceil(left / right),
  divide_floor: (left, right) => Math.floor(left / right),
  ceil_div: (left, right) => Math.ceil(left / right),
  floor_div: (left, right) => Math.floor(left / right),
  add: (left, right) => left + right,
  sum: (left, right) => left + right,
  subtract: (left, right) => left - right,
  min: Math.min,
  max: Math.max,
};

function apply(name: string, args: readonly Resolution[]): Resolution {
  const values = args.map((argument) => (argument.kind === 'value' ? argument.value : undefined));
  const [left, right] = values;
  if (name === 'oc.env') return values.length === 2 && right !== undefined ? known(right) : unknown;
  if (name === 'oc.decode') return values.length === 1 && left !== undefined ? known(left) : unknown;
  if (name === 'int') return typeof left === 'number' && Number.isFinite(left) ? known(Math.trunc(left)) : unknown;
  const operation = own(arithmetic, name);
  if (operation === undefined || values.length !== 2 || typeof left !== 'number' || typeof right !== 'number') return unknown;
  const result = operation(left, right);
  return Number.isFinite(result) ? known(result) : unknown;
}

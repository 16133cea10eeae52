import type { Node } from 'jsonc-parser';
import * as v from 'valibot';
import { parseAmount } from '../../amounts';
import { configError } from '../../errors';
import type { Place } from '../../domain/located';
import { sameWord, type Rule } from '../../domain/settings/rules';
import { sentence, type Sentence, type Value } from '../../sentence';
import { closest } from '../../suggest';
import { describeNode, nodePlace, type JsonDocument } from './document';
import { own } from '../../records';

/**
 * The value of a node, judged by a rule.
 * @throws ExpectedError `config-wrong-type` or `config-out-of-range` at the offending token.
 */
export function readByRule<T>(document: JsonDocument, node: Node, key: string, rule: Rule<T>): T {
  const value = canonicalWord(rule, plainValue(node));
  const result = v.safeParse(rule.schema, value);
  if (result.success) return result.output;
  throw valueError(rule, key, describeNode(document, node), value, nodePlace(document, node));
}

/**
 * A value from elsewhere than a file, judged by a rule; `written` is how it was given.
 * @throws ExpectedError without a place.
 */
export function checkByRule<T>(value: unknown, written: Value, key: string, rule: Rule<T>): T {
  const result = v.safeParse(rule.schema, canonicalWord(rule, value));
  if (result.success) return result.output;
  throw valueError(rule, key, written, value, undefined);
}

function valueError<T>(rule: Rule<T>, key: string, written: Value, value: unknown, place: Place | undefined): Error {
  const type = Array.isArray(value) ? 'list' : typeof value;
  return configError(
    type === rule.type ? 'config-out-of-range' : 'config-wrong-type',
    sentence`${key} is ${written}`,
    correctionHint(rule, value) ?? sentence`give it ${rule.expects}`,
    place,
  );
}

/** What to write in place of a value that is nearly right; null where nothing is known. */
function correctionHint(rule: Rule<unknown>, value: unknown): Sentence | null {
  if (typeof value !== 'string') return null;
  const { words = [], meant = {} } = rule;
  const other = own(meant, value.toLowerCase());
  if (typeof other === 'object') return other;
  if (rule.type === 'number' && words.length === 0) {
    const amount = parseAmount(value, 'binary');
    return amount !== null && v.safeParse(rule.schema, amount).success ? sentence`write it as ${String(amount)}` : null;
  }
  const near = closest(value, words);
  return near === null ? null : sentence`did you mean "${near}"? It takes ${rule.expects}`;
}

/** Scalars, lists and objects as plain values. */
function plainValue(node: Node): unknown {
  const { type, children = [] } = node;
  if (type === 'array') return children.map(plainValue);
  if (type !== 'object') return node.value;
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), plainValue(value)]],
    ),
  );
}

/** The word of a rule that another spelling of it means (`1f1b`, `float16`); any other value as it is. */
function canonicalWord({ words = [], meant = {} }: Rule<unknown>, value: unknown): unknown {
  if (typeof value !== 'string' || words.includes(value)) return value;
  const other = own(meant, value.toLowerCase());
  return typeof other === 'string' ? other : (words.find((word) => sameWord(word, value)) ?? value);
}

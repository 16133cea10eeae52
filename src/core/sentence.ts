import { formatCount } from './format';

/**
 * Text for a person: an English template with `{0}`, `{1}` ..., and the values that fill it: names, numbers with their units, and other
 * sentences. A translation would replace templates only, so text from files stays as it is. Plain data; `say` makes the text.
 */
export interface Sentence {
  readonly template: string;
  readonly values: readonly Value[];
  /** Its first letter, whatever it is in the template: parts of a remedy begin small, a title with a capital. */
  readonly first?: 'lower' | 'upper';
}

/** What fills a template. */
export type Value = string | number | Sentence;

/** The sentence of an English template: sentence`A batch of ${4} cannot be split`. */
export function sentence(parts: TemplateStringsArray, ...values: readonly Value[]): Sentence {
  let template = templates.get(parts);
  if (template === undefined) {
    template = parts.reduce((before, part, index) => `${before}{${index - 1}}${part}`);
    templates.set(parts, template);
  }
  return { template, values };
}

/** Those of the tags in the code, each put together once. */
const templates = new WeakMap<TemplateStringsArray, string>();

/** `a`, `a and b`, `a and b and c`. */
export function allOf(values: readonly Value[]): Value {
  return values.length < 2 ? (values[0] ?? '') : values.reduce((a, b) => sentence`${a} and ${b}`);
}

/** `a`, `a or b`, `a, b or c`. */
export function anyOf(values: readonly Value[]): Value {
  const [last = '', ...others] = values.toReversed();
  return others.length === 0 ? last : sentence`${others.reduceRight((a, b) => sentence`${a}, ${b}`)} or ${last}`;
}

/** `a, b, c`. */
export function listOf(values: readonly Value[]): Value {
  return values.length < 2 ? (values[0] ?? '') : values.reduce((a, b) => sentence`${a}, ${b}`);
}

/** `a; b; c`. */
export function joinClauses(values: readonly Value[]): Value {
  return values.length < 2 ? (values[0] ?? '') : values.reduce((a, b) => sentence`${a}; ${b}`);
}

/** Things to do, any one of which is enough: `use 8 stages, or fewer layers`. Of one at least. */
export function either(remedies: readonly Sentence[]): Sentence {
  return remedies.reduce((a, b) => sentence`${a}, or ${b}`);
}

/** `3 stages`. */
export function counted(count: number, singular: string, plural = `${singular}s`, format = formatCount): Sentence {
  return { template: `{0} ${count === 1 ? singular : plural}`, values: [format(count)] };
}

/** The same with a small first letter, as a part of another sentence. */
export function lowerFirst(text: Sentence): Sentence {
  return { ...text, first: 'lower' };
}

/** The same with a capital first letter, as a title. */
export function upperFirst(text: Value): Sentence {
  return { ...sentence`${text}`, first: 'upper' };
}

/** The text of a sentence, in English unless `t` translates; a name or number as it is. */
export function say(value: Value, t: Translate = english): string {
  if (typeof value !== 'object') return String(value);
  const { template, values, first } = value;
  const text = t(template, ...values.map((part) => (typeof part === 'object' ? say(part, t) : part)));
  if (first === undefined) return text;
  const [letter = ''] = text;
  return (first === 'lower' ? letter.toLowerCase() : letter.toUpperCase()) + text.slice(letter.length);
}

/** The same with a capital first letter, except where it begins with a name: that of a key or a file stays as it is spelled. */
export function sayFromStart(value: Value, t: Translate = english): string {
  const text = say(value, t);
  return beginsWithName(value) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

function beginsWithName(value: Value): boolean {
  if (typeof value !== 'object') return true;
  const [first] = value.values;
  return value.first === undefined && value.template.startsWith('{0}') && first !== undefined && beginsWithName(first);
}

/** Fills `{0}`, `{1}` ... of an English text, which it may translate: `vscode.l10n.t` in the editor, `english` elsewhere. */
export type Translate = (message: string, ...values: (string | number)[]) => string;

export const english: Translate = (message, ...values) =>
  message.replace(/\{(\d+)\}/g, (placeholder, index: string) => String(values[Number(index)] ?? placeholder));

import type { Fixture } from './corpus';
import { below, pick, type Random } from './mutate';

/*
 * Mutations that keep a file's syntax: values at the edges of types, foreign keys, sections twice and in another order, encodings,
 * includes. They get past the parsers, where spoilt characters end.
 */

const numbers = [
  '0', '-0', '-1', '1', '2', '3', '7', '0.5', '1.5', '1e-9', '127', '255', '4095', '65535', '65536', '65537', '1000000', '100000000',
  '2147483647', '2147483648', '4294967295', '4294967296', '9007199254740991', '9007199254740993', '1e16', '1e21', '1e300', '1e999',
]; // prettier-ignore
const words = ['""', '"x"', 'true', 'false', 'null', '[]', '{}', '[1, 2]', '{"a": 1}', '"auto"', '"-1"', '"1e9"', '"None"', '"∞"', '[[1]]'];
const foreign = [
  'constructor',
  '__proto__',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'prototype',
  'length',
  '0',
  '-1',
  ' ',
  'é',
  'a.b',
  '*',
];
const number = /(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])/g;
/** What a JSON, YAML, TOML, Python or shell file calls its values by. */
const key = /"[\w.-]+"(?=\s*:)|(?<=^|\n)[ \t]*[\w.-]+(?=\s*[:=])|--[\w-]+/g;

interface Part {
  readonly start: number;
  readonly end: number;
}

type Mutation = (text: string, random: Random, corpus: readonly Fixture[]) => string;

const mutations: readonly Mutation[] = [
  (text, random) => replaced(text, parts(text, number), random, () => pick(random, numbers)),
  (text, random) => replaced(text, parts(text, number), random, () => pick(random, numbers)),
  (text, random) => replaced(text, parts(text, number), random, (old) => changed(Number(old), random)),
  (text, random) => replaced(text, parts(text, number), random, () => pick(random, words)),
  (text, random) => replaced(text, parts(text, /"[^"\n]*"(?!\s*:)/g), random, () => pick(random, [...words, ...numbers])),
  (text, random) => replaced(text, parts(text, key), random, (old) => old.replace(/[\w.-]+$|[\w.-]+(?="$)/, pick(random, foreign))),
  (text, random, corpus) => {
    const keys = pick(random, corpus).text.match(key) ?? [''];
    return replaced(text, parts(text, key), random, () => pick(random, keys));
  },
  (text, random) => withSections(text, random, (own) => [...own, pick(random, own)]),
  (text, random) => withSections(text, random, (own) => own.toReversed()),
  (text, random) => {
    const gone = below(random, 12);
    return withSections(text, random, (own) => own.filter((_, index) => index !== gone));
  },
  (text, random, corpus) => {
    const other = sectionsOf(pick(random, corpus).text);
    return withSections(text, random, (own) => [...own, pick(random, other)]);
  },
  (text, random) => pick(random, encodings)(text),
  (text, random) => pick(random, includes)(text),
];

const encodings: readonly ((text: string) => string)[] = [
  (text) => `\uFEFF${text}`,
  (text) => text.replaceAll('\n', '\r\n'),
  (text) => new TextDecoder('latin1').decode(new TextEncoder().encode(text)),
  (text) => text.replaceAll(/(?=.)/gu, '\0'),
  (text) => text.replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  (text) => text.replaceAll('"', '“'),
  (text) => text.replaceAll(' ', '\u00a0'),
];

/** A file that names itself, its neighbour, or a missing file. */
const includes: readonly ((text: string) => string)[] = [
  (text) => text.replace(/"model":\s*(?:"[^"]*"|\{)/, '"model": "config.json", "was": {'),
  (text) => text.replace(/^\{/, '{"model": "config.json", "$ref": "config.json",'),
  (text) => `defaults:\n  - config\n  - _self_\n${text}`,
  (text) => `!include config.json\n${text}`,
  (text) => `source ./config.json\n. "$0"\n${text}`,
  (text) => text.replace(/(--[\w-]+)/, '--deepspeed_config config.json --yaml-cfg config.json $1'),
  (text) => `from config import *\n${text}`,
];

/** The text after one to four mutations. The same random numbers give the same text. */
export function restructured(text: string, random: Random, corpus: readonly Fixture[]): string {
  let result = text;
  for (let left = 1 + below(random, 4); left > 0; left -= 1) result = pick(random, mutations)(result, random, corpus);
  return result.slice(0, 60_000);
}

/** Every number of a text replaced by `value`, one at a time. */
export function substitutions(text: string, value: string): string[] {
  return parts(text, number).map(({ start, end }) => text.slice(0, start) + value + text.slice(end));
}

function parts(text: string, pattern: RegExp): Part[] {
  return [...text.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length }));
}

function replaced(text: string, found: readonly Part[], random: Random, by: (old: string) => string): string {
  if (found.length === 0) return text;
  const { start, end } = pick(random, found);
  return text.slice(0, start) + by(text.slice(start, end)) + text.slice(end);
}

function changed(value: number, random: Random): string {
  return String(pick(random, [value + 1, value - 1, value * 2, value / 2, value * 1000, -value, value ** 2, value / 3]));
}

/** Pieces that stand for themselves: members of JSON by comma, else lines with those that are indented below them. */
function sectionsOf(text: string): string[] {
  return text.trimStart().startsWith('{') ? text.split(/(?<=,)\s*(?=")/) : text.split(/\n(?=[^\s])/);
}

function withSections(text: string, random: Random, change: (own: readonly string[]) => readonly string[]): string {
  const own = sectionsOf(text);
  const at = below(random, own.length);
  const [before, rest] = [own.slice(0, at), own.slice(at)];
  const joint = text.trimStart().startsWith('{') ? ' ' : '\n';
  return [...before, ...change(rest)].join(joint);
}

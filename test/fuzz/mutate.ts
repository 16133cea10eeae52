import type { Fixture } from './corpus';

/** From 0 (included) to 1 (not included). */
export type Random = () => number;

/** Texts stay small, so that many cases fit: what is large is tried by the readers' own tests. */
const maximumLength = 60_000;

const deep = [1, 40, 160, 700];
const openings = [
  '[',
  '{',
  '(',
  '$((',
  '${',
  '${a:-',
  '${multiply:2,',
  '"$(',
  '`',
  '<<',
  '- ',
  '? ',
  '[[',
  '{"a":',
  '((',
  '\n if x; then',
  '\n[a.',
];
const hostileValues = ['1e308', '1e999', '-1', '0', 'NaN', '.inf', '-0', '9223372036854775808', '0x7fffffff', '1.5', '1_000', '"8"', "'", 'null', '~', 'true', 'yes', 'auto', '[]', '{}', '', '٣', '${X}', '$1', '*a', '&a 4', '!!int 4', '<<EOF', '$((1<<62))', '$((2**9999))', '$((7/0))', '{1..9999999}', '${.}', '${..}', '${multiply:9e99,9e99}', '((((0)*99999999)*99999))', '|', '>-']; // prettier-ignore
const hostilePieces = ['\0', '\uFEFF', '\r', '\r\n', '\uD800', '\uDFFF', '\u2028', '\u001b[31m', '\t', '\\', '\\\n', '"', "'", '`', '#', ' #', '//', '/*', '*/', ':', ': ', ',', '=', '+=', '--', '---\n', '...\n', '%YAML 9.9\n', '\n__proto__: 1\n', '"__proto__": {"layers": 1},', '\n[__proto__]\na = 1\n', ' --__proto__ 3 ', 'constructor', '\n<<: *a\n', '&a ', ' *a ', '\na: &a [*a, *a]\n', '!!binary ', '!!js/function ', '\ncat <<EOF\n', '\nEOF\n', "<<'JSON'\n", '<<-X\n', '$(', ')', '))', '}', ']', ';;', '\nesac\n', '\ndone\n', ' & ', ' | ', ' && ', '$@', '$*', '${!x}', '${x[@]}', '${x//a/b}', '"""', "'''", '{{ a }}', '${oc.env:HOME}', 'é', '😀', 'x'.repeat(5000), ' '.repeat(5000), '\n'.repeat(2000), '9'.repeat(400), '-'.repeat(3000)]; // prettier-ignore

interface Site {
  readonly text: string;
  readonly random: Random;
  readonly corpus: readonly Fixture[];
}
type Mutation = (site: Site) => string;

/** Ways to spoil a text; those that change values come twice, since they reach furthest into the readers and rules. */
const mutations: readonly Mutation[] = [
  flipBytes,
  cut,
  double,
  repeat,
  splice,
  insertPiece,
  insertPiece,
  nest,
  replaceValue,
  replaceValue,
  changeNumber,
  changeNumber,
  swapLines,
  replaceWord,
  truncate,
  changeLineEnds,
];

/** The text after one to three mutations. The same random numbers give the same text. */
export function mutated(text: string, random: Random, corpus: readonly Fixture[]): string {
  let result = text;
  const count = 1 + below(random, 3);
  for (let step = 0; step < count; step += 1) result = pick(random, mutations)({ text: result, random, corpus }).slice(0, maximumLength);
  return result;
}

/** A whole number from 0 to `limit` - 1; 0 for a limit of 0. */
export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

/** One of a list that is not empty. */
export function pick<T>(random: Random, items: readonly T[]): T {
  return items[below(random, items.length)]!;
}

function rangeIn({ text, random }: Site, longest: number): readonly [start: number, end: number] {
  const start = below(random, text.length + 1);
  return [start, Math.min(text.length, start + 1 + below(random, longest))];
}

function put({ text, random }: Site, piece: string): string {
  const at = below(random, text.length + 1);
  return text.slice(0, at) + piece + text.slice(at);
}

/** As a face reads them: bytes that are not UTF-8 become U+FFFD. */
function flipBytes({ text, random }: Site): string {
  const bytes = new TextEncoder().encode(text);
  for (let flips = 1 + below(random, 8); flips > 0 && bytes.length > 0; flips -= 1)
    bytes[below(random, bytes.length)]! ^= 1 << below(random, 8);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function cut(site: Site): string {
  const [start, end] = rangeIn(site, pick(site.random, [3, 30, 300]));
  return site.text.slice(0, start) + site.text.slice(end);
}

function double(site: Site): string {
  const [start, end] = rangeIn(site, pick(site.random, [3, 30, 300]));
  return site.text.slice(0, end) + site.text.slice(start);
}

function repeat(site: Site): string {
  const [start, end] = rangeIn(site, 60);
  return site.text.slice(0, end) + site.text.slice(start, end).repeat(below(site.random, 200)) + site.text.slice(end);
}

function splice(site: Site): string {
  const other = pick(site.random, site.corpus);
  const [start, end] = rangeIn({ ...site, text: other.text }, 400);
  return put(site, other.text.slice(start, end));
}

function insertPiece(site: Site): string {
  return put(site, pick(site.random, hostilePieces));
}

function nest(site: Site): string {
  return put(site, pick(site.random, openings).repeat(pick(site.random, deep)));
}

function replaceValue(site: Site): string {
  return replaceMatch(site, /(?<=[=:] ?|--[\w-]+ )[^\s,=:}\])]+/g, () => pick(site.random, hostileValues));
}

function changeNumber(site: Site): string {
  return replaceMatch(site, /\b\d+\b/g, () => String(pick(site.random, [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 64, 96, 1000, 65536])));
}

function replaceWord(site: Site): string {
  const word = /[\w.-]{2,}/g;
  const words = pick(site.random, site.corpus).text.match(word) ?? [''];
  return replaceMatch(site, word, () => pick(site.random, words));
}

function replaceMatch({ text, random }: Site, pattern: RegExp, replacement: () => string): string {
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) return text;
  const match = pick(random, matches);
  return text.slice(0, match.index) + replacement() + text.slice(match.index + match[0].length);
}

function swapLines({ text, random }: Site): string {
  const lines = text.split('\n');
  const [one, other] = [below(random, lines.length), below(random, lines.length)];
  return lines.map((line, at) => (at === one ? lines[other]! : at === other ? lines[one]! : line)).join('\n');
}

function truncate({ text, random }: Site): string {
  return text.slice(0, below(random, text.length + 1));
}

function changeLineEnds({ text, random }: Site): string {
  return text.replaceAll('\n', pick(random, ['\r\n', '\r', '\n\n', '\u0085']));
}

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/*
 * Words that only this code base uses, and names in `...Of`. `dialect.test.ts` finds none of the words, and holds the counts of names in
 * `dialect-counts.json`: none may rise, and one that fell has to be lowered there with `node --import tsx test/unit/dialect.ts`.
 */

const root = resolve(import.meta.dirname, '../..');
const countsFile = join(import.meta.dirname, 'dialect-counts.json');
const countedNames = 'names in ...Of';

/** The folders that are counted apart. Rooms inside them may move. */
export const houses = ['src', 'webview', 'test'] as const;
type House = (typeof houses)[number];
type Counts = Readonly<Record<House, number>>;

/** What is looked for in code, comments, strings and test names, and what to write instead. */
export const dialect: Readonly<Record<string, { readonly pattern: RegExp; readonly instead: string }>> = {
  beside: { pattern: /beside/gi, instead: 'next to, in addition to, compared with, overlapped with' },
  dealt: { pattern: /\b(?:dealt|deals?|dealing)\b|dealt(?=[A-Z])|Dealt/g, instead: 'divided, assigned' },
  said: { pattern: /\b(?:said|saying)\b|\bsaid(?=[A-Z])|Said/g, instead: 'shown, set, written, reported' },
  says: { pattern: /\bsays\b|\bsays(?=[A-Z])|Says\b/g, instead: 'shows, sets, reports, means' },
  told: { pattern: /\b(?:told|tells?|telling)\b|\b(?:told|tells)(?=[A-Z])|(?<=[a-z])Told/g, instead: 'reported, notified, distinguished' },
  'so many': { pattern: /\bso (?:many|much|long|few)\b(?! that| as)/g, instead: 'N, this many, a number of' },
  'but for': { pattern: /\bbut for\b/g, instead: 'except' },
  'of those that': { pattern: /\b[Oo]f those that\b/g, instead: 'name the things' },
  // not the finding code `policy-alone`
  alone: { pattern: /(?<!-)\balone\b|(?<=[a-z])Alone/g, instead: 'only, by itself' },
  stands: { pattern: /\bstands?\b(?! for\b|-in| in for)|\bstood\b/g, instead: 'is, idles' },
  anew: { pattern: /\banew\b|(?<=[a-z])Anew/g, instead: 'again' },
  heed: { pattern: /heed/gi, instead: 'respect, suppress' },
  'is there': { pattern: /\b(?:is|are) (?:not |already |always )?there\b(?! (?:is|are)\b)/g, instead: 'is ready, exists' },
  'for good': { pattern: /\bfor good\b/g, instead: 'permanently' },
  'hangs on': { pattern: /\bhangs? on\b|\bgoes on\b/g, instead: 'depends on, continues' },
  'what of': { pattern: /(?<!const )\b[Ww]hat of\b/g, instead: 'which part of, the settings of' },
  'otherwise than': { pattern: /\botherwise than\b/g, instead: 'differently from, other than' },
  'in earnest': { pattern: /\bin earnest\b/g, instead: 'really' },
  'comes to': { pattern: /\bcomes? to\b/g, instead: 'amounts to, evaluates to' },
  laid: { pattern: /\b(?:laid|lays?)\b/g, instead: 'placed' },
  'is no': {
    pattern: /(?<!\b[Tt]here )\b(?:is|are) no\b(?! (?:longer|shorter|more|less|fewer|larger|smaller|heavier|lighter|slower|faster)\b)/g,
    instead: 'is not a',
  },
};

/** Uses of a word in a file that are not of the dialect, with the reason. */
export const allowed: readonly { readonly file: string; readonly word: string; readonly reason: string }[] = [
  { file: 'src/features/recovery/cli/answer.ts', word: 'says', reason: 'a key of `plan --without --json`' },
  { file: 'src/cli/answers/export.ts', word: 'beside', reason: 'a key of `export --json`' },
  { file: 'src/extension/views/page-actions.ts', word: 'beside', reason: "VS Code's name of a column, `ViewColumn.Beside`" },
  { file: 'src/extension/views/timeline-panels.ts', word: 'beside', reason: "VS Code's name of a column, `ViewColumn.Beside`" },
  { file: 'src/core/export/search-json.ts', word: 'says', reason: 'a key of the JSON that users read' },
  { file: 'test/unit/cli/search-numbers.slow.test.ts', word: 'says', reason: 'reads that JSON' },
  { file: 'test/unit/cli/search.slow.test.ts', word: 'says', reason: 'reads that JSON' },
  { file: 'test/unit/features/recovery/cli.slow.test.ts', word: 'says', reason: 'reads the JSON of `plan --without`' },
  { file: 'test/unit/features/recovery/core.slow.test.ts', word: 'says', reason: 'reads the JSON of `plan --without`' },
  { file: 'THIRD_PARTY_NOTICES.md', word: 'dealt', reason: 'words of a licence' },
  { file: 'test/docs/license-texts.ts', word: 'dealt', reason: 'words of a licence' },
  { file: 'test/unit/dialect.ts', word: '*', reason: 'the list itself' },
  { file: 'test/unit/dialect.test.ts', word: '*', reason: 'an example of each' },
  { file: 'test/unit/words.test.ts', word: '*', reason: 'lists words too' },
];

/** Participles that were names of types: a type is named by what it holds. */
const participles =
  /\b(?:interface|type) ((?:[A-Z]\w*)?(?:Told|Asked|Held|Given|Found|Joined|Watched|Said|Known|Cut|Shown|Sent|Tried|Wanted|Pointed|Left|Lost|Kept)) *(?:<[^=]*>)? *[={]/g;

const patterns: typeof dialect = {
  ...dialect,
  'participles as types': { pattern: participles, instead: 'the name of what the type holds' },
};

/** Functions of JavaScript and of the field that end in `Of`. */
const usualOf = new Set(['indexOf', 'lastIndexOf', 'valueOf', 'allOf', 'anyOf', 'listOf', 'getPrototypeOf']);

/** Different names in `...Of` in each house. */
export function countNames(): Counts {
  const count = (house: House): number => {
    const names = sourcesOf(house).flatMap(({ file, text }) => (isAllowed(file, 'Of') ? [] : (text.match(/\b[a-z]\w*Of\b/g) ?? [])));
    return new Set(names.filter((name) => !usualOf.has(name))).size;
  };
  return { src: count('src'), webview: count('webview'), test: count('test') };
}

/** Uses of each word in the houses and in the scripts of the repository, as `FILE: WORD, write "..."`. */
export function dialectInSources(): readonly string[] {
  return [...houses.flatMap(sourcesOf), ...scripts()].flatMap(({ file, text }) =>
    Object.entries(patterns).flatMap(([word, { pattern, instead }]) =>
      isAllowed(file, word) || text.match(pattern) === null ? [] : [`${file}: ${word}, write "${instead}"`],
    ),
  );
}

/**
 * Uses of each word in documents, as `FILE:LINE: WORD`. Left out are code blocks and what `npm run docs` writes: their words are those of
 * the code.
 */
export function dialectInDocuments(): readonly string[] {
  return documents().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8').replace(written, (part) => part.replace(/[^\n]/g, ''));
    return text
      .split('\n')
      .flatMap((line, index) =>
        Object.entries(dialect).flatMap(([word, { pattern }]) =>
          isAllowed(file, word) || line.match(pattern) === null ? [] : [`${file}:${index + 1}: ${word}`],
        ),
      );
  });
}

const written = /^( *)```[\s\S]*?^\1```|^<!-- rules:[\s\S]*?^<!-- end of rules -->/gm;

function documents(): readonly string[] {
  const inside = ['.github', 'docs', 'media', 'src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  );
  return [...inside, ...readdirSync(root)].filter((file) => file.endsWith('.md'));
}

/** The counts that hold: none may rise. */
export function recordedCounts(): Counts {
  return (JSON.parse(readFileSync(countsFile, 'utf8')) as Readonly<Record<typeof countedNames, Counts>>)[countedNames];
}

interface Source {
  readonly file: string;
  readonly text: string;
}

function sourcesOf(house: House): readonly Source[] {
  return readdirSync(join(root, house), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ file: `${house}/${name.replaceAll('\\', '/')}`, text: readFileSync(join(root, house, name), 'utf8') }));
}

/** Scripts, what builds and checks, and texts of the extension's manifest and schemas; fixtures are other people's. */
function scripts(): readonly Source[] {
  const inside = ['.ci', 'media', 'src', 'test', 'webview'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  );
  return [...inside, ...readdirSync(root)]
    .filter(
      (file) =>
        /\.(?:mjs|cjs|js|py|sh)$|^\.ci\/run$|^package(?:\.nls)?\.json$|^media\/schemas\//.test(file) &&
        !file.startsWith('test/fixtures/') &&
        !file.includes('node_modules'),
    )
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
}

function isAllowed(file: string, word: string): boolean {
  return allowed.some((entry) => entry.file === file && (entry.word === '*' || entry.word === word));
}

/** Lowers what fell; what rose stays for the test to report. */
function lowerCounts(): void {
  const [before, now] = [recordedCounts(), countNames()];
  const lowered = Object.fromEntries(houses.map((house) => [house, Math.min(before[house], now[house])]));
  writeFileSync(countsFile, `${JSON.stringify({ [countedNames]: lowered }, null, 2)}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) lowerCounts();

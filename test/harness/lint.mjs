// @ts-check
// Lints what may have changed since it last passed: `node test/harness/lint.mjs CACHE_FILE`. Rules look at types, so a file is linted again
// when anything that it imports, however far away, is no longer the same.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { ESLint } from 'eslint';
import ts from 'typescript';
import { root } from './setup.mjs';

const hashOf = (/** @type {string} */ text) => createHash('sha1').update(text).digest('hex');

/** Files that the rules, the types of packages or everything else depend on. */
const everywhere = ['package-lock.json', 'eslint.config.mjs', 'tsconfig.json', 'webview/tsconfig.json', 'test/harness/lint.mjs'];

/** @param {ESLint} eslint */
async function filesToLint(eslint) {
  const files = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.name.startsWith('.git') || (await eslint.isPathIgnored(entry.isDirectory() ? path.join(file, 'any.js') : file))) continue;
      if (entry.isDirectory()) folders.push(file);
      else if (/\.(?:ts|mjs|js)$/.test(entry.name)) files.push(file);
    }
  return files.sort();
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string[]} files of this repository that it imports
 */
function imports(file, text) {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
    .flatMap(({ fileName }) => {
      const base = path.resolve(path.dirname(file), fileName);
      const found = [base, `${base}.ts`, `${base}.d.ts`, path.join(base, 'index.ts')].find((each) =>
        statSync(each, { throwIfNoEntry: false })?.isFile(),
      );
      return found === undefined ? [] : [found];
    });
}

/**
 * For each file a hash of its text, of all that it imports, directly or not, and of what all files depend on.
 * @param {readonly string[]} files
 */
function hashesOf(files) {
  /** @type {Map<string, { hash: string, imports: string[] }>} */
  const known = new Map();
  const look = (/** @type {string} */ file) => {
    const kept = known.get(file);
    if (kept !== undefined) return kept;
    const text = readFileSync(file, 'utf8');
    const looked = { hash: hashOf(text), imports: imports(file, text) };
    known.set(file, looked);
    return looked;
  };
  const ambient = [...everywhere, ...files.filter((file) => file.endsWith('.d.ts'))].map((file) =>
    readFileSync(path.resolve(root, file), 'utf8'),
  );
  const common = hashOf([process.version, ...ambient].join('\n'));
  return new Map(
    files.map((file) => {
      const reached = new Set([file]);
      for (const each of reached) for (const imported of look(each).imports) reached.add(imported);
      return [file, hashOf([common, ...[...reached].sort().map((each) => `${path.relative(root, each)} ${look(each).hash}`)].join('\n'))];
    }),
  );
}

/**
 * @param {string} cacheFile
 * @returns {Record<string, string>}
 */
function passedBefore(cacheFile) {
  try {
    return JSON.parse(readFileSync(cacheFile, 'utf8'));
  } catch {
    return {};
  }
}

const [cacheFile] = process.argv.slice(2);
if (cacheFile === undefined) throw new Error('usage: node test/harness/lint.mjs CACHE_FILE');
const eslint = new ESLint({ cwd: root });
const hashes = hashesOf(await filesToLint(eslint));
const passed = passedBefore(cacheFile);
const left = [...hashes].filter(([file, hash]) => passed[path.relative(root, file)] !== hash).map(([file]) => file);
const results = left.length === 0 ? [] : await eslint.lintFiles(left);
const complaints = results.filter(({ messages }) => messages.length > 0);
const failed = new Set(complaints.map(({ filePath }) => filePath));
mkdirSync(path.dirname(cacheFile), { recursive: true });
writeFileSync(
  cacheFile,
  JSON.stringify(
    Object.fromEntries([...hashes].filter(([file]) => !failed.has(file)).map(([file, hash]) => [path.relative(root, file), hash])),
  ),
);
if (complaints.length > 0) {
  console.log(await (await eslint.loadFormatter('stylish')).format(complaints));
  process.exitCode = 1;
}

// @ts-check
// Lets Node require TypeScript: `mocha --require` and `node --import` of this file. Unlike tsx it does not keep the names of functions,
// which would cost every
// function that is made a call of Object.defineProperty: the tests took twice as long.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import Module from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { transformSync, version } from 'esbuild';
import './assertions.mjs';

const root = path.join(import.meta.dirname, '../..');
/** What was compiled before, by path; the last line of each identifies its source. */
const cache = path.join(root, 'out/cache/typescript');

/** What all files are compiled with. `import()` is a `require` here, as in the bundle of the extension: files are imported without an ending. */
const options = /** @type {const} */ ({
  loader: 'ts',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  supported: { 'dynamic-import': false },
  sourcemap: 'inline',
  sourcesContent: false,
  define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename', 'import.meta.url': '__address' },
});

/**
 * @param {string} file
 * @param {string} text
 */
function compile(file, text) {
  const address = text.includes('import.meta.url') ? "const __address = require('node:url').pathToFileURL(__filename).href;" : '';
  return transformSync(text, { ...options, banner: address, sourcefile: file }).code;
}

/** @param {string} file */
function compiled(file) {
  const text = readFileSync(file, 'utf8');
  const mark = `//${createHash('sha1')
    .update(`${version} ${JSON.stringify(options)} ${file} ${text}`)
    .digest('hex')}\n`;
  const kept = path.join(cache, `${path.relative(root, file).replaceAll(/[/\\:]/g, '+')}.js`);
  try {
    const code = readFileSync(kept, 'utf8');
    if (code.endsWith(mark)) return code;
  } catch {
    // It was not compiled before.
  }
  const code = compile(file, text) + mark;
  // Other processes compile the same files at the same time.
  const own = `${kept}.${process.pid}`;
  mkdirSync(cache, { recursive: true });
  writeFileSync(own, code);
  renameSync(own, kept);
  return code;
}

/** @typedef {{ _compile: (code: string, file: string) => void }} Compiling what Node passes to the handler of an extension */

/** @type {Record<string, (module: Compiling, file: string) => void>} */
const handlers = /** @type {any} */ (Module)._extensions;
handlers['.ts'] = (module, file) => {
  module._compile(compiled(file), file);
};
process.setSourceMapsEnabled(true);

// @ts-check
// `npm run --silent pack:npm -- --out DIR`: the npm package as a tarball in DIR (out), whose name it prints. `--production` minifies.
import esbuild from 'esbuild';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { apiBuild, copyRead, profilerBuild, terminalBuilds } from '../../esbuild.mjs';
import { root } from './setup.mjs';
import { runMain } from './steps.mjs';

/** Where the package is put together. */
const stage = path.join(root, 'out', 'npm');

/** Fills the package: its manifest and README from packages/cli, what the terminal and programs run, the pages of findings and the schemas. */
async function fillPackage() {
  rmSync(stage, { recursive: true, force: true });
  cpSync(path.join(root, 'packages', 'cli'), stage, { recursive: true });
  for (const name of ['LICENSE', 'THIRD_PARTY_NOTICES.md']) copyFileSync(path.join(root, name), path.join(stage, name));
  mkdirSync(path.join(stage, 'docs'));
  copyFileSync(path.join(root, 'docs', 'findings.md'), path.join(stage, 'docs', 'findings.md'));
  mkdirSync(path.join(stage, 'schemas'));
  for (const name of ['answers.schema.json', 'terapipe.schema.json'])
    writeFileSync(
      path.join(stage, 'schemas', name),
      JSON.stringify(JSON.parse(readFileSync(path.join(root, 'media', 'schemas', name), 'utf8'))),
    );
  const dist = path.join(stage, 'dist');
  await copyRead(dist);
  const builds = [...terminalBuilds(dist), profilerBuild(dist), apiBuild(dist)];
  await Promise.all(builds.map((options) => esbuild.build({ ...options, sourcemap: false })));
  writeTypes(path.join(root, 'src', 'api'), dist);
}

/**
 * Writes the declarations of each file of a folder, none of which needs another for its types.
 * @param {string} folder
 * @param {string} dist
 */
function writeTypes(folder, dist) {
  for (const name of readdirSync(folder)) {
    const text = readFileSync(path.join(folder, name), 'utf8');
    const { outputText, diagnostics = [] } = ts.transpileDeclaration(text, { fileName: name, compilerOptions: { stripInternal: true } });
    const [first] = diagnostics;
    if (first !== undefined) throw new Error(`${name}: ${ts.flattenDiagnosticMessageText(first.messageText, '\n')}`);
    writeFileSync(path.join(dist, name.replace(/\.ts$/, '.d.ts')), outputText);
  }
}

/**
 * @param {string} folder of the tarball
 * @returns {Promise<string>} its path
 */
export async function packNpm(folder) {
  await fillPackage();
  mkdirSync(folder, { recursive: true });
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const options = { cwd: stage, encoding: /** @type {const} */ ('utf8'), shell: process.platform === 'win32' };
  const printed = execFileSync(npm, ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], options);
  return path.join(folder, printed.trim());
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  void runMain(async () => {
    const { values } = parseArgs({
      options: { out: { type: 'string', default: path.join(root, 'out') }, production: { type: 'boolean' } },
    });
    console.log(await packNpm(path.resolve(values.out)));
  });
}

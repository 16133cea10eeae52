// @ts-check
// `npm run package`: a production build in a VSIX for this platform, `-- --web` in one for browsers. Prints what is in it and how large it is.
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { ensureBuild, ensureDependencies, root } from './setup.mjs';
import { runMain, say } from './steps.mjs';

/**
 * @typedef {object} Package
 * @property {string} file path of the VSIX
 * @property {number} bytes
 * @property {readonly { name: string, bytes: number }[]} contents the project's files in it, largest first
 */

/**
 * Copies ONNX Runtime, which cannot be bundled, to where `require` finds it from dist/profiler.js: only this platform's native
 * libraries, not the 288 MB of all.
 */
function addRuntime() {
  const modules = path.join(root, 'node_modules');
  const target = path.join(root, 'dist', 'node_modules');
  const native = path.join('bin', 'napi-v6', process.platform, process.arch);
  const isCode = (/** @type {string} */ file) => !/\.(map|d\.ts|d\.mts)$/.test(file);
  for (const entry of [
    'onnxruntime-node/package.json',
    'onnxruntime-node/dist',
    path.join('onnxruntime-node', native),
    'onnxruntime-common/package.json',
    'onnxruntime-common/dist/cjs',
  ])
    cpSync(path.join(modules, entry), path.join(target, entry), { recursive: true, dereference: true, filter: isCode });
}

/** The files of the extension that run in Node.js, which browsers do not have. */
const isForDesktop = (/** @type {string} */ name) =>
  /^dist\/([\w-]+\.js(\.LEGAL\.txt)?$|extension\/|torch\/|skills\/|node_modules\/)/.test(name) && !/^dist\/webview\.js/.test(name);
const isForBrowser = (/** @type {string} */ name) => name.startsWith('dist/web/');

/**
 * Whether a file goes into a package.
 * @param {string} name path in the repository
 * @param {{ web: boolean }} options
 */
export const isPacked = (name, { web }) => !(web ? isForDesktop(name) : isForBrowser(name));

/** What the manifest contributes for agents, whose tools run in Node.js. */
const forAgents = ['languageModelTools', 'mcpServerDefinitionProviders', 'chatSkills'];

/**
 * The manifest of a package. Each platform's has its own entry, and names no file that is not in it.
 * @param {Record<string, any>} manifest
 * @param {{ web: boolean }} options
 * @returns {Record<string, any>}
 */
export function manifestFor({ main, browser, bin, contributes, ...manifest }, { web }) {
  if (!web) return { ...manifest, main, bin, contributes };
  const rest = Object.entries(contributes).filter(([name]) => !forAgents.includes(name));
  // Without a kind, one that has only `browser` runs on the web; `vsce` refuses that kind by name.
  delete manifest['extensionKind'];
  return { ...manifest, browser, contributes: Object.fromEntries(rest) };
}

/**
 * Builds for production and packs what .vscodeignore lets through. All that the code needs is bundled but ONNX Runtime, which goes in for
 * this platform. For browsers their script and its planner instead.
 * @param {{ web?: boolean }} [options]
 * @returns {Promise<Package>}
 */
export async function makePackage({ web = false } = {}) {
  await ensureBuild({ production: true });
  if (!web) addRuntime();
  const { createVSIX, listFiles, PackageManager } = await import('@vscode/vsce');
  const manifest = manifestFor(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')), { web });
  const target = web ? 'web' : `${process.platform}-${process.arch}`;
  const file = path.join(root, 'out', `${manifest['name']}-${target}-${manifest['version']}.vsix`);
  const listed = await listFiles({ cwd: root, packageManager: PackageManager.None });
  const names = listed.filter((name) => isPacked(name, { web }));
  const stage = path.join(root, 'out', 'vsix', target);
  rmSync(stage, { recursive: true, force: true });
  for (const name of names) cpSync(path.join(root, name), path.join(stage, name), { dereference: true });
  writeFileSync(path.join(stage, 'package.json'), JSON.stringify(manifest, null, 2));
  await createVSIX({
    cwd: stage,
    packagePath: file,
    target,
    dependencies: false,
    rewriteRelativeLinks: false,
    allowMissingRepository: true,
  });
  const contents = names.map((entry) => ({ name: entry, bytes: statSync(path.join(root, entry)).size })).sort((a, b) => b.bytes - a.bytes);
  return { file, bytes: statSync(file).size, contents };
}

/** @param {number} bytes */
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`.padStart(12);

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  void runMain(async () => {
    await ensureDependencies();
    const { file, bytes, contents } = await makePackage({ web: process.argv.includes('--web') });
    for (const entry of contents) console.log(`${kilobytes(entry.bytes)}  ${entry.name}`);
    say('package', `${path.relative(root, file)}, ${contents.length} files, ${kilobytes(bytes).trim()}`);
  });
}

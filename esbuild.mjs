// Builds the bundles into dist/: extension, worker, profiler, cli (node) and the page (browser). `--watch` rebuilds, `--production`
// minifies.
import esbuild from 'esbuild';
import { realpathSync } from 'node:fs';
import { copyFile, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { toolkitPlugins } from './webview/toolkit-plugins.mjs';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');

const { resolve } = createRequire(import.meta.url);

/** WebAssembly that lies next to the bundles, which load it: the engine and the grammar of shell scripts. */
const modules = [resolve('web-tree-sitter/web-tree-sitter.wasm'), resolve('tree-sitter-bash/tree-sitter-bash.wasm')];

/** Modules of the terminal that are loaded by name. */
const terminalEntries = ['src/cli/command-thread.ts', 'src/cli/text-at-once.ts', 'src/cli/tool-thread.ts'];

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : 'linked',
  logLevel: watch ? 'silent' : 'warning',
  outdir: 'dist',
  legalComments: 'linked',
};
/** @type {import('esbuild').BuildOptions} */
const node = {
  ...common,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode', 'onnxruntime-node'],
  // jsonc-parser's `main` is UMD, whose requires esbuild cannot follow.
  mainFields: ['module', 'main'],
  // Its module form asks for `import.meta`, which a CommonJS bundle has not.
  alias: { 'web-tree-sitter': resolve('web-tree-sitter') },
};

// Lines that the problem matcher of the watch task (.vscode/tasks.json) reads: one pair around all bundles that are built at the same time.
let running = 0;
function began() {
  if (running === 0 && watch) console.log('[watch] build started');
  running += 1;
}
function ended() {
  running -= 1;
  if (running === 0 && watch) console.log('[watch] build finished');
}
const report = {
  name: 'report',
  setup(build) {
    build.onStart(began);
    build.onEnd((result) => {
      for (const { text, location } of watch ? result.errors : []) {
        console.error(`✘ [ERROR] ${text}\n    ${location?.file}:${location?.line}:${location?.column}:`);
      }
      ended();
    });
  },
};

/** What the extension loads as it starts. */
const startOfExtension = 'src/extension/build.ts';

/**
 * Writes the parts of a split bundle as CommonJS: esbuild splits only ES modules, and VS Code before 1.100 loads no extension that is one.
 * What is loaded as the extension starts becomes one file: looking up and reading dozens takes longer than what they hold.
 */
const asCommonJs = {
  name: 'as-common-js',
  setup(build) {
    build.onEnd(async ({ outputFiles = [], metafile }) => {
      if (metafile === undefined) return;
      const scripts = outputFiles.filter(({ path: file }) => file.endsWith('.js'));
      const { name: start, parts, neededLater } = partsOfStart(metafile.outputs);
      const [merged, others] = [true, false].map((wanted) => scripts.filter(({ path: file }) => parts.has(path.basename(file)) === wanted));
      for (const { path: file, text } of others) {
        const { code, map } = await toCommonJs(text, file);
        await put(file, production ? code : `${code}//# sourceMappingURL=${path.basename(file)}.map\n`);
        if (!production) await put(`${file}.map`, map);
      }
      await putStart(merged, start, neededLater);
      const notices = outputFiles.filter(({ path: file }) => !/\.(?:js|map)$/.test(file));
      for (const { path: file, text } of notices) await put(file, text);
    });
  },
};

/** The file of the start, the parts that it loads at once, and the parts that a file outside of it imports too. */
function partsOfStart(outputs) {
  const before = partsLoaded(outputs, ['src/extension/main.ts']);
  const parts = new Set([...partsLoaded(outputs, [startOfExtension])].filter((name) => !before.has(name)));
  const others = Object.entries(outputs).filter(([file]) => !parts.has(path.basename(file)));
  const neededLater = new Set(others.flatMap(([, { imports }]) => imports.map(({ path: file }) => path.basename(file))));
  const [file = ''] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === startOfExtension) ?? [];
  return { name: path.basename(file), parts, neededLater };
}

/**
 * Writes the parts of the start as one module, whose scope they share: as functions of a table they would be parsed twice. Each part that is
 * needed later keeps a file of its name, which exports what the part does.
 */
async function putStart(parts, start, neededLater) {
  const [folder, texts] = [path.dirname(parts[0].path), new Map(parts.map(({ path: file, text }) => [`./${path.basename(file)}`, text]))];
  const later = [...texts.keys()].filter((name) => name !== `./${start}` && neededLater.has(path.basename(name)));
  const exported = later.map((name, index) => `export * as part${index} from '${name}';`);
  const { outputFiles } = await esbuild.build({
    ...node,
    legalComments: 'none',
    supported: { 'dynamic-import': false },
    sourcemap: production ? false : 'linked',
    write: false,
    outdir: folder,
    entryPoints: { [path.basename(start, '.js')]: 'start' },
    plugins: [scriptsOf(texts, `export * from './${start}';\n${exported.join('\n')}`)],
  });
  for (const { path: file, text } of outputFiles) await put(file, text);
  for (const [index, name] of later.entries()) {
    const value = `Object.defineProperty(require('./${start}').part${index}, '__esModule', { value: true })`;
    await put(path.join(folder, name), `module.exports = ${value};\n`);
  }
}

/** Scripts by name, and the one that they are entered by. What is none of them is loaded as a file. */
const scriptsOf = (texts, entry) => ({
  name: 'scripts',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path: name, kind }) =>
      kind === 'entry-point' || texts.has(name) ? { path: name, namespace: 'script' } : { path: name, external: true },
    );
    build.onLoad({ filter: /.*/, namespace: 'script' }, ({ path: name }) => ({ contents: texts.get(name) ?? entry, loader: 'js' }));
  },
});

function toCommonJs(text, file) {
  return esbuild.transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // `import()` becomes `require`, which VS Code hands its interface to.
    supported: { 'dynamic-import': false },
    minify: production,
    sourcefile: file,
    sourcemap: production ? false : 'external',
  });
}

/** Writes the files of a split bundle into two that src/cli/parts.ts reads: what the entries import, and what is loaded later. */
const asTables = {
  name: 'as-tables',
  setup(build) {
    build.onEnd(async ({ outputFiles = [], metafile }) => {
      if (metafile === undefined) return;
      const folder = path.resolve(build.initialOptions.outdir);
      const first = partsLoaded(metafile.outputs, terminalEntries);
      const scripts = outputFiles.filter(({ path: file }) => file.endsWith('.js'));
      const shortNames = nameShort(scripts.map(({ path: file }) => path.basename(file)));
      const modules = (isWanted) =>
        scripts.filter(({ path: file }) => isWanted(path.basename(file))).map(({ path: file, text }) => named(file, text, shortNames));
      await putTable(
        path.join(folder, 'terminal.js'),
        modules((name) => first.has(name)),
      );
      await putTable(
        path.join(folder, 'terminal-later.js'),
        modules((name) => !first.has(name)),
      );
      await put(path.join(folder, 'help.js'), `module.exports = ${JSON.stringify(await textsAtOnce(path.join(folder, 'terminal.js')))};\n`);
      const notices = outputFiles.filter(({ path: file }) => file.endsWith('.LEGAL.txt')).map(({ text }) => text);
      if (notices.length > 0) await put(path.join(folder, 'terminal.js.LEGAL.txt'), notices.join('\n'));
    });
  },
};

/** The texts of `src/cli/text-at-once.ts`, which the program prints without loading what they are made of. */
async function textsAtOnce(table) {
  const modules = new Script(await readFile(table, 'utf8')).runInThisContext();
  const external = createRequire(path.resolve(table));
  const loaded = new Map();
  const load = (name) => {
    if (!Object.hasOwn(modules, name)) return external(name);
    const known = loaded.get(name) ?? { exports: {} };
    if (loaded.has(name)) return known.exports;
    loaded.set(name, known);
    modules[name](known.exports, load, known, path.dirname(table));
    return known.exports;
  };
  return load('./text-at-once.js').everyText();
}

/** Numbers in place of hashes, which pack badly; files that are loaded by name keep theirs. */
function nameShort(names) {
  const kept = new Set(terminalEntries.map((entry) => `${path.basename(entry, '.ts')}.js`));
  return new Map(names.map((name, index) => [name, kept.has(name) ? name : `${index}.js`]));
}

function named(file, text, shortNames) {
  return {
    path: path.join(path.dirname(file), shortNames.get(path.basename(file))),
    text: text.replace(/(["'])\.\/([\w.-]+\.js)\1/g, (whole, quote, name) =>
      shortNames.has(name) ? `${quote}./${shortNames.get(name)}${quote}` : whole,
    ),
  };
}

/**
 * The files of a split bundle that come with some of its entries and what they import at once.
 * @param {import('esbuild').Metafile['outputs']} outputs
 * @param {readonly string[]} entries
 * @returns {readonly string[]}
 */
export function loadedFiles(outputs, entries) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {string} file */
  const follow = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const { path: other, kind } of outputs[file]?.imports ?? []) if (kind === 'import-statement' && other in outputs) follow(other);
  };
  for (const [file, { entryPoint }] of Object.entries(outputs)) if (entries.includes(entryPoint ?? '')) follow(file);
  return [...found];
}

/** Their names, which are those of the parts. */
function partsLoaded(outputs, entries) {
  return new Set(loadedFiles(outputs, entries).map((file) => path.basename(file)));
}

/** A script whose value are the modules by name. */
async function putTable(file, modules) {
  const sections = [];
  let script = '({\n';
  for (const { path: module, text } of modules) {
    const { code, map } = await toCommonJs(text, module);
    script += `${JSON.stringify(`./${path.basename(module)}`)}(exports, require, module, __dirname) {\n`;
    if (map !== '') sections.push({ offset: { line: script.split('\n').length - 1, column: 0 }, map: JSON.parse(map) });
    script += `${code}},\n`;
  }
  await put(file, `${script}})\n${production ? '' : `//# sourceMappingURL=${path.basename(file)}.map\n`}`);
  if (!production) await put(`${file}.map`, JSON.stringify({ version: 3, sections }));
}

async function put(file, text) {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

/**
 * What runs in the terminal: the program, the start of its thread, and the code that both load (src/cli/parts.ts).
 * @param {string} outdir
 * @returns {import('esbuild').BuildOptions[]}
 */
export function terminalBuilds(outdir) {
  return [
    { ...node, outdir, entryPoints: { cli: 'src/cli/main.ts' }, banner: { js: '#!/usr/bin/env node' }, plugins: [report] },
    {
      ...node,
      outdir,
      entryPoints: { command: 'src/cli/command-start.ts', tools: 'src/cli/tools-start.ts', mcp: 'src/features/agents/cli/server.ts' },
      plugins: [report],
    },
    {
      ...node,
      outdir,
      entryPoints: terminalEntries,
      format: 'esm',
      splitting: true,
      legalComments: 'external',
      sourcemap: production ? false : 'inline',
      metafile: true,
      write: false,
      plugins: [asTables, report],
    },
  ];
}

/**
 * What programs import, of the npm package only.
 * @param {string} outdir
 * @returns {import('esbuild').BuildOptions}
 */
export function apiBuild(outdir) {
  return { ...node, outdir, entryPoints: { api: 'src/api/api.ts' }, keepNames: true };
}

/**
 * The child that measures.
 * @param {string} outdir
 * @returns {import('esbuild').BuildOptions}
 */
export function profilerBuild(outdir) {
  return { ...node, outdir, entryPoints: { profiler: 'src/profiler/child.ts' }, plugins: [report] };
}

/**
 * Copies what the terminal reads next to its bundles: WebAssembly, and Python that exports write out.
 * @param {string} outdir
 */
export async function copyRead(outdir) {
  await mkdir(outdir, { recursive: true });
  await Promise.all(modules.map((file) => copyFile(file, path.join(outdir, path.basename(file)))));
  await cp('skills', path.join(outdir, 'skills'), { recursive: true });
  await cp('src/runtime/torch', path.join(outdir, 'torch'), {
    recursive: true,
    filter: (source) => /(^|[\\/])(?!__pycache__)[^.\\/]*(\.py)?$/.test(source),
  });
}

const builtins = createRequire(import.meta.url);

/** What a browser has no Node.js for: each function of its modules fails with that when it is called. */
const withoutNode = {
  name: 'without-node',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path: name }) => ({ path: name, namespace: 'without-node' }));
    build.onLoad({ filter: /.*/, namespace: 'without-node' }, ({ path: name }) => {
      const names = Object.keys(builtins(name)).filter((each) => /^[a-z]\w*$/i.test(each) && each !== 'default');
      const missing = `const missing = (what) => { throw new Error(what + ' needs VS Code on a desktop'); };`;
      // Called as a module is loaded, to make what is called later.
      const each = names
        .map((one) => `const _${one} = () => ${one === 'promisify' ? '() => ' : ''}missing(${JSON.stringify(`${name} ${one}`)});`)
        .join('\n');
      const exported = `export { ${names.map((one) => `_${one} as ${one}`).join(', ')} };`;
      return {
        contents: `${missing}\n${each}\n${exported}\nexport default { ${names.map((one) => `${one}: _${one}`).join(', ')} };`,
        loader: 'js',
      };
    });
  },
};

/**
 * The extension for browsers, where it is one script without Node.js, and the script of its planners.
 * @type {import('esbuild').BuildOptions}
 */
export const browser = {
  ...common,
  outdir: 'dist/web',
  platform: 'browser',
  target: 'chrome120',
  mainFields: ['browser', 'module', 'main'],
  // The engine of shell scripts asks for the address of its script, though it is given what lies next to it.
  define: { 'process.platform': '"web"', 'import.meta.url': '"https://localhost/"' },
  // What a condition on Windows becomes then is always false.
  logOverride: { 'suspicious-logical-operator': 'silent' },
};

const builds = [
  {
    ...browser,
    entryPoints: { extension: 'src/extension/main-web.ts' },
    format: 'cjs',
    external: ['vscode', 'fs/promises', 'module'],
    plugins: [withoutNode, report],
  },
  {
    ...browser,
    entryPoints: { planner: 'src/web/extension-worker.ts' },
    format: 'iife',
    external: ['fs/promises', 'module'],
    plugins: [report],
  },
  {
    ...node,
    entryPoints: { extension: 'src/extension/main.ts' },
    format: 'esm',
    splitting: true,
    chunkNames: 'extension/[name]-[hash]',
    sourcemap: production ? false : 'inline',
    metafile: true,
    write: false,
    plugins: [asCommonJs, report],
  },
  {
    ...node,
    entryPoints: { worker: 'src/worker/main.ts', planner: 'src/worker/planner-thread.ts' },
    plugins: [report],
  },
  profilerBuild('dist'),
  ...terminalBuilds('dist'),
  {
    ...common,
    entryPoints: { webview: 'webview/main.ts', page: 'webview/page.css' },
    platform: 'browser',
    target: 'chrome120',
    // Modules: what a tab needs is fetched when it is first shown.
    format: 'esm',
    splitting: true,
    chunkNames: 'page/[name]-[hash]',
    tsconfig: 'webview/tsconfig.json',
    plugins: [report, ...toolkitPlugins],
  },
];

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) void main();

async function main() {
  if (!watch) await rm('dist', { recursive: true, force: true });
  await copyRead('dist');
  if (watch) {
    const contexts = await Promise.all(builds.map((options) => esbuild.context(options)));
    // F5 starts VS Code at the first `build finished`, so that line has to wait for every bundle.
    began();
    await Promise.allSettled(contexts.map((context) => context.rebuild()));
    ended();
    await Promise.all(contexts.map((context) => context.watch()));
  } else {
    const results = await Promise.allSettled(builds.map((options) => esbuild.build(options)));
    // esbuild has printed what is wrong.
    if (results.some(({ status }) => status === 'rejected')) process.exitCode = 1;
  }
}

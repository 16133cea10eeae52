// Builds the page for browsers into out/web, a folder of static files. `--serve` shows it here, on PORT, 8123 by default; 0 is any free one.
// `--built` serves what was built before.
import esbuild from 'esbuild';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { toolkitPlugins } from './webview/toolkit-plugins.mjs';

const { resolve } = createRequire(import.meta.url);
const outdir = 'out/web';

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  minify: true,
  platform: 'browser',
  target: 'chrome120',
  format: 'esm',
  legalComments: 'linked',
  tsconfig: 'webview/tsconfig.json',
  mainFields: ['browser', 'module', 'main'],
  external: ['fs/promises', 'module'],
  outdir,
};

/** One file of each kind, by what it is called. */
const sampleFiles = {
  'gpt3-175b': { 'terapipe.json': 'media/samples/gpt3-175b/terapipe.json', 'config.json': 'media/samples/gpt3-175b/config.json' },
  'Hugging Face config.json': { 'config.json': 'media/samples/llama3-8b/config.json' },
  'terapipe.json': { 'terapipe.json': 'media/samples/llama3-8b/terapipe.json', 'config.json': 'media/samples/llama3-8b/config.json' },
  'Megatron-LM': { 'train.sh': 'src/web/samples/megatron.sh' },
  NeMo: { 'nemo.yaml': 'src/web/samples/nemo.yaml' },
  'Megatron-Bridge': { 'bridge.yaml': 'src/web/samples/megatron-bridge.yaml' },
  'GPT-NeoX': { 'neox.yml': 'src/web/samples/gpt-neox.yml' },
  TorchTitan: { 'torchtitan.toml': 'src/web/samples/torchtitan.toml' },
  DeepSpeed: { 'ds_config.json': 'src/web/samples/ds_config.json', 'config.json': 'media/samples/llama3-8b/config.json' },
};

async function samples() {
  const read = async (files) =>
    Object.fromEntries(await Promise.all(Object.entries(files).map(async ([name, file]) => [name, await readFile(file, 'utf8')])));
  return Object.fromEntries(await Promise.all(Object.entries(sampleFiles).map(async ([name, files]) => [name, await read(files)])));
}

async function wasm() {
  const files = [resolve('web-tree-sitter/web-tree-sitter.wasm'), resolve('tree-sitter-bash/tree-sitter-bash.wasm')];
  return Object.fromEntries(await Promise.all(files.map(async (file) => [path.basename(file), (await readFile(file)).toString('base64')])));
}

/** What the page imports that no file holds. */
function made(modules) {
  return {
    name: 'made',
    setup(build) {
      build.onResolve({ filter: /^terapipe:/ }, ({ path: name }) => ({ path: name, namespace: 'made' }));
      build.onLoad({ filter: /.*/, namespace: 'made' }, async ({ path: name }) => ({
        contents: `export default ${JSON.stringify(await modules[name]())}`,
        loader: 'js',
      }));
    },
  };
}

async function build() {
  await rm(outdir, { recursive: true, force: true });
  await mkdir(outdir, { recursive: true });
  // Apart from each other, or each would come in many small files: a worker needs what the page needs too, but is not to wait for it.
  const plugins = [...toolkitPlugins, made({ 'terapipe:wasm': wasm, 'terapipe:samples': samples })];
  const apart = [{ web: 'src/web/start.ts' }, { planner: 'src/web/worker.ts' }, { webview: 'webview/main.ts', page: 'webview/page.css' }];
  await Promise.all(
    apart.map((entryPoints) =>
      esbuild.build({ ...common, entryPoints, splitting: true, chunkNames: `${Object.keys(entryPoints)[0]}/[name]-[hash]`, plugins }),
    ),
  );
  const { version } = JSON.parse(await readFile('package.json', 'utf8'));
  const css = `${await readFile('src/web/theme.css', 'utf8')}${await readFile('src/web/web.css', 'utf8')}`;
  await writeFile(path.join(outdir, 'web.css'), css);
  await writeFile(path.join(outdir, 'index.html'), (await readFile('src/web/index.html', 'utf8')).replace('VERSION', version));
  await copyFile('media/icon.png', path.join(outdir, 'icon.png'));
  const manifest = {
    name: 'TeraPipe',
    short_name: 'TeraPipe',
    start_url: '.',
    display: 'standalone',
    icons: [{ src: 'icon.png', sizes: '256x256', type: 'image/png' }],
  };
  await writeFile(path.join(outdir, 'manifest.webmanifest'), JSON.stringify(manifest));
  await writeFile(path.join(outdir, '.nojekyll'), '');
  const files = (await readdir(outdir, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && !entry.name.startsWith('.'),
  );
  const names = files.map((entry) => path.relative(outdir, path.join(entry.parentPath, entry.name)).replaceAll('\\', '/')).sort();
  const hash = createHash('sha256');
  for (const name of names) hash.update(await readFile(path.join(outdir, name)));
  const kept = ['.', ...names.filter((name) => !name.endsWith('.LEGAL.txt'))];
  const script = (await readFile('src/web/sw.js', 'utf8')).replace("'terapipe-VERSION'", `'terapipe-${hash.digest('hex').slice(0, 16)}'`);
  await writeFile(path.join(outdir, 'sw.js'), script.replace('files = FILES', `files = ${JSON.stringify(kept)}`));
  if (process.argv.includes('--sizes'))
    for (const name of names) console.log(`${gzipSync(await readFile(path.join(outdir, name))).length}\t${name}`);
}

const types = { html: 'text/html', js: 'text/javascript', css: 'text/css', png: 'image/png', webmanifest: 'application/manifest+json' };

function serve() {
  const port = Number(process.env.PORT ?? 8123);
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '/', 'http://localhost').pathname.replace(/\/$/, '/index.html');
    const file = path.join(outdir, path.normalize(name));
    readFile(file).then(
      (bytes) => response.setHeader('content-type', types[path.extname(file).slice(1)] ?? 'text/plain').end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
}

if (!process.argv.includes('--built')) await build();
if (process.argv.includes('--serve')) serve();

// Builds the four bundles into dist/: extension, worker, cli (node) and the page (browser). `--watch` rebuilds, `--production` minifies.
import esbuild from 'esbuild';
import { mkdir, rm } from 'node:fs/promises';
import process from 'node:process';

const production = process.argv.includes('--production');
const watch = process.argv.includes('--watch');

/** @type {import('esbuild').BuildOptions} */
const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : 'linked',
  logLevel: 'warning',
  outdir: 'dist',
  legalComments: 'linked',
};
/** @type {import('esbuild').BuildOptions} */
const node = { ...common, platform: 'node', target: 'node20', format: 'cjs', external: ['vscode', 'onnxruntime-node'] };

// Lines that the `$esbuild-watch` problem matcher in .vscode/tasks.json understands.
const report = {
  name: 'report',
  setup(build) {
    build.onStart(() => {
      if (watch) console.log('[watch] build started');
    });
    build.onEnd((result) => {
      for (const { text, location } of result.errors)
        console.error(`✘ [ERROR] ${text}\n    ${location?.file}:${location?.line}:${location?.column}:`);
      if (watch) console.log('[watch] build finished');
    });
  },
};

const builds = [
  { ...node, entryPoints: { extension: 'src/extension/main.ts', worker: 'src/worker/main.ts' }, plugins: [report] },
  { ...node, entryPoints: { cli: 'src/cli/main.ts' }, banner: { js: '#!/usr/bin/env node' }, plugins: [report] },
  {
    ...common,
    entryPoints: { webview: 'webview/main.ts', page: 'webview/page.css' },
    platform: 'browser',
    target: 'chrome120',
    format: 'iife',
    tsconfig: 'webview/tsconfig.json',
    plugins: [report],
  },
];

if (!watch) await rm('dist', { recursive: true, force: true });
await mkdir('dist', { recursive: true });
if (watch) {
  for (const options of builds) await (await esbuild.context(options)).watch();
} else {
  await Promise.all(builds.map((options) => esbuild.build(options)));
}

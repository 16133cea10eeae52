import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { installVsix, temporaryFolder } from '../harness/code-server.mjs';
import { makePackage } from '../harness/package.mjs';
import { root } from '../harness/setup.mjs';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { walkRestricted } from './restricted';
import { walkWebHost } from './web-host';
import { launchBrowser } from './workbench';

/** ONNX Runtime for one platform is about 20 MB of it. */
const sizeBudgetBytes = 22_000_000;
/** All that the extension may hold; `.vsixmanifest` is written by the installer. */
const allowed = [
  /^package(\.nls)?\.json$/,
  /^(README|readme)\.md$/,
  /^(CHANGELOG|changelog)\.md$/,
  /^LICENSE(\.txt|\.md)?$/,
  /^THIRD_PARTY_NOTICES\.md$/,
  /^dist\/[\w-]+\.(js|css)(\.LEGAL\.txt)?$/,
  /^dist\/(extension|page)\/[\w-]+\.js(\.LEGAL\.txt)?$/,
  /^dist\/(web-tree-sitter|tree-sitter-bash)\.wasm$/,
  /^dist\/torch\/(train|terapipe_torch\/[\w/]+)\.py$/,
  /^dist\/node_modules\/onnxruntime-(node|common)\/(package\.json|dist\/[\w/-]+\.js|dist\/cjs\/package\.json)$/,
  new RegExp(`^dist/node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/[\\w.-]+$`),
  /^media\/[\w./-]+\.(svg|png|json|md)$/,
  /^docs\/[\w./-]+\.(md|png)$/,
  /^dist\/skills\/terapipe\/SKILL\.md$/,
  /^\.vsixmanifest$/,
];
const needed = [
  'package.json',
  'dist/extension.js',
  'dist/worker.js',
  'dist/planner.js',
  'dist/profiler.js',
  'dist/cli.js',
  'dist/command.js',
  'dist/terminal.js',
  'dist/help.js',
  'dist/tools.js',
  'dist/mcp.js',
  'dist/skills/terapipe/SKILL.md',
  'dist/terminal-later.js',
  'dist/webview.js',
  'dist/page.css',
  'dist/web-tree-sitter.wasm',
  'dist/tree-sitter-bash.wasm',
  'dist/torch/train.py',
];

/**
 * The VSIX that `npm run package` makes: what is in it, that it installs into a fresh VS Code, and what it does in a restricted workspace;
 * and the one for browsers in a web-worker extension host.
 */
export async function runPackageTests(input: TierRun): Promise<void> {
  const { chromiumPath, tools, emit } = input;
  const vsix = await makePackage();
  const extensionsFolder = path.join(temporaryFolder('terapipe-vsix'), 'extensions');
  const browser = await launchBrowser(chromiumPath);
  const steps: readonly Step[] = [
    {
      name: `the VSIX is under ${sizeBudgetBytes / 1e6} MB`,
      act: () => {
        assert.ok(vsix.bytes < sizeBudgetBytes, `it has ${vsix.bytes} bytes`);
        return Promise.resolve();
      },
    },
    { name: 'it installs into a fresh VS Code', act: () => installVsix(tools, vsix.file, extensionsFolder) },
    {
      name: 'it holds what the extension needs and nothing else',
      act: () => {
        const files = installedFiles(extensionsFolder);
        const names = files.map(({ name }) => name);
        assert.deepEqual(
          names.filter((name) => !allowed.some((pattern) => pattern.test(name))),
          [],
        );
        assert.deepEqual(
          needed.filter((name) => !names.includes(name)),
          [],
        );
        assert.deepEqual(
          files.filter(({ bytes }) => bytes.includes(root)).map(({ name }) => name),
          [],
          'names a path of this machine',
        );
        return Promise.resolve();
      },
    },
    {
      name: 'its terminal front end starts',
      act: () => {
        const terminal = path.join(installedFolder(extensionsFolder), 'dist/cli.js');
        const printed = (args: readonly string[]): string => execFileSync(process.execPath, [terminal, ...args], { encoding: 'utf8' });
        assert.match(printed(['--version']), /^\d+\.\d+\.\d+\n$/);
        assert.match(printed(['inspect', 'meta-llama/Llama-3.1-8B']), /\b32\b/);
        return Promise.resolve();
      },
    },
  ];
  try {
    const isInstalled = await walkSteps(steps, emit, () => Promise.resolve());
    if (isInstalled) await walkRestricted(browser, extensionsFolder, input);
    emit({ kind: 'note', text: `${path.basename(vsix.file)}: ${(vsix.bytes / 1000).toFixed(0)} kB, ${vsix.contents.length} files` });
    await walkWebHost(browser, input);
  } finally {
    await browser.close();
  }
}

function installedFolder(extensionsFolder: string): string {
  const folder = readdirSync(extensionsFolder).find((name) => name.startsWith('terapipe.terapipe-'));
  if (folder === undefined) throw new Error(`no terapipe.terapipe in ${readdirSync(extensionsFolder).join(', ')}`);
  return path.join(extensionsFolder, folder);
}

function installedFiles(extensionsFolder: string): { name: string; bytes: Buffer }[] {
  const top = installedFolder(extensionsFolder);
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ name: path.relative(top, file).replaceAll('\\', '/'), bytes: readFileSync(file) }));
}

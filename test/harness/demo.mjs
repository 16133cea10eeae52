// @ts-check
// `npm run demo`: a real VS Code in the browser on a copy of the sample workspace, its plan and timeline open. PORT names the port. Ctrl+C
// ends it.
import { spawn } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { startCodeServer, temporaryFolder } from './code-server.mjs';
import { start } from './processes.mjs';
import { ensureBuild, ensureChromium, ensureDependencies, findProgram, lastWords, root } from './setup.mjs';
import { missing, runMain, say } from './steps.mjs';
import { ensureTools } from './tools.mjs';

const sample = 'media/samples/gpt3-175b';

/** @returns {number | undefined} the port that PORT asks for */
function wantedPort() {
  const text = process.env['PORT'];
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    throw missing(`PORT is ${JSON.stringify(text)}`, 'make it a number from 1 to 65535');
  return port;
}

/**
 * Opens the user's browser where there is a screen; on a machine without one the printed address is all there is. The browser outlives the
 * demo.
 * @param {string} url
 */
function openBrowser(url) {
  const screen = process.platform === 'darwin' || process.env['DISPLAY'] !== undefined || process.env['WAYLAND_DISPLAY'] !== undefined;
  if (!screen || process.env['BROWSER'] === 'none') return;
  const opener = findProgram(process.platform === 'darwin' ? 'open' : 'xdg-open');
  const fallBack = () => void openChromium(url);
  if (opener === null) {
    fallBack();
    return;
  }
  const child = spawn(opener, [url], { detached: true, stdio: 'ignore' });
  child.once('error', fallBack);
  child.once('exit', (code) => code !== 0 && fallBack());
  child.unref();
}

/**
 * For a screen without a default browser.
 * @param {string} url
 */
async function openChromium(url) {
  try {
    start(await ensureChromium(), [`--app=${url}`, `--user-data-dir=${temporaryFolder('terapipe-browser')}`], { stdio: 'ignore' });
  } catch (error) {
    say('browser', `open the address yourself: ${error instanceof Error ? error.message : String(error)}`);
  }
}

await runMain(async () => {
  const port = wantedPort();
  await ensureDependencies();
  const tools = await ensureTools();
  await ensureBuild();
  if (!existsSync(path.join(root, sample))) throw missing(`${sample} does not exist`, 'check out the whole repository');
  const workspace = path.join(temporaryFolder('terapipe-demo'), path.basename(sample));
  cpSync(path.join(root, sample), workspace, { recursive: true });
  const server = await startCodeServer(tools, {
    extensions: [root, path.join(root, 'test/harness/demo-driver')],
    settings: { 'editor.minimap.enabled': false, 'editor.wordWrap': 'on' },
    ...(port === undefined ? {} : { port }),
  });
  console.log(`\nDemo: ${server.url(workspace)}\n`);
  say('', 'Edit terapipe.json there and watch the plan change. Ctrl+C ends the demo and removes its files.');
  openBrowser(server.url(workspace));
  const code = await server.ended;
  throw missing(`code-server ended by itself with code ${code}: ${lastWords(server.log()) || 'it printed nothing'}`, 'run the demo again');
});
process.exit();

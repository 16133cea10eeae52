// Prints what memory the extension host and its workers take over 1,000 edits and 200 openings of the panel in a real VS Code: `npm run bench:memory`, or with `-- ROUNDS EDITS OPENINGS` of each round.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as esbuild from 'esbuild';
import { startCodeServer, temporaryFolder } from '../harness/code-server.mjs';
import { ensureBuild, ensureChromium, root } from '../harness/setup.mjs';
import { ensureTools } from '../harness/tools.mjs';
import { developmentHost, launchBrowser, openWorkbench } from '../vscode/workbench';
import type { MemoryBench } from './memory-suite';

/** Without an answer for so long the bench gives up. */
const patienceMs = 300_000;
const [rounds = 10, editsARound = 100, openingsARound = 20] = process.argv.slice(2).map(Number);

async function main(): Promise<void> {
  const tools = await ensureTools();
  const chromiumPath = await ensureChromium();
  await ensureBuild();
  const folder = temporaryFolder('terapipe-memory');
  const workspace = path.join(folder, 'workspace');
  mkdirSync(workspace);
  cpSync(path.join(root, 'media/samples/llama3-8b'), workspace, { recursive: true });
  const resultFile = path.join(folder, 'figures.txt');
  writeFileSync(resultFile, '');
  const testsFile = path.join(folder, 'memory-suite.js');
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['test/bench/memory-suite.ts'],
    outfile: testsFile,
    bundle: true,
    platform: 'node',
    target: 'node22',
    format: 'cjs',
    external: ['vscode'],
    logLevel: 'warning',
  });
  const bench: MemoryBench = { file: path.join(workspace, 'terapipe.json'), resultFile, rounds, editsARound, openingsARound };
  const server = await startCodeServer(tools, { env: { TERAPIPE_BENCH: JSON.stringify(bench) }, settings: { 'terapipe.planDelay': 0 } });
  const browser = await launchBrowser(chromiumPath);
  try {
    const { page } = await openWorkbench(browser, server.url(workspace), async (fresh) => {
      fresh.setDefaultTimeout(patienceMs);
      await developmentHost(fresh, server.port, root, testsFile);
    });
    let printed = '';
    for (let silentMs = 0; !/^(done|failed)/m.test(printed) && silentMs < patienceMs; silentMs += 500) {
      await page.waitForTimeout(500);
      const said = existsSync(resultFile) ? readFileSync(resultFile, 'utf8') : '';
      if (said === printed) continue;
      process.stdout.write(said.slice(printed.length));
      printed = said;
      silentMs = 0;
    }
    if (!/^done/m.test(printed)) {
      await page.screenshot({ path: path.join(root, 'out/bench-memory-failed.png') });
      throw new Error(`the extension host did not end: ${server.log().slice(-1000)}`);
    }
  } finally {
    await browser.close();
    await server.stop();
  }
}

void main();

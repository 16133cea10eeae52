import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { openStage, type Stage } from './browser';
import type { Case } from './cases';
import { compareCases } from './compare';
import { comparedCases } from './compared';
import { elasticCases } from './elastic';
import { layoutCases } from './layout';
import { performanceCases } from './performance';
import { takePictures } from './pictures';
import { profileCases } from './profile';
import { scheduleCases } from './schedule';
import { sideCases } from './side';
import { stateCases } from './states';
import { tabCases } from './tab';
import { timelineCases } from './timeline';

/** What the tier found; `notes` are measurements worth a line. */
export interface WebviewResult {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

/** Runs every case in a real Chromium on the built page, under the CSP of the extension, and leaves pictures of all looks in `screenshotsDir`. */
export async function runWebviewTests({
  chromiumPath,
  screenshotsDir,
}: {
  readonly chromiumPath: string;
  readonly screenshotsDir: string;
}): Promise<WebviewResult> {
  await mkdir(screenshotsDir, { recursive: true });
  const stage = await openStage(chromiumPath);
  const failures: string[] = [];
  const notes: string[] = [];
  const only = process.env['WEBVIEW_ONLY'];
  const asked = ({ name }: Case): boolean => only === undefined || name.includes(only);
  const together = [
    ...[...sideCases, ...stateCases, ...tabCases, ...compareCases, ...comparedCases, ...timelineCases],
    ...[...scheduleCases, ...profileCases, ...elasticCases, ...layoutCases],
  ].filter(asked);
  const alone = performanceCases.filter(asked);
  const run = async (oneCase: Case): Promise<void> => {
    const outcome = await runCase(stage, oneCase, screenshotsDir);
    if (outcome.failure !== null) failures.push(`${oneCase.name}: ${outcome.failure}`);
    if (outcome.note !== undefined) notes.push(outcome.note);
  };
  for (const oneCase of alone) await run(oneCase);
  await inLanes(3, together, run);
  if (only === undefined) failures.push(...(await takePictures(stage, screenshotsDir)));
  await stage.close();
  return {
    passed: alone.length + together.length + Number(only === undefined) - failures.length,
    failed: failures.length,
    failures,
    notes,
  };
}

/** Works through a list with a few at a time: pages mostly wait. */
async function inLanes<T>(lanes: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function runCase(
  stage: Stage,
  { name, options, state, steps }: Case,
  screenshotsDir: string,
): Promise<{ readonly failure: string | null; readonly note?: string | undefined }> {
  const open = await stage.open(options);
  try {
    const first = state();
    if (first !== null) {
      await open.send({ type: 'state', state: first });
      await open.page.locator('.page:visible').waitFor();
    }
    const note = await steps(open);
    const complaints = await open.complaints();
    return { failure: complaints.length > 0 ? `the console says: ${complaints.join('; ')}` : null, note };
  } catch (error) {
    await open.page.screenshot({ path: path.join(screenshotsDir, `failed-${name.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}.png`) });
    return { failure: error instanceof Error ? error.message.slice(0, 1500) : String(error) };
  } finally {
    await open.close();
  }
}

if (process.argv[1] !== undefined && path.basename(process.argv[1]) === 'run.ts' && process.argv[1].includes('webview')) {
  const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
  void runWebviewTests({ chromiumPath, screenshotsDir: path.resolve('out/screenshots') }).then((result) => {
    console.log(JSON.stringify(result, null, 2));
    process.exit(result.failed > 0 ? 1 : 0);
  });
}

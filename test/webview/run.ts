import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { Emit } from '../harness/events.mjs';
import { accessibilityCases, canvasCases, readingCases } from './accessibility';
import { approvedCases } from './approved';
import { openStage, type Stage } from './browser';
import type { Case } from './cases';
import { compareCases } from './compare';
import { comparedCases } from './compared';
import { elasticCases } from './elastic';
import { prefillCases } from './prefill';
import { rankCases } from './ranks';
import { historyCases } from './history';
import { keyCases } from './keys';
import { layoutCases } from './layout';
import { numberCases } from './numbers';
import { performanceCases } from './performance';
import { profileCases } from './profile';
import { rowCases } from './rows';
import { scheduleCases } from './schedule';
import { sideCases } from './side';
import { sliceCases } from './slices';
import { stateCases } from './states';
import { tabCases } from './tab';
import { timelineCases } from './timeline';
import { webCases } from './web';
import { whatIfCases } from './what-if';
import { wordCases } from './words';

/** Runs every case in a real Chromium on the built page, under the CSP of the extension, and compares looks with approved pictures. */
export async function runWebviewTests({
  chromiumPath,
  screenshotsDir,
  emit,
}: {
  readonly chromiumPath: string;
  readonly screenshotsDir: string;
  readonly emit: Emit;
}): Promise<void> {
  await mkdir(screenshotsDir, { recursive: true });
  const stage = await openStage(chromiumPath);
  const only = process.env['WEBVIEW_ONLY'];
  const asked = ({ name }: { readonly name: string }): boolean => only === undefined || name.includes(only);
  const together = [
    ...sideCases,
    ...stateCases,
    ...tabCases,
    ...compareCases,
    ...comparedCases,
    ...numberCases,
    ...timelineCases,
    ...rowCases,
    ...keyCases,
    ...sliceCases,
    ...scheduleCases,
    ...profileCases,
    ...elasticCases,
    ...prefillCases,
    ...layoutCases,
    ...rankCases,
    ...whatIfCases,
    ...historyCases,
    ...wordCases,
    ...accessibilityCases,
    ...canvasCases,
    ...readingCases,
  ].filter(asked);
  const sequential = performanceCases.filter(asked);
  const approved = approvedCases.filter(asked);
  const web = webCases.filter(asked);
  const run = async (oneCase: Case): Promise<void> => {
    emit({ kind: 'start', name: oneCase.name });
    const { failure, note } = await runCase(stage, oneCase, screenshotsDir);
    if (note !== undefined) emit({ kind: 'note', text: note });
    emit(failure === null ? { kind: 'pass', name: oneCase.name } : { kind: 'fail', name: oneCase.name, why: failure });
  };
  emit({ kind: 'expect', count: sequential.length + together.length + approved.length + web.length });
  for (const oneCase of sequential) await run(oneCase);
  await inLanes(3, together, run);
  for (const { name, run: compare } of approved) {
    emit({ kind: 'start', name });
    const outcome = await compare(stage, screenshotsDir).then(
      (how) => ({ kind: 'pass', name, how }) as const,
      (error: unknown) => ({ kind: 'fail', name, why: error instanceof Error ? error.message.slice(0, 1500) : String(error) }) as const,
    );
    if (outcome.kind === 'pass') emit({ kind: 'note', text: `${name}: ${outcome.how}` });
    emit(outcome);
  }
  for (const { name, run: visit } of web) {
    emit({ kind: 'start', name });
    const failure = await visit(stage).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message.slice(0, 1500) : String(error)),
    );
    emit(failure === null ? { kind: 'pass', name } : { kind: 'fail', name, why: failure });
  }
  await stage.close();
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
      await open.page.evaluate('harness.drawn()');
    }
    const note = await steps(open);
    const complaints = await open.complaints();
    return { failure: complaints.length > 0 ? `the console shows: ${complaints.join('; ')}` : null, note };
  } catch (error) {
    await open.page.screenshot({ path: path.join(screenshotsDir, `failed-${name.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}.png`) });
    return { failure: error instanceof Error ? error.message.slice(0, 1500) : String(error) };
  } finally {
    await open.close();
  }
}

if (process.argv[1] !== undefined && path.basename(process.argv[1]) === 'run.ts' && process.argv[1].includes('webview')) {
  const chromiumPath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
  const print: Emit = (event) => {
    if (event.kind !== 'start') console.log(JSON.stringify(event));
    if (event.kind === 'fail') process.exitCode = 1;
  };
  void runWebviewTests({ chromiumPath, screenshotsDir: path.resolve('out/screenshots'), emit: print });
}

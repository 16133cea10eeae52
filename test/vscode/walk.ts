import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { walkSteps, type Step, type TierInput, type TierResult } from '../harness/tier-result';
import { startDemo } from './demo';
import { openWorkbench, planShown } from './workbench';

/** A person's walk through `npm run demo`. */
export async function walkDemo(browser: Browser, { screenshotsDir }: TierInput): Promise<TierResult> {
  mkdirSync(screenshotsDir, { recursive: true });
  const startMs = performance.now();
  const demo = await startDemo();
  const workbench = await openWorkbench(browser, demo.url);
  const { page } = workbench;
  const picture = (name: string) => page.screenshot({ path: path.join(screenshotsDir, `vscode-${name}.png`) });
  const notes: string[] = [];
  const steps: readonly Step[] = [
    {
      name: 'the demo shows the plan in the side panel and the timeline in a tab, without a click',
      act: async () => {
        await planShown(page, 'side');
        await planShown(page, 'tab');
        notes.push(`demo: started and plan shown in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
        await picture('demo');
      },
    },
    {
      name: 'no page violates its content security policy or throws',
      act: () => {
        assert.deepEqual(workbench.cspViolations, []);
        assert.deepEqual(workbench.pageErrors, []);
        return Promise.resolve();
      },
    },
    {
      name: 'Ctrl+C ends the demo and leaves nothing behind',
      act: async () => {
        await page.close();
        await demo.stop();
      },
    },
  ];
  try {
    const result = await walkSteps(steps, async () => {
      await picture('failed').catch(() => undefined);
    });
    return { ...result, notes };
  } finally {
    await demo.stop().catch(() => undefined);
  }
}

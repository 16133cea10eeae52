import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { walkSteps, type TierRun } from '../harness/tier-result';
import { picturesOf, runFromPalette, type Workbench } from './workbench';

/** A model that one node does not hold. */
const large = {
  model: { layers: 96, hidden: 12288, heads: 96, vocab: 50304 },
  cluster: { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 8 },
  training: { sequenceLength: 2048, globalBatch: 32 },
  layout: { tensor: 8, pipeline: 1, data: 1 },
};

/** The configs of a workspace as tests, in VS Code's own view: one that fits, one that does not. */
export async function walkTests(
  { page }: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const { look, failed } = picturesOf(page, screenshotsDir);
  const rows = page.locator('.test-explorer .monaco-list-row');
  const row = (name: string, outcome: string) => page.locator(`.test-explorer .monaco-list-row[aria-label^="${name} (${outcome}"]`);
  const step = {
    name: 'the configs of a workspace are tests: they start, and they fit or do not',
    act: async () => {
      const folder = path.join(workspace, 'tested');
      mkdirSync(folder);
      writeFileSync(path.join(folder, 'large.terapipe.json'), JSON.stringify(large));
      await runFromPalette(page, 'Testing: Focus on Test Explorer View');
      await rows.first().waitFor();
      await runFromPalette(page, 'Test: Refresh Tests');
      await row('tested/large.terapipe.json', 'Not yet run').waitFor();
      await runFromPalette(page, 'Test: Run All Tests');
      await runFromPalette(page, 'Testing: Focus on Test Explorer View');
      await row('tested/large.terapipe.json', 'Failed').first().waitFor();
      await row('config.json', 'Passed').first().waitFor();
      await look('tests');
      await runFromPalette(page, 'View: Hide Panel');
    },
  };
  await walkSteps([step], emit, () => failed('tests'));
}

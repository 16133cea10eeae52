import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { walkSteps, type Step, type TierRun } from '../harness/tier-result';
import { pageFrame } from './plan-page';
import { until } from './until';
import { askFromPalette, openFile, picturesOf, runFromPalette, saveAsProposed, showEditor, type Workbench } from './workbench';

const sample = path.join(import.meta.dirname, '../../media/samples/vit-elastic');

/** A run that freezes layers, in a workspace that gets the sample: its tab, each slider, and what a slider writes. */
export async function walkElastic(
  workbench: Workbench,
  workspace: string,
  { screenshotsDir, emit }: Pick<TierRun, 'screenshotsDir' | 'emit'>,
): Promise<void> {
  const folder = path.join(workspace, 'freezing');
  cpSync(sample, folder, { recursive: true });
  // A name of its own: the workspace has another terapipe.json.
  const file = path.join(folder, 'freezing.terapipe.json');
  cpSync(path.join(sample, 'terapipe.json'), file);
  const { look, failed } = picturesOf(workbench.page, screenshotsDir);
  await walkSteps(
    elasticSteps(workbench, (name) => look(`elastic-${name}`), file),
    emit,
    () => failed('elastic'),
  );
}

function elasticSteps(
  { page, cspViolations, pageErrors }: Workbench,
  look: (name: string) => Promise<void>,
  file: string,
): readonly Step[] {
  const name = path.basename(file);
  const lens = page.locator('.codelens-decoration a', { hasText: /^Elastic: [\d.]+x over 10 epochs$/ }).first();
  return [
    {
      name: 'a lens of a run that freezes layers opens the Elastic tab',
      act: async () => {
        await runFromPalette(page, 'View: Close All Editors');
        await openFile(page, file);
        await lens.click();
        await (await pageFrame(page, 'tab')).locator('.epoch-chart').waitFor();
        await runFromPalette(page, 'View: Move Editor into Left Group');
        const tab = await pageFrame(page, 'tab');
        await tab.locator('.epoch-chart').waitFor();
        await tab.locator('.mechanism-all').waitFor();
        await look('epochs');
      },
    },
    {
      name: 'a run that freezes layers has its verdict, and its tables and report are exported',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        const words = tab.locator('.glance-words:visible');
        await words.getByText(/^Do not pipeline this model: one GPU a replica\./).waitFor();
        await words.getByText(/[\d.]+\stimes as fast with frozen layers\./).waitFor();
        assert.match(await words.innerText(), /\sfor 10\sepochs instead of /);
        await tab.getByRole('button', { name: 'Export' }).click();
        await tab.getByText('Tables as CSV', { exact: true }).click();
        const folder = path.dirname(file);
        const saved = await saveAsProposed(page, folder, '-elastic.csv');
        const lines = saved.split('\r\n');
        assert.equal(lines.filter((line) => /^\d+,/.test(line)).length, 10);
        await tab.getByRole('button', { name: 'Export' }).click();
        await tab.getByText('Report as HTML', { exact: true }).click();
        const report = await saveAsProposed(page, folder, '.html');
        assert.match(report, /What each mechanism gains[^]*Every epoch/);
        await look('verdict');
      },
    },
    {
      name: 'each slider of the Elastic tab walks its curve',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        for (const title of ['Alpha', 'Pipeline length at the start', 'Micro-batches in the first epoch']) {
          const card = tab.locator(`.study-card[aria-label="${title}"]`);
          await card.scrollIntoViewIfNeeded();
          const before = await card.locator('.study-readout').innerText();
          await card.locator('input').focus();
          await page.keyboard.press('Home');
          await card.locator('.study-act vscode-button').waitFor();
          await until(`another value of ${title}`, async () => (await card.locator('.study-readout').innerText()) !== before || undefined);
        }
        await look('sliders');
      },
    },
    {
      name: 'what a slider of the Elastic tab chose is written into the file, and planned',
      act: async () => {
        const tab = await pageFrame(page, 'tab');
        const alpha = tab.locator('.study-card[aria-label="Alpha"]');
        await alpha.locator('input').focus();
        await page.keyboard.press('End');
        await alpha.getByRole('button', { name: 'Use alpha 0.9' }).click();
        await alpha.getByText('as planned').waitFor();
        await showEditor(page, name);
        await page.locator('.view-line', { hasText: '"alpha": 0.9' }).waitFor();
        assert.match(readFileSync(file, 'utf8'), /"alpha": 0\.3333/);
      },
    },
    {
      name: 'a run that freezes layers is written as a folder that PyTorch trains',
      act: async () => {
        await showEditor(page, name);
        await askFromPalette(page, 'TeraPipe: Export layout', 'PyTorch');
        await page.locator('.quick-input-list').getByText('PyTorch', { exact: true }).click();
        const folder = path.join(path.dirname(file), 'trained');
        mkdirSync(folder);
        // The list of before has its input in the same place.
        const write = page.getByRole('button', { name: 'Write here' });
        await write.waitFor();
        const input = page.locator('.quick-input-widget input[type=text]');
        await until(`the folder ${folder}`, async () => {
          if ((await input.inputValue()) === `${folder}/`) return true;
          await input.fill(`${folder}/`);
          return undefined;
        });
        await write.click();
        await page.getByText(/^trained trains this plan: start it with run\.sh\./).waitFor();
        const written = JSON.parse(readFileSync(path.join(folder, 'elastic.json'), 'utf8')) as { readonly kind: string };
        assert.equal(written.kind, 'terapipe-torch-elastic');
        assert.ok(readdirSync(folder).includes('train.py'));
        await look('written');
      },
    },
    {
      name: 'no Elastic tab violated its content security policy or threw',
      act: () => {
        assert.deepEqual(cspViolations, []);
        assert.deepEqual(pageErrors, []);
        return Promise.resolve();
      },
    },
  ];
}

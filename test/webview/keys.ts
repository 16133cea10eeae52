import assert from 'node:assert/strict';
import type { ActMessage } from '../../src/protocol/page';
import { savedState, type OpenPage } from './browser';
import type { Case } from './cases';
import { planOf, stateOf } from './fixtures';
import { prefillState } from './prefill';

const plan = () => planOf({ unit: 64 });

/** What a screen reader reads first of the focused element: its name. */
async function named({ page }: OpenPage): Promise<string> {
  return page.evaluate<string>(`(() => {
    const active = document.activeElement;
    const by = document.getElementById(active.getAttribute('aria-labelledby') ?? '');
    return (by?.textContent ?? active.getAttribute('aria-label') ?? active.textContent).split(':')[0].trim();
  })()`);
}

/** Names of what has the focus after each press of a key. */
async function walked(open: OpenPage, key: string, presses: number): Promise<readonly string[]> {
  const names: string[] = [];
  for (let press = 0; press < presses; press++) {
    await open.page.keyboard.press(key);
    names.push(await named(open));
  }
  return names;
}

/** Keys that VS Code hands on as commands: see `workbench-keys.ts`. */
export const keyCases: readonly Case[] = [
  {
    name: 'keys: N and Shift+N lead through the parts of the tab and name them, and land in the lanes',
    options: { kind: 'tab', width: 1400, savedState: { tries: 'first' } },
    state: () => stateOf('tab', plan()),
    steps: async (open) => {
      const { page } = open;
      await page.evaluate('document.activeElement.blur()');
      const parts = ['Verdict', 'Plan and figures', 'Timeline', 'Plan', 'Timeline of TeraPipe', 'Memory over time', 'Details', 'Verdict'];
      assert.deepEqual(await walked(open, 'n', parts.length), parts);
      assert.deepEqual(await walked(open, 'Shift+N', parts.length - 1), parts.slice(0, -1).reverse());
      await page.getByRole('spinbutton').first().focus();
      assert.deepEqual(await walked(open, 'n', 1), ['Timeline of TeraPipe'], 'from inside a part');
      await page.getByRole('tab', { name: 'Memory' }).click();
      assert.deepEqual(await walked(open, 'n', 3), ['Plan', 'Memory', 'Memory of every stage']);
      return undefined;
    },
  },
  {
    name: 'keys: Shift+N leads out of the timeline of a prefill, a part of a part',
    options: { kind: 'tab', width: 1400, savedState: { document: 'x', tab: 'prefill' } },
    state: () => prefillState(),
    steps: async (open) => {
      await open.page.getByRole('tab', { name: 'Prefill' }).click();
      await open.page.locator('.panel-prefill [data-lanes]').first().focus();
      const lanes = await named(open);
      const before = await walked(open, 'Shift+N', 2);
      assert.ok(!before.includes(lanes), before.join());
      assert.equal(before[0], 'Prefill');
      return undefined;
    },
  },
  {
    name: 'keys: N leads through the parts of the side view, and the list of its keys is short',
    options: { kind: 'side', width: 320 },
    state: () => stateOf('side', plan()),
    steps: async (open) => {
      const parts = ['Verdict', 'Figures', 'Timeline', 'Reasons and findings', 'Verdict'];
      assert.deepEqual(await walked(open, 'n', parts.length), parts);
      await open.page.keyboard.press('Shift+?');
      const list = open.page.getByRole('dialog', { name: 'Keys' });
      await list.getByRole('heading', { name: 'Default keys' }).waitFor();
      await list.getByText('Keys that you have changed are listed in the Keyboard Shortcuts editor.').waitFor();
      assert.equal(
        (await list.locator('dl').innerText()).replace(/\s+/g, ' '),
        'N Go to the next part of the page Shift+N Go to the previous part of the page ? Show the keys of the page',
      );
      await list.getByRole('button', { name: 'Change keys' }).click();
      assert.deepEqual((await open.messages()).at(-1), { type: 'command', command: 'terapipe.changeKeys' });
      assert.equal(await list.count(), 0);
      return undefined;
    },
  },
  {
    name: 'keys: the list is of all keys of the tab, by their names',
    options: { kind: 'tab', width: 1400 },
    state: () => stateOf('tab', plan()),
    steps: async ({ page }) => {
      await page.keyboard.press('Shift+?');
      const rows = (await page.locator('.help dl > div').allInnerTexts()).map((row) => row.replace(/\s+/g, ' '));
      assert.equal(rows.length, 33);
      for (const row of [
        'W, + Zoom in',
        'S, - Zoom out',
        'Shift+W Higher rows',
        '← Previous operation of the stage',
        'F, Enter Zoom to the selection',
      ])
        assert.ok(rows.includes(row), `${row} in ${rows.join('; ')}`);
      return undefined;
    },
  },
  {
    name: 'keys: one that was pressed before the focus came into a field does nothing there, and none that walks the lanes scrolls the page',
    options: { kind: 'tab', width: 1400, height: 500 },
    state: () => stateOf('tab', plan()),
    steps: async (open) => {
      const { page } = open;
      const act = async (focus: 'other' | 'field'): Promise<void> => {
        const message: ActMessage = { type: 'act', command: 'terapipe.page.criticalPath', focus };
        await page.evaluate(`window.postMessage(${JSON.stringify(message)}, '*')`);
      };
      const outlined = async (): Promise<boolean> => (await savedState<{ readonly criticalPath: boolean }>(page)).criticalPath;
      await page.keyboard.press('/');
      await act('other');
      assert.equal(await outlined(), false);
      // Whoever gives the command a key of its own for fields is heard.
      await act('field');
      assert.equal(await outlined(), true);
      await page.keyboard.press('Escape');
      await page.evaluate(`window.addEventListener('keydown', (event) => (globalThis.prevented = event.defaultPrevented))`);
      for (const [selector, expected] of [
        ['.lanes-region', true],
        ['.lane-canvas', true],
        ['.inspector', false],
      ] as const) {
        await page.evaluate(`(() => { const to = document.querySelector('${selector}'); to.tabIndex = 0; to.focus(); })()`);
        await page.keyboard.press('PageDown');
        assert.equal(await page.evaluate('globalThis.prevented'), expected, selector);
      }
      return undefined;
    },
  },
];

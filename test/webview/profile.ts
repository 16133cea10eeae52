import assert from 'node:assert/strict';
import type { Profile } from '../../src/core/domain/profile';
import type { ProfileState } from '../../src/protocol/page';
import type { OpenOptions, OpenPage } from './browser';
import { drawnColors, show, until, withClipboard, type Case } from './cases';
import { planOf, stateOf } from './fixtures';
import { known, profileOf, profilesOf, simulatedSamples } from './profiles';
import { sentence } from '../../src/core/sentence';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900, savedState: { tab: 'profile' } };
const narrow: OpenOptions = { ...wide, width: 640, height: 1200 };
const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'&';
const plan = planOf({ unit: 128 });
const h100 = known(profileOf());
const a100 = known(profileOf({ name: 'NVIDIA A100-SXM4-80GB', tileMs: 0.7, longest: 1024 }, { precision: 'bf16' }), 'a100.json');

function state(profile: ProfileState | null, trusted = true): Case['state'] {
  return () => stateOf('tab', plan, { profile, trusted });
}

/** Text of the tab as a person reads it. */
async function textOf({ page }: OpenPage): Promise<string> {
  return (await page.locator('.profile-view').innerText()).replaceAll('\u00a0', ' ');
}

/** Value of a large number by its name. */
async function figureOf({ page }: OpenPage, name: string): Promise<string> {
  const figure = page.locator('.profile-figures .figure', { has: page.locator('dt', { hasText: name }) });
  return (await figure.locator('dd').innerText()).replace(/\s+/g, ' ');
}

/** How it was measured: the line under the device. */
async function howOf({ page }: OpenPage): Promise<string> {
  return (await page.locator('.profile-device .setting > span').allInnerTexts()).join(' | ');
}

async function commandsOf({ messages }: OpenPage): Promise<string[]> {
  return (await messages()).flatMap((message) => (message.type === 'command' ? [message.command] : []));
}

const running = (most: number, doing: string, fraction: number): ProfileState =>
  profilesOf([], { running: { profile: profileOf({ most, noise: 0.04 / most }, { seconds: most * 1.5 }), doing, fraction } });

const partial = profileOf({ most: 24 }, { status: 'partial', error: 'the profiling process was killed by the system' });

function imported(): Profile {
  const layer = simulatedSamples().map((sample) => ({ ...sample, holdOut: false, rounds: 1 }));
  const attention = { forward: '', backward: '' };
  return profileOf(
    {},
    { source: 'imported', provider: null, versions: {}, attention, seconds: 0, samples: { layer, embedding: [], head: [] } },
  );
}

/** Every state of the Profile tab, and what a person does in it. */
export const profileCases: readonly Case[] = [
  {
    name: 'profile: without a profile there is a sentence and a button',
    options: wide,
    state: state(profilesOf([])),
    steps: async (open) => {
      const { page } = open;
      assert.match(await textOf(open), /Measures slices of one layer on this machine and plans with them/);
      const panel = page.getByRole('tabpanel', { name: 'Profile' });
      assert.equal(await panel.locator('vscode-button').locator('visible=true').count(), 1);
      await panel.getByRole('button', { name: 'Profile on this GPU' }).click();
      await panel.getByRole('button', { name: 'Import measured times' }).click();
      await panel.getByRole('button', { name: 'Profile with PyTorch' }).click();
      assert.deepEqual(await commandsOf(open), ['terapipe.profile', 'terapipe.importProfile', 'terapipe.runHere']);
      const asked = (await open.messages()).flatMap((message) => (message.type === 'command' ? [message.what] : []));
      assert.deepEqual(asked, [undefined, undefined, 'profile']);
      return undefined;
    },
  },
  {
    name: 'profile: a restricted workspace cannot measure and gives the reason',
    options: wide,
    state: state(profilesOf([]), false),
    steps: async (open) => {
      const { page, send } = open;
      const button = page.locator('.profile-empty').getByRole('button', { name: 'Profile on this GPU', includeHidden: true });
      await until('the button off', () => button.isDisabled());
      await button.click({ force: true });
      await page.evaluate(
        `document.querySelector('.profile-view vscode-button').dispatchEvent(new MouseEvent('click', { bubbles: true }))`,
      );
      assert.deepEqual(await commandsOf(open), []);
      assert.match(await textOf(open), /A restricted workspace does not run programs: trust the workspace/);
      await send(show(stateOf('tab', plan, { profile: profilesOf([h100]), trusted: false })));
      await page.getByText('NVIDIA H100').first().waitFor();
      assert.match(await textOf(open), /A restricted workspace does not run programs: trust the workspace/);
      return undefined;
    },
  },
  {
    name: 'profile: the header shows device, provider, precision, attention, when, samples, seconds and errors',
    options: wide,
    state: state(profilesOf([h100])),
    steps: async (open) => {
      const { page, messages } = open;
      const text = await textOf(open);
      assert.match(text, /NVIDIA H100 80GB HBM3\s+used by this plan/);
      assert.match(await howOf(open), /^CUDA \| fp16 \| MultiHeadAttention, backward MatMul, Softmax \| .*2026.* \| Show file$/);
      const { errors } = h100.profile;
      const rounded = (percent: number): string => `${Number((Math.round(percent * 100) / 100).toPrecision(3))} %`;
      assert.equal(await figureOf(open, 'forward, mean error'), rounded(errors!.forward.meanPercent));
      assert.equal(await figureOf(open, 'forward, worst'), rounded(errors!.forward.maxPercent));
      assert.equal(await figureOf(open, 'backward, mean error'), rounded(errors!.backward.meanPercent));
      assert.equal(await figureOf(open, 'backward, worst'), rounded(errors!.backward.maxPercent));
      assert.equal(await figureOf(open, 'samples'), String(h100.profile.samples.layer.length));
      assert.equal(await figureOf(open, 'measuring time'), '148 s');
      assert.match(text, /From \d+ tokens on, slices reach 90 % of the best throughput \([\d.,]+K? tokens\/s at \d+ tokens\)/);
      assert.match(text, /18 of 18 points held out of the fit are within 2 %/);
      await page.getByText('How it was measured').click();
      await page.getByText('570.86.15').waitFor();
      await page.getByRole('button', { name: 'Show file' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'reveal', place: { file: h100.file, range: { start: 0, end: 0 } } });
      return undefined;
    },
  },
  {
    name: 'profile: while measuring, samples come and errors fall without the plan being sent again',
    options: wide,
    state: state(profilesOf([])),
    steps: async (open) => {
      const { page, send } = open;
      await send({ type: 'update', fields: { profile: running(0, 'Starting ONNX Runtime with CUDA', 0) } });
      await page.getByText('Starting ONNX Runtime with CUDA.').waitFor();
      assert.equal(await figureOf(open, 'forward, mean error'), '–');
      assert.match(await textOf(open), /No sample yet/);
      await send({ type: 'update', fields: { profile: running(8, '320 tokens after 0', 0.2) } });
      await page.getByText('320 tokens after 0.').waitFor();
      const before = Number.parseFloat(await figureOf(open, 'backward, mean error'));
      assert.equal(await figureOf(open, 'samples'), '8');
      assert.equal(await page.locator('.panel-profile tbody tr').count(), 8);
      await send({ type: 'update', fields: { profile: running(32, '512 tokens after 1,024', 0.8) } });
      await page.getByText('512 tokens after 1,024.').waitFor();
      assert.equal(await figureOf(open, 'samples'), '32');
      assert.ok(Number.parseFloat(await figureOf(open, 'backward, mean error')) < before);
      await page.getByRole('progressbar', { name: 'Measuring' }).waitFor();
      assert.equal(await page.evaluate(`document.querySelector('.profile-running progress').value`), 0.8);
      assert.equal(await page.locator('.profile-view').getByRole('button', { name: 'Profile on this GPU' }).count(), 0);
      await page.getByText('TP4 PP96 DP1').waitFor();
      // Messages that come between press and release must not cost the click.
      const cancel = (await page.getByRole('button', { name: 'Cancel' }).boundingBox())!;
      await page.mouse.move(cancel.x + 10, cancel.y + 10);
      await page.mouse.down();
      await send({ type: 'update', fields: { profile: running(33, '640 tokens after 0', 0.9) } });
      await page.evaluate('harness.drawn()');
      assert.equal(await page.getByText('640 tokens after 0.').count(), 0, 'what is pressed may be replaced');
      await page.mouse.up();
      assert.deepEqual(await commandsOf(open), ['terapipe.cancelProfile']);
      await page.getByText('640 tokens after 0.').waitFor();
      await send({ type: 'update', fields: { profile: profilesOf([h100]) } });
      await page.getByText('used by this plan').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
      return undefined;
    },
  },
  {
    name: 'profile: a measurement that stopped shows why and what was kept',
    options: wide,
    state: state(
      profilesOf([known(partial)], {
        error: {
          code: 'profiler-killed',
          message: sentence`the profiling process was killed by the system`,
          remedy: sentence`Close other programs`,
          place: null,
          placeText: null,
        },
      }),
    ),
    steps: async (open) => {
      const { page, send } = open;
      const alert = page.locator('.profile-view').getByRole('alert');
      assert.match(
        await alert.innerText(),
        /The profiling process was killed by the system\.\s+Close other programs\.\s+24 samples were kept and fitted\./,
      );
      await alert.getByRole('button', { name: 'Show log' }).click();
      assert.deepEqual(await commandsOf(open), ['terapipe.showLog']);
      await send({ type: 'update', fields: { profile: profilesOf([known(partial)]) } });
      await until('the alert gone', async () => (await alert.count()) === 0);
      assert.match(await textOf(open), /Measuring stopped early: the profiling process was killed by the system\.\s+24 samples were kept/);
      const early = profileOf({ most: 1 }, { status: 'partial', error: 'cancelled' });
      await send({ type: 'update', fields: { profile: profilesOf([known(early)]) } });
      await page.getByText('1 sample was kept: too few for a fit.').waitFor();
      assert.match(await textOf(open), /no fit yet/);
      const error = { code: 'x', message: sentence`CUDA does not load`, remedy: sentence`Install cuDNN 9`, place: null, placeText: null };
      await send({ type: 'update', fields: { profile: profilesOf([], { error }) } });
      await page.getByText('CUDA does not load.').waitFor();
      await page.getByRole('button', { name: 'Profile on this GPU' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'profile: a refused profile shows the reason, a software adapter that it is not a GPU',
    options: wide,
    state: state(profilesOf([known(h100.profile, 'h100.json', sentence`it is of NVIDIA H100 80GB HBM3, the plan is for V100-16GB`)])),
    steps: async (open) => {
      const { page, send } = open;
      assert.match(
        await textOf(open),
        /This plan does not use the profile\.\s+It is of NVIDIA H100 80GB HBM3, the plan is for V100-16GB\./,
      );
      assert.doesNotMatch(await textOf(open), /used by this plan|software/);
      const device = { kind: 'software', name: 'SwiftShader Device (LLVM 16)', memoryBytes: null, driver: null } as const;
      const warnings = ['Softmax ran on the CPU'];
      await send({ type: 'update', fields: { profile: profilesOf([known(profileOf({}, { device, provider: 'webgpu', warnings }))]) } });
      await page.getByText('software adapter', { exact: true }).waitFor();
      assert.match(await textOf(open), /its times mean nothing for a GPU\.\s+Softmax ran on the CPU\./);
      return undefined;
    },
  },
  {
    name: 'profile: imported times are judged by leaving samples out, and say so',
    options: wide,
    state: state(profilesOf([known(imported(), 'pytorch.json')])),
    steps: async (open) => {
      const { page } = open;
      const text = await textOf(open);
      assert.match(text, /used by this plan\s+imported/);
      assert.match(await howOf(open), /^fp16 \| /);
      assert.doesNotMatch(text, /measuring time|hold-out/);
      assert.match(text, /No slice was kept out of the fit: these are its residuals/);
      const figure = page.locator('.profile-figures .figure').first();
      assert.match(String(await figure.getAttribute('title')), /^By leaving each of \d+ slices out in turn/);
      return undefined;
    },
  },
  {
    name: 'profile: pointing at a drawn point shows what it is',
    options: wide,
    state: state(profilesOf([h100])),
    steps: async (open) => {
      const { page } = open;
      const tooltip = page.locator('.profile-time-canvas .tooltip');
      const box = (await page.locator('.profile-time-canvas canvas').boundingBox())!;
      await until('a tooltip', async () => {
        for (let y = 20; y < box.height - 30 && (await tooltip.isHidden()); y += 9)
          await page.mouse.move(box.x + 62 + (box.width - 138) / 1.04, box.y + y);
        return tooltip.isVisible();
      });
      const longest = h100.profile.samples.layer.find(({ tokens }) => tokens === 2048)!;
      assert.match(
        await tooltip.innerText(),
        new RegExp(
          `^Backward of 2,048 tokens\nMeasured ${Math.round(longest.backwardMs)}(\\.\\d)? ms, fitted .* ms\nError [+−]?[\\d.]+ %\nBest of 8 rounds$`,
        ),
      );
      await page.mouse.move(box.x + box.width / 2, box.y + 4);
      assert.equal(await tooltip.isHidden(), true);
      return undefined;
    },
  },
  {
    name: 'profile: arrow keys walk from point to point, in the charts and the table alike',
    options: wide,
    state: state(profilesOf([h100])),
    steps: async ({ page }) => {
      const chart = page.locator('.profile-throughput-canvas');
      const title = chart.locator('.tooltip-title');
      const status = page.locator('.profile-view [role=status]');
      await page.locator('.profile-time-canvas').focus();
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(`document.activeElement.classList.contains('profile-throughput-canvas')`), true);
      await page.keyboard.press('ArrowRight');
      assert.equal(await title.innerText(), 'Backward of 32 tokens');
      await page.keyboard.press('ArrowUp');
      assert.equal(await title.innerText(), 'Forward of 32 tokens');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      assert.equal(await title.innerText(), 'Forward of 128 tokens');
      assert.match(await status.innerText(), /^Forward of 128 tokens\. Measured /);
      assert.match(await page.locator('.panel-profile tbody tr.marked').innerText(), /^0\s+128\s+1\s/);
      await page.keyboard.press('End');
      assert.equal(await title.innerText(), 'Forward of 2,048 tokens');
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.panel-profile tr.marked').count(), 0);
      await page.locator('.panel-profile tbody tr').nth(4).focus();
      await page.keyboard.press('Enter');
      assert.equal(await page.locator('.panel-profile tr.marked').count(), 1);
      return undefined;
    },
  },
  {
    name: 'profile: axes turn logarithmic and stay so',
    options: { ...wide, savedState: { tab: 'profile', profileLog: true } },
    state: state(profilesOf([h100])),
    steps: async (open) => {
      const { page } = open;
      const box = page.getByRole('checkbox', { name: 'Logarithmic axes' });
      const pixels = (): Promise<string> => page.evaluate(`document.querySelector('.profile-time-canvas canvas').toDataURL()`);
      assert.equal(await box.getAttribute('aria-checked'), 'true');
      await until('a drawing', async () => (await drawnColors(open, '.profile-time-canvas canvas')) > 3);
      const logarithmic = await pixels();
      await box.click();
      await until('another drawing', async () => (await pixels()) !== logarithmic);
      await until('it is kept', async () => !(await page.evaluate<boolean>('window.harness.state()?.settings?.profileLog ?? true')));
      return undefined;
    },
  },
  {
    name: 'profile: several profiles can be chosen from and two compared',
    options: wide,
    state: state(profilesOf([h100, a100])),
    steps: async (open) => {
      const { page } = open;
      const panel = page.locator('.panel-profile');
      const choose = async (control: string, option: RegExp): Promise<void> => {
        await panel.getByRole('combobox', { name: control, exact: true }).click();
        await panel.getByRole('option', { name: option }).locator('visible=true').click();
      };
      assert.equal(await panel.getByText('Compared with').isVisible(), false);
      await choose('Compare with profile', /^a100/);
      await panel.getByText('Compared with a100.json').waitFor();
      assert.match(
        await textOf(open),
        /NVIDIA A100-SXM4-80GB takes [\d.]+ to [\d.]+x the time forward and .* backward\. They differ in precision\./,
      );
      const cells = await panel.locator('.profile-ratios tbody tr').allInnerTexts();
      assert.deepEqual(
        cells.map((row) => row.split('\t')[0]),
        ['32', '64', '128', '256', '512', '1,024'],
      );
      assert.ok(
        cells.every((row) =>
          row
            .split('\t')
            .slice(1)
            .every((ratio) => Number.parseFloat(ratio) > 1.4 && Number.parseFloat(ratio) < 2.3),
        ),
      );
      await panel.locator('.profile-ratio-canvas').focus();
      await page.keyboard.press('End');
      assert.match(await panel.locator('.profile-ratio-canvas .tooltip').innerText(), /ward of 1,024 tokens\n[\d.]+x the time/);
      await choose('Profile', /^a100/);
      await panel.getByRole('heading', { name: 'NVIDIA A100-SXM4-80GB' }).waitFor();
      assert.doesNotMatch(await textOf(open), /used by this plan/);
      assert.equal(await panel.getByText('Compared with').isVisible(), false);
      return undefined;
    },
  },
  {
    name: 'profile: the ends of the model are shown on their own',
    options: wide,
    state: state(
      profilesOf([
        known(profileOf({}, { samples: { layer: simulatedSamples(), embedding: [], head: simulatedSamples({ tileMs: 3, most: 9 }) } })),
      ]),
    ),
    steps: async (open) => {
      const { page } = open;
      const panel = page.locator('.panel-profile');
      await panel.getByRole('combobox', { name: 'Part' }).click();
      assert.deepEqual(await panel.getByRole('option').locator('visible=true').allInnerTexts(), ['One layer', 'Head and loss']);
      await panel.getByRole('option', { name: 'Head and loss' }).locator('visible=true').click();
      await until('its samples', async () => (await panel.locator('tbody tr').count()) === 9);
      assert.match(await textOf(open), /no fit yet/);
      return undefined;
    },
  },
  {
    name: 'profile: the samples are copied as a table with all digits',
    options: wide,
    state: state(profilesOf([h100])),
    steps: async ({ page }) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const copied = await withClipboard(async () => {
        await page.getByRole('button', { name: 'Copy as table' }).click();
        await page.locator('.profile-view [role=status]').getByText('Copied').waitFor({ state: 'attached' });
        return page.evaluate<string>('navigator.clipboard.readText()');
      });
      const lines = copied.trimEnd().split('\n');
      assert.match(lines[0]!, /^batch\ttokens\tcontext\tforward_ms\tbackward_ms\t/);
      assert.equal(lines.length, 1 + h100.profile.samples.layer.length);
      const first = h100.profile.samples.layer[0]!;
      assert.deepEqual(lines[1]!.split('\t').slice(0, 5).map(Number), [1, first.tokens, 0, first.forwardMs, first.backwardMs]);
      return undefined;
    },
  },
  {
    name: 'profile: narrow, with names that do not end, nothing is cut but what scrolls or shortens',
    options: { ...narrow, theme: 'light' },
    state: state(
      profilesOf(
        [
          known(
            profileOf(
              { name: 'A-device-name-without-any-place-to-break-it '.repeat(6) },
              { attention: { forward: 'GroupQueryAttention', backward: 'MatMul, Softmax, Transpose' } },
            ),
            `${'long-name-'.repeat(12)}.json`,
          ),
          a100,
        ],
        {
          error: {
            code: 'x',
            message: sentence`${'x'.repeat(300)}`,
            remedy: sentence`${'y'.repeat(200)}`,
            place: null,
            placeText: 'z'.repeat(120),
          },
        },
      ),
    ),
    steps: async ({ page }) => {
      const cut = await page.evaluate(`(() => {
        const panel = document.querySelector('.panel-profile');
        const right = panel.getBoundingClientRect().left + panel.clientWidth;
        return [...panel.querySelectorAll('*')]
          .filter((element) => element.getBoundingClientRect().width > 0 && !element.closest('.paged-table') && !element.matches('.visually-hidden'))
          .filter((element) => element.getBoundingClientRect().right > right + 0.5 && element.closest('h2') === null)
          .map((element) => element.className + ': ' + element.textContent.slice(0, 40));
      })()`);
      assert.deepEqual(cut, []);
      assert.equal(
        await page.evaluate(
          `(() => { const panel = document.querySelector('.panel-profile'); return panel.scrollWidth - panel.clientWidth; })()`,
        ),
        0,
      );
      return undefined;
    },
  },
  {
    name: 'profile: everything that can be reached has a name, and tables have headings',
    options: wide,
    state: state(profilesOf([h100, a100])),
    steps: async ({ page }) => {
      const nameless =
        await page.evaluate(`[...document.querySelectorAll('.panel-profile :is(button, vscode-button, vscode-dropdown, vscode-checkbox, [role=img], [tabindex])')]
        .filter((element) => element.checkVisibility())
        .filter((element) => !(element.getAttribute('aria-label') || element.textContent.trim()))
        .map((element) => element.outerHTML.slice(0, 80))`);
      assert.deepEqual(nameless, []);
      assert.equal(await page.locator('.panel-profile th:not([scope])').count(), 0);
      assert.equal(await page.locator('.panel-profile [tabindex]:not([tabindex="0"]):not([tabindex="-1"])').count(), 0);
      assert.equal(await page.locator('.panel-profile canvas:not([aria-hidden=true])').count(), 0);
      return undefined;
    },
  },
  {
    name: 'profile: strings of a file are text and nothing else',
    options: { ...wide, savedState: { tab: 'profile', profile: known(h100.profile, hostile).file } },
    state: state(
      profilesOf([
        known(
          profileOf(
            {},
            {
              device: { kind: 'gpu', name: hostile, memoryBytes: 1, driver: hostile },
              title: hostile,
              attention: { forward: hostile, backward: hostile },
              versions: { [hostile]: hostile },
              warnings: [hostile],
              measuredAt: hostile,
              status: 'partial',
              error: hostile,
            },
          ),
          hostile,
          sentence`${hostile}`,
        ),
        a100,
      ]),
    ),
    steps: async ({ page }) => {
      assert.equal(await page.locator('.profile-device-name').innerText(), hostile);
      await page.getByText('How it was measured').click();
      assert.equal(await page.locator('img, script[src="x"]').count(), 0);
      assert.equal(await page.evaluate('window.hacked'), undefined);
      return undefined;
    },
  },
  {
    name: 'profile: every theme draws points, and high contrast marks backward by dashes and no shades',
    options: { ...wide, width: 1100 },
    state: state(profilesOf([h100])),
    steps: async (open) => {
      const { page, setTheme } = open;
      await until('shades', async () => (await page.locator('.profile-note').first().innerText()).includes('fainter: longer context'));
      for (const theme of ['light', 'high-contrast', 'high-contrast-light'] as const) {
        await setTheme(theme);
        await page.waitForTimeout(100);
        for (const chart of ['profile-time', 'profile-throughput', 'profile-error'])
          await until(`${chart} is drawn in ${theme}`, async () => (await drawnColors(open, `.${chart}-canvas canvas`)) > 3);
      }
      assert.doesNotMatch(await page.locator('.profile-note').first().innerText(), /fainter/);
      return undefined;
    },
  },
  {
    name: 'profile: the side view offers to measure, and not in a restricted workspace',
    options: { kind: 'side', width: 280, height: 900 },
    state: () => stateOf('side', plan),
    steps: async (open) => {
      const { page, send } = open;
      const button = page.getByRole('button', { name: 'Profile on this GPU', includeHidden: true });
      await button.click();
      assert.deepEqual(await commandsOf(open), ['terapipe.profile']);
      await send(show(stateOf('side', plan, { trusted: false })));
      await until('the button off', () => button.isDisabled());
      assert.match(String(await page.locator('.side-actions vscode-button').nth(1).getAttribute('title')), /restricted workspace/);
      return undefined;
    },
  },
];

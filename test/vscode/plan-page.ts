import type { Frame, Page } from 'playwright-core';
import { until } from './until';
import { runFromPalette } from './workbench';

/** Which of our pages: the side view or the editor tab. */
export type PageKind = 'side' | 'tab';

/** The three numbers of a page as a person reads them: name to value with unit. */
export type Figures = Readonly<Record<'step' | 'bubble' | 'memory', string>>;

/** The frame of one of our pages. A page that was hidden or moved lives in a new frame, so ask again each time. */
export async function pageFrame(page: Page, kind: PageKind): Promise<Frame> {
  return until(`page ${kind}`, async () => {
    // Ours are in frames of VS Code and have none: each frame that is asked costs the window time.
    for (const frame of page.frames().filter((each) => each.childFrames().length === 0)) {
      const found = await frame
        .locator(`body[data-page="${kind}"]`)
        .count()
        .catch(() => 0);
      if (found > 0) return frame;
    }
    return undefined;
  });
}

/** Reads the three numbers of a page; undefined while it shows no plan. */
async function figuresNow(page: Page, kind: PageKind): Promise<Figures | undefined> {
  const frame = await pageFrame(page, kind);
  const texts = await frame
    .locator('dl.figures dd')
    .allInnerTexts()
    .catch(() => []);
  const [step, bubble, memory] = texts.map((text) => text.replace(/\s+/g, ' ').trim());
  if (step === undefined || bubble === undefined || memory === undefined || step === '') return undefined;
  return { step, bubble, memory };
}

/** Waits until a page shows a plan whose numbers satisfy a condition, and returns them. */
export async function figures(page: Page, kind: PageKind, accepts: (shown: Figures) => boolean = () => true): Promise<Figures> {
  return until(`plan with the expected numbers on page ${kind}`, async () => {
    const shown = await figuresNow(page, kind);
    return shown !== undefined && accepts(shown) ? shown : undefined;
  });
}

/** Waits until the tab shows numbers that satisfy a condition, and the side view next to it shows none: it repeats nothing. */
export async function figuresOfTab(page: Page, accepts: (shown: Figures) => boolean): Promise<Figures> {
  return until('plan with the expected numbers in the tab, and none in the side view', async () => {
    const [side, tab] = [await figuresNow(page, 'side'), await figuresNow(page, 'tab')];
    return side === undefined && tab !== undefined && accepts(tab) ? tab : undefined;
  });
}

/** Waits until the verdict of a page reads as wanted, and returns its words. */
export async function verdict(page: Page, kind: PageKind, wanted: RegExp, limitMs?: number): Promise<string> {
  return until(
    `verdict of page ${kind} like ${String(wanted)}`,
    async () => {
      const words = (await pageFrame(page, kind)).locator('.glance-words:visible');
      const [shown = ''] = await words.allInnerTexts().catch(() => []);
      const text = shown.replace(/\s+/g, ' ').trim();
      return wanted.test(text) ? text : undefined;
    },
    limitMs,
  );
}

/** The tab, with its timeline drawn. */
export async function timelineFrame(page: Page): Promise<Frame> {
  const tab = await pageFrame(page, 'tab');
  await tab.locator('.lanes-region:visible').waitFor();
  return tab;
}

/** Brings all settings that can be tried on screen. */
export async function openSettings(tab: Frame): Promise<void> {
  const settings = tab.locator('.toolbar');
  if (!(await settings.isVisible())) await tab.getByRole('button', { name: 'Try', exact: true }).click();
  const more = settings.getByRole('button', { name: /^(?:More|Fewer) settings$/ });
  await more.waitFor();
  if ((await more.innerText()) === 'More settings') await more.click();
}

/** Takes the settings that can be tried off the screen. */
export async function closeSettings(tab: Frame): Promise<void> {
  const settings = tab.locator('.toolbar');
  if (await settings.isVisible()) await tab.getByRole('button', { name: 'Try', exact: true }).click();
  await settings.waitFor({ state: 'hidden' });
}

/** Waits until an element of a page has the keyboard focus. */
export async function focusOn(frame: Frame, selector: string, limitMs?: number): Promise<void> {
  await until(
    `focus on ${selector}`,
    async () => {
      const has = await frame.evaluate<boolean>(
        `document.hasFocus() && document.activeElement?.matches(${JSON.stringify(selector)}) === true`,
      );
      return has || undefined;
    },
    limitMs,
  );
}

/** Presses a key, again where the window had not heard of the focus yet. */
export async function pressUntil(page: Page, key: string, done: () => Promise<void>): Promise<void> {
  for (let pressed = 1; ; pressed += 1) {
    await page.keyboard.press(key);
    try {
      await done();
      return;
    } catch (error) {
      if (pressed === 5) throw error;
    }
  }
}

/** Opens the timeline of the file in front and gives it the whole width, with the details of what is selected: its file is behind it. */
export async function openTimelineWide(page: Page): Promise<Frame> {
  await runFromPalette(page, 'TeraPipe: Open timeline');
  await figures(page, 'tab');
  await widenTimeline(page);
  return timelineFrame(page);
}

/** Moves the timeline, which is in front, over its file. */
export async function widenTimeline(page: Page): Promise<void> {
  await runFromPalette(page, 'View: Move Editor into Left Group');
  const texts = page.locator('.editor-instance .monaco-editor:visible');
  await until('the file behind the tab', async () => (await texts.count()) === 0 || undefined);
  const tab = await timelineFrame(page);
  if ((await tab.locator('.inspector:visible').count()) === 0) await tab.getByRole('button', { name: 'Show details' }).first().click();
}

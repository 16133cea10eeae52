import type { OpenPage, Stage } from './browser';
import { boxesNow, drawnNow, watchDrawing, type Box, type DrawnCanvas } from './drawn';
import { heights, type Look } from './surfaces';
import type { ThemeName } from './themes';

export const themes: readonly ThemeName[] = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** When it is on pictures: a few days after the profile that they show was measured. */
const nowMs = Date.UTC(2026, 10, 23, 9);

/** Stops the page's clock; frames and timers go on. */
const fixedClock = `window.Date = class extends Date {
  constructor(...given) { super(...(given.length === 0 ? [${nowMs}] : given)); }
  static now() { return ${nowMs}; }
}`;

/** A surface in one theme. */
export interface Shot {
  readonly theme: ThemeName;
  readonly png: Buffer;
  readonly drawn: readonly DrawnCanvas[];
  readonly boxes: readonly Box[];
}

/** Opens a look with fixed data, clock and font. */
export async function openLook(stage: Stage, { surface, width }: Look): Promise<OpenPage> {
  const { kind, savedState, state, act } = surface;
  const open = await stage.open({ kind, width, height: heights[kind], theme: 'dark', reducedMotion: true, savedState, vendoredFont: true });
  await open.page.evaluate(fixedClock);
  await watchDrawing(open.page);
  await open.send({ type: 'state', state: state() });
  await open.page.locator('.page:visible').waitFor();
  await open.page.evaluate('harness.drawn()');
  await act?.(open.page);
  return open;
}

/** Takes a look that is open in every theme, one after the other, as when a person chooses another. */
export async function shoot({ page, setTheme }: OpenPage): Promise<readonly Shot[]> {
  const shots: Shot[] = [];
  for (const theme of themes) {
    await setTheme(theme);
    await page.evaluate('harness.settled()');
    const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    shots.push({ theme, png, drawn: await drawnNow(page), boxes: await boxesNow(page) });
  }
  return shots;
}

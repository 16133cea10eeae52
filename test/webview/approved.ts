import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import type { Stage } from './browser';
import type { Box, DrawnCanvas } from './drawn';
import { vendoredFont } from './font';
import { openLook, shoot, type Shot } from './shots';
import { approvedLooks, nameOf, type Look } from './surfaces';
import type { ThemeName } from './themes';

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), 'approved');
const fileOf = (name: string): string => path.join(folder, name);

/** With what the approved pictures were taken: elsewhere pixels differ and only where things are and what is drawn is compared. */
interface TakenWith {
  readonly chromium: string;
  readonly font: string;
}

/** What was approved of a look in addition to its pictures. */
interface ApprovedLook {
  readonly boxes: readonly Box[];
  readonly drawn: Readonly<Partial<Record<ThemeName, readonly DrawnCanvas[]>>>;
}

const remedy = 'If that is meant, look at out/screenshots and run: npm run screenshots -- --approve';

const readJson = (name: string): unknown => JSON.parse(readFileSync(fileOf(name), 'utf8'));
const takenWith = (stage: Stage): TakenWith => ({ chromium: stage.version, font: vendoredFont.sha256 });

/** Replaces what is approved, and records with what it was taken. */
export function approve(stage: Stage, taken: ReadonlyMap<Look, readonly Shot[]>): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf('taken-with.json'), `${JSON.stringify(takenWith(stage), null, 2)}\n`);
  for (const [look, shots] of taken) {
    const drawn = Object.fromEntries(shots.map((shot) => [shot.theme, shot.drawn]));
    const lines = (list: readonly unknown[]): string => list.map((entry) => JSON.stringify(entry)).join(',\n');
    const perTheme = Object.entries(drawn).map(([theme, list]) => `"${theme}": [\n${lines(list)}\n]`);
    writeFileSync(
      fileOf(`${nameOf(look)}.json`),
      `{ "boxes": [\n${lines(shots[0]?.boxes ?? [])}\n],\n"drawn": {\n${perTheme.join(',\n')}\n} }\n`,
    );
    for (const { theme, png } of shots) writeFileSync(fileOf(`${nameOf(look)}-${theme}.png`), png);
  }
}

/** The looks that have approved pictures, each compared with them in every theme. */
export const approvedCases: readonly { readonly name: string; readonly run: (stage: Stage, left: string) => Promise<string> }[] =
  approvedLooks.map((look) => ({
    name: `approved: ${nameOf(look)} looks as it was approved`,
    run: (stage, left) => compareLook(stage, look, left),
  }));

/** Compares one look; leaves what it saw in the folder `left`. @throws Error that names what differs. */
async function compareLook(stage: Stage, look: Look, left: string): Promise<string> {
  const open = await openLook(stage, look);
  try {
    const shots = await shoot(open);
    const { chromium, font } = readJson('taken-with.json') as TakenWith;
    const samePixels = chromium === stage.version && font === vendoredFont.sha256;
    const approved = readJson(`${nameOf(look)}.json`) as ApprovedLook;
    compareBoxes(shots[0]?.boxes ?? [], approved.boxes);
    for (const { theme, png, drawn } of shots) {
      const file = `${nameOf(look)}-${theme}.png`;
      assert.deepEqual(drawn, approved.drawn[theme], `${file}: the canvases draw something else. ${remedy}`);
      const before = readFileSync(fileOf(file));
      if (!samePixels || before.equals(png)) continue;
      writeFileSync(path.join(left, file), png);
      const { pixels } = await differenceOf(open.page, before, png);
      assert.equal(pixels, 0, `${file}: ${pixels} pixels differ. ${remedy}`);
    }
    assert.deepEqual(await open.complaints(), []);
    return samePixels ? 'to the pixel' : `boxes and draw lists: approved on Chromium ${chromium}, this is ${stage.version}`;
  } finally {
    await open.close();
  }
}

/** Another Chromium may round a width the other way. */
const roundingPx = 1;

function compareBoxes(now: readonly Box[], approved: readonly Box[]): void {
  const names = (boxes: readonly Box[]): readonly string[] => boxes.map(([what]) => what);
  assert.deepEqual(names(now), names(approved), `other things are on the page. ${remedy}`);
  const moved = now.filter((box, index) =>
    box.slice(1).some((px, at) => Math.abs(Number(px) - Number(approved[index]?.[at + 1])) > roundingPx),
  );
  assert.deepEqual(moved, [], `things have moved. ${remedy}`);
}

/** How many pixels of two pictures differ in any channel. */
async function differenceOf(page: Page, before: Buffer, now: Buffer): Promise<{ readonly pixels: number }> {
  return page.evaluate<{ pixels: number }>(
    `(async (pictures) => {
      const [a, b] = await Promise.all(pictures.map(async (text) => {
        const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], { type: 'image/png' }));
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d', { willReadFrequently: true });
        context.drawImage(bitmap, 0, 0);
        return { size: bitmap.width * bitmap.height, data: new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer) };
      }));
      if (a.data.length !== b.data.length) return { pixels: Math.max(a.size, b.size) };
      return { pixels: a.data.reduce((sum, value, at) => sum + (value === b.data[at] ? 0 : 1), 0) };
    })(${JSON.stringify([before.toString('base64'), now.toString('base64')])})`,
  );
}

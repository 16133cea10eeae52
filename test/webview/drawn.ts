import type { Page } from 'playwright-core';

/** What a canvas was asked to draw since it was last cleared. */
export interface DrawnCanvas {
  /** Its class. */
  readonly canvas: string;
  /** Each kind of mark in each colour: how many. */
  readonly marks: Readonly<Record<string, number>>;
  readonly texts: readonly string[];
}

/** Where something is on the page: left, top, width and height in whole CSS px. */
export type Box = readonly [what: string, left: number, top: number, width: number, height: number];

/** Writes down what canvases draw from now on. */
export async function watchDrawing(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const lists = window.drawnLists = new Map();
    const listOf = (canvas) => lists.get(canvas) ?? lists.set(canvas, { marks: {}, texts: [] }).get(canvas);
    const paint = (style) => (typeof style === 'string' ? style : 'pattern');
    const prototype = CanvasRenderingContext2D.prototype;
    const watch = (name, style, note = () => {}) => {
      const draw = prototype[name];
      prototype[name] = function (...given) {
        const list = listOf(this.canvas);
        const key = name + ' ' + (style === null ? '' : paint(this[style]));
        list.marks[key] = (list.marks[key] ?? 0) + 1;
        note(list, given);
        return draw.apply(this, given);
      };
    };
    for (const name of ['fillRect', 'fill']) watch(name, 'fillStyle');
    for (const name of ['strokeRect', 'stroke']) watch(name, 'strokeStyle');
    watch('fillText', 'fillStyle', (list, [text]) => list.texts.push(String(text)));
    watch('drawImage', null);
    const clear = prototype.clearRect;
    prototype.clearRect = function (left, top, width, height) {
      if (left === 0 && top === 0 && width >= this.canvas.width && height >= this.canvas.height) lists.delete(this.canvas);
      return clear.call(this, left, top, width, height);
    };
  })()`);
}

/** What the canvases on screen have drawn. */
export async function drawnNow(page: Page): Promise<readonly DrawnCanvas[]> {
  return page.evaluate<DrawnCanvas[]>(`[...document.querySelectorAll('canvas')]
    .filter((canvas) => canvas.checkVisibility() && drawnLists.has(canvas))
    .map((canvas) => ({ canvas: canvas.className.replace(/^surface /, ''), ...drawnLists.get(canvas) }))
    .map(({ marks, ...rest }) => ({ ...rest, marks: Object.fromEntries(Object.entries(marks).sort(([a], [b]) => (a < b ? -1 : 1))) }))`);
}

/** Where canvases, headings, controls and rows of tables are. */
export async function boxesNow(page: Page): Promise<readonly Box[]> {
  return page.evaluate<Box[]>(`(() => {
    const found = document.querySelectorAll('canvas, h1, h2, p, button, vscode-button, vscode-dropdown, [role=tab], [role=spinbutton], dt, dd, th, td');
    return [...found].filter((element) => element.checkVisibility() && element.getBoundingClientRect().top < innerHeight).map((element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      const name = element.tagName === 'CANVAS' ? element.className : element.innerText;
      return [element.localName + ' ' + name.trim().replace(/\\s+/g, ' ').slice(0, 24), ...[left, top, width, height].map(Math.round)];
    });
  })()`);
}

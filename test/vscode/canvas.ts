import type { Frame } from 'playwright-core';

/** A part of a canvas. */
export interface Pixels {
  /** Device pixels. */
  readonly width: number;
  /** Red, green, blue and alpha of every device pixel, row after row. */
  readonly data: readonly number[];
}

/** A box on an element, CSS px from its left and top. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Reads a part of the first canvas at `selector`, at least a pixel. */
export async function pixelsOf(frame: Frame, selector: string, { x, y, width, height }: Box): Promise<Pixels> {
  return frame.evaluate<Pixels>(`(() => {
    const canvas = document.querySelector(${JSON.stringify(selector)});
    const scale = canvas.width / canvas.getBoundingClientRect().width;
    const [left, top] = [${x}, ${y}].map((px) => Math.floor(px * scale));
    const [width, height] = [${width}, ${height}].map((px) => Math.max(1, Math.round(px * scale)));
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return { width, data: [...copy.getImageData(left, top, width, height).data] };
  })()`);
}

/** How many pixels anything is painted on. */
export function paintedIn({ data }: Pixels): number {
  return data.filter((value, at) => at % 4 === 3 && value > 0).length;
}

/** The largest difference of a colour from one pixel of a row to the next, 0 to 255. */
export function steepestIn({ width, data }: Pixels): number {
  const differences = data.map((value, at) => (at % 4 === 3 || at % (4 * width) < 4 ? 0 : Math.abs(value - (data[at - 4] ?? value))));
  return Math.max(...differences);
}

import { nextFrame } from './frame';

/** A canvas that knows its size in CSS px, the device px in one of them, and when to draw. */
export interface Surface {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  readonly width: () => number;
  readonly height: () => number;
  readonly scale: () => number;
  /** Draws in the next frame. */
  readonly redraw: () => void;
}

/**
 * Makes a canvas that fills its (positioned) parent. `draw` gets a cleared canvas whose unit is one device pixel; it runs on request and on
 * every change of size or pixel ratio, never otherwise.
 */
export function makeSurface(className: string, draw: (surface: Surface) => void): Surface {
  const canvas = document.createElement('canvas');
  canvas.className = `surface ${className}`;
  canvas.setAttribute('aria-hidden', 'true');
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('this browser draws no canvas');
  const size = { width: 0, height: 0, scale: 1 };
  const paint = (): void => {
    if (size.width === 0 || size.height === 0) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    draw(surface);
  };
  const measure = (): void => {
    const scale = window.devicePixelRatio;
    const { width, height } = canvas.getBoundingClientRect();
    if (width === size.width && height === size.height && scale === size.scale) return;
    Object.assign(size, { width, height, scale });
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    paint();
  };
  const surface: Surface = {
    canvas,
    context,
    width: () => size.width,
    height: () => size.height,
    scale: () => size.scale,
    redraw: () => nextFrame(paint),
  };
  new ResizeObserver(measure).observe(canvas);
  const watchScale = (): void => {
    matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener(
      'change',
      () => {
        measure();
        watchScale();
      },
      { once: true },
    );
  };
  watchScale();
  return surface;
}

/** Diagonal lines, for kinds that high contrast must not distinguish only by colour. */
export function hatchPattern(context: CanvasRenderingContext2D, color: string, distance = 5): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = distance;
  const pen = tile.getContext('2d');
  if (pen === null) return null;
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const offset of [-distance, 0, distance]) {
    pen.moveTo(offset, distance);
    pen.lineTo(offset + distance, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}

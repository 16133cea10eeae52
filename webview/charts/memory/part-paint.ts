import type { MemoryPart } from '../../../src/core/memory-model/profile';
import { css, mix, readableOn } from '../../base/color';
import type { Theme } from '../../base/theme';

/** Lines on a tile: up, down, both ways; along or across; points. */
type Lines = 'none' | 'up' | 'down' | 'cross' | 'across' | 'along' | 'grid' | 'points';

interface Texture {
  readonly lines: Lines;
  /** Between two lines, CSS px. */
  readonly gapPx: number;
}

/** The textures that distinguish parts without their hues; `views.css` has the same for swatches. */
const textures: Readonly<Record<MemoryPart, Texture>> = {
  weights: { lines: 'none', gapPx: 6 },
  gradients: { lines: 'up', gapPx: 6 },
  optimizer: { lines: 'points', gapPx: 5 },
  dummyGradients: { lines: 'cross', gapPx: 8 },
  workspaces: { lines: 'across', gapPx: 4 },
  activations: { lines: 'along', gapPx: 5 },
  keysValues: { lines: 'down', gapPx: 6 },
  logits: { lines: 'grid', gapPx: 6 },
  keptForWeights: { lines: 'up', gapPx: 3 },
  backwardOperation: { lines: 'cross', gapPx: 4 },
};

const tiles = new WeakMap<Theme, Map<string, CanvasPattern | string>>();

/** What fills a part of memory: its hue and its texture; in high contrast only the texture. */
export function partPaint(context: CanvasRenderingContext2D, colors: Theme, part: MemoryPart, scale: number): CanvasPattern | string {
  const known = tiles.get(colors) ?? new Map<string, CanvasPattern | string>();
  tiles.set(colors, known);
  const key = `${part} ${scale}`;
  const found = known.get(key) ?? makePaint(context, colors, part, scale);
  known.set(key, found);
  return found;
}

/** What fills a part where there is no room for a texture: in high contrast nothing. */
export function flatPaint(colors: Theme, part: MemoryPart): string {
  return css(colors.highContrast ? colors.background : colors.parts[part]);
}

function makePaint(context: CanvasRenderingContext2D, colors: Theme, part: MemoryPart, scale: number): CanvasPattern | string {
  const { lines, gapPx } = textures[part];
  if (lines === 'none') return flatPaint(colors, part);
  const size = Math.max(2, Math.round(gapPx * scale));
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const pen = tile.getContext('2d');
  if (pen === null) return flatPaint(colors, part);
  pen.fillStyle = flatPaint(colors, part);
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = pen.fillStyle = css(
    colors.highContrast ? colors.foreground : mix(colors.parts[part], readableOn(colors.parts[part]), 0.3),
  );
  pen.lineWidth = Math.max(1, Math.round(scale));
  drawTile(pen, lines, size);
  return context.createPattern(tile, 'repeat') ?? flatPaint(colors, part);
}

function drawTile(pen: CanvasRenderingContext2D, lines: Lines, size: number): void {
  const { lineWidth } = pen;
  if (lines === 'points') pen.fillRect(0, 0, lineWidth + 1, lineWidth + 1);
  if (lines === 'along' || lines === 'grid') pen.fillRect(0, 0, size, lineWidth);
  if (lines === 'across' || lines === 'grid') pen.fillRect(0, 0, lineWidth, size);
  pen.beginPath();
  for (const offset of [-size, 0, size]) {
    if (lines === 'up' || lines === 'cross') {
      pen.moveTo(offset, size);
      pen.lineTo(offset + size, 0);
    }
    if (lines === 'down' || lines === 'cross') {
      pen.moveTo(offset, 0);
      pen.lineTo(offset + size, size);
    }
  }
  pen.stroke();
}

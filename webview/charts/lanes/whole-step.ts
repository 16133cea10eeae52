import type { Candidate } from '../../../src/core/planner/plan';
import type { Tail, TailPart } from '../../../src/core/planner/explain/tail';
import type { Operations } from '../../base/operations';
import { candidateOperations, tailOfCandidate } from '../../base/store';
import { makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { plotIn, type Plot } from '../plot';
import { drawLanes, makeLaneBuffers, type LaneBuffers } from './draw-lanes';
import { drawTail } from './draw-tail';

/** A step to draw. */
interface Step {
  readonly operations: Operations;
  /** Left out: the whole plot is as long as the operations. */
  readonly durationMs?: number;
  /** What is painted of the operations, where that is not all. */
  readonly painted?: Operations | null;
  readonly tail?: Tail | null;
  readonly hiddenTail?: ReadonlySet<TailPart['kind']>;
}

/** Draws a whole step over a plot as high as its canvas, without axes and names. */
export function drawWholeStep({ context, scale }: Surface, { left, width, height }: Plot, step: Step, buffers: LaneBuffers): void {
  const { operations, durationMs = operations.timeline.makespanMs, painted, tail, hiddenTail = new Set() } = step;
  const extent = { durationMs, rows: operations.stages, widthPx: width, heightPx: height };
  const area = { context, scale: scale(), left: Math.round(left * scale()), top: 0, extent, names: false };
  const viewport = { startMs: 0, endMs: durationMs, rowPx: height / operations.stages, scrollPx: 0 };
  drawLanes(area, painted ?? operations, viewport, theme(), buffers);
  if (tail) drawTail(area, tail, viewport, theme(), hiddenTail);
}

/** The step of a candidate in miniature. */
export function makeMiniature(className: string, candidate: () => Candidate | null): Pick<Surface, 'canvas' | 'redraw'> {
  const buffers = makeLaneBuffers();
  const surface = makeSurface(className, (target) => {
    const shown = candidate();
    const operations = shown === null ? null : candidateOperations(shown);
    if (shown === null || operations === null) return;
    const tail = tailOfCandidate(shown);
    drawWholeStep(target, plotIn(target, {}), { operations, tail, durationMs: tail?.endMs ?? operations.timeline.makespanMs }, buffers);
  });
  onThemeChange(surface.redraw);
  return surface;
}

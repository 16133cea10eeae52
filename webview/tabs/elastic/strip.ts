import { plural } from '../../../src/core/format';
import type { PageElastic } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import { makeSurface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { drawEpochStrip } from './draw';
import { epochBox, epochAt, spanBoxes, type SpanBox } from './epochs';
import { stripRows } from './layout';

/** The epochs of a run that freezes layers in a strip of the side view. */
interface EpochStrip {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  /** What runs in the epoch at `x` of `width`, px; null: nothing is shown. */
  readonly textAt: (x: number, width: number) => string | null;
  readonly show: (elastic: PageElastic) => void;
}

/** Makes it; it is empty until `show`. */
export function makeEpochStrip(): EpochStrip {
  let shown: PageElastic | null = null;
  let boxes: readonly SpanBox[] = [];
  const surface = makeSurface('epoch-strip', (drawn) => {
    if (shown !== null) drawEpochStrip(drawn, theme(), shown, boxes, stripRows(shown.plan.request.cluster));
  });
  const element = h('div', { class: 'strip-canvas' }, surface.canvas);
  onThemeChange(surface.redraw);
  return {
    element,
    canvas: surface.canvas,
    textAt: (x, width) => {
      const epoch = epochAt(boxes, x / width);
      const box = epochBox(boxes, epoch);
      if (box === undefined) return null;
      const { frozenLayers, replicas, pipelineLength } = box.span.epoch;
      const pipelines = plural(replicas, t('pipeline'), t('pipelines'));
      return t('epoch {0}: {1} frozen, {2} of {3}', epoch, frozenLayers, pipelines, plural(pipelineLength, t('GPU'), t('GPUs')));
    },
    show: (elastic) => {
      shown = elastic;
      boxes = spanBoxes(elastic.spans, 'time');
      element.style.height = `${stripRows(elastic.plan.request.cluster).height}px`;
      surface.redraw();
    },
  };
}

import type { ElasticSpan } from '../../../src/features/elastic/core/answer';
import type { PageElastic } from '../../../src/protocol/page';
import { isIndex, setting } from '../../base/view-state';

/** How wide an epoch is drawn: as long as it takes, or all alike. */
export type EpochWidth = 'time' | 'equal';

export const epochWidth = setting<EpochWidth>('epochWidth', (saved) => (saved === 'equal' ? 'equal' : 'time'));

/** The epoch with the details. */
export const shownEpoch = setting('epoch', (saved) => (isIndex(saved) ? saved : 0), { ofFile: true });

/** Epochs that run alike, and where they lie on the axis, 0..1. */
export interface SpanBox {
  readonly span: ElasticSpan;
  /** Its first epoch. */
  readonly first: number;
  readonly start: number;
  readonly end: number;
}

/** Epochs of the run. */
export function epochCount({ spans }: Pick<PageElastic, 'spans'>): number {
  return spans.reduce((sum, { count }) => sum + count, 0);
}

/** Spans from left to right; their widths add up to 1. */
export function spanBoxes(spans: readonly ElasticSpan[], width: EpochWidth): SpanBox[] {
  const weight = ({ epoch, count }: ElasticSpan): number => count * (width === 'time' ? epoch.epochMs : 1);
  const total = spans.reduce((sum, span) => sum + weight(span), 0);
  let [first, before] = [0, 0];
  return spans.map((span) => {
    const start = before / total;
    const box = { span, first, start, end: (before + weight(span)) / total };
    before += weight(span);
    first += span.count;
    return box;
  });
}

/** The span that an epoch belongs to; the last one beyond the end. */
export function epochBox(boxes: readonly SpanBox[], epoch: number): SpanBox | undefined {
  return boxes.find(({ first, span }) => epoch < first + span.count) ?? boxes.at(-1);
}

/** Left and right edge of one epoch, 0..1. */
export function epochEdges({ first, span, start, end }: SpanBox, epoch: number): readonly [start: number, end: number] {
  const each = (end - start) / span.count;
  const place = Math.min(span.count - 1, Math.max(0, epoch - first));
  return [start + place * each, start + (place + 1) * each];
}

/** The epoch at a share of the axis. */
export function epochAt(boxes: readonly SpanBox[], share: number): number {
  const box = boxes.find(({ end }) => share < end) ?? boxes.at(-1);
  if (box === undefined) return 0;
  const { first, span, start, end } = box;
  const place = Math.floor(((share - start) / (end - start)) * span.count);
  return first + Math.min(span.count - 1, Math.max(0, place));
}

/** First epoch of the span before or after the one that `epoch` belongs to. */
export function changeFrom(boxes: readonly SpanBox[], epoch: number, by: 1 | -1): number {
  const here = epochBox(boxes, epoch);
  const index = here === undefined ? 0 : boxes.indexOf(here);
  if (by === -1 && here !== undefined && epoch > here.first) return here.first;
  return (boxes[Math.min(boxes.length - 1, Math.max(0, index + by))] ?? here)?.first ?? 0;
}

import { setAttributes } from '../base/dom';

/** Boxes of a drawing in units of a grid: x, y, width, height, and what they stand for. */
type Box = readonly [x: number, y: number, width: number, height: number, kind: 'forward' | 'backward' | 'weight' | 'quiet'];

const steps = (lengths: readonly number[], from: number, y: number, kind: Box[4]): Box[] => {
  let x = from;
  return lengths.map((length): Box => {
    const box: Box = [x, y, length, 1, kind];
    x += length;
    return box;
  });
};

const drawings = {
  /** Three stages, whole sequences forward and back. */
  pipeline: [0, 1, 2].flatMap((stage) => [
    ...steps([3, 3, 3], 3 * stage, stage, 'forward'),
    ...steps([5, 5, 5], 21 - 3 * stage, stage, 'backward'),
  ]),
  /** A sequence, and the slices that it is cut into, shorter to its end. */
  slices: [...steps([24], 0, 0, 'quiet'), ...steps([8, 6, 4, 3, 3], 0, 1, 'forward'), ...steps([8, 6, 4, 3, 3], 8, 2, 'forward')],
  /** Times against their lengths. */
  profile: [2, 3, 4, 6, 9, 13].map((height, index): Box => [index * 4 + 1, 3 - height / 5, 2, height / 5, 'forward']),
  /** Stages that grow fewer and pipelines that grow more, as layers freeze. */
  elastic: [
    ...[0, 1, 2].map((stage): Box => [0, stage, 7, 1, stage === 0 ? 'weight' : 'forward']),
    ...[0, 1, 2].map((stage): Box => [8, stage, 5, 1, stage === 0 ? 'quiet' : 'forward']),
    ...[0, 1, 2].map((stage): Box => [14, stage, 3, 1, 'quiet']),
    [14, 2, 3, 1, 'forward'],
  ],
  /** Step times of layouts against their memory, the best one marked. */
  layout: [
    ...[20, 13, 9, 7, 6, 5].map((height, index): Box => [index * 4 + 1, 2.4 - height / 10, 1, 0.5, 'forward']),
    [24, 1.7, 1, 0.7, 'backward'],
  ],
} as const satisfies Readonly<Record<string, readonly Box[]>>;

const svgNamespace = 'http://www.w3.org/2000/svg';

/** A small drawing of what a page will show; the sentence next to it describes it. */
export function picture(name: keyof typeof drawings): SVGSVGElement {
  const boxes: readonly Box[] = drawings[name];
  const right = boxes.reduce((most, [x, , width]) => Math.max(most, x + width), 0);
  const svg = document.createElementNS(svgNamespace, 'svg');
  setAttributes(svg, { class: 'picture', viewBox: `0 0 ${right * 5} 36`, width: right * 5, height: 36, 'aria-hidden': 'true' });
  for (const [x, y, width, height, kind] of boxes) {
    const rect = document.createElementNS(svgNamespace, 'rect');
    setAttributes(rect, { class: `picture-${kind}`, x: x * 5 + 0.5, y: y * 12 + 1, width: width * 5 - 1.5, height: height * 12 - 2 });
    svg.append(rect);
  }
  return svg;
}

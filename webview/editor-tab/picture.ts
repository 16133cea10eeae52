import { escapeXml, timelineSvg } from '../../src/core/export/svg';
import { css } from '../base/color';
import { shownCandidate, shownDrawn, type Store } from '../base/store';
import { t } from '../base/strings';
import { theme } from '../base/theme';
import { tailName } from '../charts/lanes/draw-tail';
import { timeText } from '../charts/lanes/labels';
import { fileName } from '../shared/table-text';

/*
 * Pictures of what is shown: loaded when one is asked for.
 */

const svgWidth = 1600;

/** Saves the timeline that is shown as a drawing of its operations. @param title what the page is of */
export function saveTimelineSvg(store: Store, title: string): void {
  const { name, operations, tail } = shownDrawn(store.state(), store.view()) ?? { name: '', operations: null, tail: null };
  if (operations === null) return;
  const { background, foreground, dim, line, forward, backward, backwardWeight, gradientExchange, optimizer, copies } = theme();
  const { plan } = store.state();
  const suffix = plan === null ? '' : `-${shownCandidate(plan, store.view()).id}`;
  const text = timelineSvg(operations.timeline, {
    title: title === name ? title : `${title} · ${name}`,
    rowTitle: operations.ofFile ? t('rank') : t('stage'),
    tail,
    tailName,
    copiesName: t('Activation copies'),
    timeText: (ms) => timeText(operations, ms),
    widthPx: svgWidth,
    colors: {
      background: css(background),
      foreground: css(foreground),
      dim: css(dim),
      line: css(line),
      forward: css(forward),
      backward: css(backward),
      backwardWeight: css(backwardWeight),
      gradientExchange: css(gradientExchange),
      optimizer: css(optimizer),
      copies: css(copies),
    },
  });
  store.host.post({ type: 'save', name: `${fileName(title)}${suffix}.svg`, mime: 'image/svg+xml', text });
}

/** What is seen of an element, in CSS px from its corner: fills, canvases and lines of text, back to front. */
interface Picture {
  readonly width: number;
  readonly height: number;
  readonly marks: readonly Mark[];
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

type Mark =
  | ({ readonly kind: 'fill'; readonly color: string } & Box)
  | ({ readonly kind: 'canvas'; readonly canvas: HTMLCanvasElement } & Box)
  | ({ readonly kind: 'text'; readonly text: string; readonly color: string; readonly size: number; readonly weight: string; readonly family: string } & Box); // prettier-ignore

/** Takes a picture of an element as it is on screen. What is scrolled out of view is not in it. */
export function takePicture(root: HTMLElement): Picture {
  const frame = root.getBoundingClientRect();
  const marks: Mark[] = [];
  const placed = ({ left, top, width, height }: DOMRect): Box => ({ x: left - frame.left, y: top - frame.top, width, height });
  const isSeen = (box: Box): boolean =>
    box.width > 0 && box.height > 0 && box.x < frame.width && box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0;
  const add = (mark: Mark): void => {
    if (isSeen(mark)) marks.push(mark);
  };
  add({ kind: 'fill', color: getComputedStyle(document.body).backgroundColor, x: 0, y: 0, width: frame.width, height: frame.height });
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element && (node.classList.contains('visually-hidden') || node.getClientRects().length === 0)
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT,
  );
  for (let node = walk.nextNode(); node !== null; node = walk.nextNode()) {
    if (node instanceof HTMLCanvasElement) add({ kind: 'canvas', canvas: node, ...placed(node.getBoundingClientRect()) });
    else if (node instanceof Element) {
      const color = getComputedStyle(node).backgroundColor;
      if (!/^(?:transparent|rgba\(.*, 0\))$/.test(color)) add({ kind: 'fill', color, ...placed(node.getBoundingClientRect()) });
    } else if (node.parentElement !== null) {
      const { color, fontSize, fontWeight, fontFamily } = getComputedStyle(node.parentElement);
      for (const { text, box } of screenLines(node))
        add({ kind: 'text', text, color, size: parseFloat(fontSize), weight: fontWeight, family: fontFamily, ...placed(box) });
    }
  }
  return { width: frame.width, height: frame.height, marks };
}

/** A text as it is broken into lines on screen. */
function screenLines(node: Node): { readonly text: string; readonly box: DOMRect }[] {
  const lines: { text: string; box: DOMRect }[] = [];
  const range = document.createRange();
  for (const word of (node.textContent ?? '').matchAll(/\S+\s*/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].trimEnd().length);
    const box = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last === undefined || Math.abs(last.box.top - box.top) > 2) lines.push({ text: word[0].trimEnd(), box });
    else {
      last.text += ` ${word[0].trimEnd()}`;
      last.box = new DOMRect(last.box.x, last.box.y, box.right - last.box.x, last.box.height);
    }
  }
  return lines;
}

/** A picture as PNG, in device px: its bytes in base64. */
export function pictureAsPng({ width, height, marks }: Picture): string {
  const scale = window.devicePixelRatio;
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const pen = canvas.getContext('2d');
  if (pen === null) throw new Error('this browser draws no canvas');
  pen.scale(scale, scale);
  pen.textBaseline = 'middle';
  for (const mark of marks)
    if (mark.kind === 'canvas') pen.drawImage(mark.canvas, mark.x, mark.y, mark.width, mark.height);
    else {
      pen.fillStyle = mark.color;
      if (mark.kind === 'fill') pen.fillRect(mark.x, mark.y, mark.width, mark.height);
      else {
        pen.font = `${mark.weight} ${mark.size}px ${mark.family}`;
        pen.fillText(mark.text, mark.x, mark.y + mark.height / 2);
      }
    }
  return canvas.toDataURL('image/png').replace(/^data:image\/png;base64,/, '');
}

/** A picture as SVG: text stays text, what is drawn on canvases is in it as PNG. */
export function pictureAsSvg({ width, height, marks }: Picture): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}">`,
    ...marks.map(markSvg),
    '</svg>\n',
  ].join('\n');
}

function markSvg(mark: Mark): string {
  const box = `x="${rounded(mark.x)}" y="${rounded(mark.y)}" width="${rounded(mark.width)}" height="${rounded(mark.height)}"`;
  switch (mark.kind) {
    case 'fill':
      return `<rect ${box} fill="${escapeXml(mark.color)}"/>`;
    case 'canvas':
      return `<image ${box} preserveAspectRatio="none" href="${mark.canvas.toDataURL('image/png')}"/>`;
    case 'text':
      return (
        `<text x="${rounded(mark.x)}" y="${rounded(mark.y + mark.height / 2)}" dominant-baseline="central" fill="${escapeXml(mark.color)}" ` +
        `font-family="${escapeXml(mark.family)}" font-size="${mark.size}" font-weight="${escapeXml(mark.weight)}">${escapeXml(mark.text)}</text>`
      );
  }
}

function rounded(px: number): number {
  return Math.round(px * 100) / 100;
}

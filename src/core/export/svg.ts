import { formatDuration, formatPercent } from '../format';
import type { Tail, TailPart } from '../planner/explain/tail';
import { timedCopies } from '../schedules/activation-copies';
import { operationPart, type Part } from '../schedules/parts';
import type { Timeline } from '../schedules/schedule';
import { own } from '../records';

/** Colours as CSS writes them; the caller takes them from its theme. */
interface SvgColors {
  readonly background: string;
  readonly foreground: string;
  readonly dim: string;
  readonly line: string;
  readonly forward: string;
  readonly backward: string;
  readonly backwardWeight: string;
  readonly gradientExchange: string;
  readonly optimizer: string;
  readonly copies: string;
}

interface SvgOptions {
  readonly title: string;
  /** Of the whole picture; the height follows from the stages. */
  readonly widthPx: number;
  readonly colors: SvgColors;
  /** What a row is, above the rows; `stage` by default. */
  readonly rowTitle?: string;
  /** What follows the passes, and the name of each of its parts; left out: nothing does. */
  readonly tail?: Tail | null;
  readonly tailName?: (kind: TailPart['kind']) => string;
  readonly copiesName?: string;
  /** How times are written; `formatDuration` by default. */
  readonly timeText?: (ms: number) => string;
  /** Most operations drawn as rectangles of their own or merged with neighbours; 20,000 by default. */
  readonly maximumRectangles?: number;
}

const left = 64;
const right = 72;
const top = 64;
const bottom = 16;

/**
 * The timeline as a standalone SVG: a row per stage with what follows its passes, time axis above, idle share at the right.
 * Operations of one kind and micro-batch that lie closer than a pixel are merged, and further until at most `maximumRectangles` are left,
 * so that the file stays small whatever the number of operations.
 */
export function timelineSvg(timeline: Timeline, options: SvgOptions): string {
  return [...timelineSvgPieces(timeline, options)].join('');
}

/** The same in pieces, one row of the picture each; only one piece is in memory at a time. */
export function* timelineSvgPieces(
  timeline: Timeline,
  {
    title,
    widthPx,
    colors,
    rowTitle = 'stage',
    tail = null,
    tailName = tailPartName,
    copiesName = activationCopiesName,
    timeText = formatDuration,
    maximumRectangles = 20_000,
  }: SvgOptions,
): Generator<string> {
  const { stages } = timeline;
  const endMs = Math.max(timeline.makespanMs, tail?.endMs ?? 0);
  const width = Math.max(1, widthPx - left - right);
  const rowPx = Math.min(20, Math.max(2, Math.floor(720 / Math.max(1, stages))));
  const height = top + stages * rowPx + bottom;
  const scale = endMs > 0 ? width / endMs : 0;
  let mergePx = 1;
  while (mergePx < width && countBoxes(timeline, scale, mergePx) > maximumRectangles) mergePx *= 2;
  const gap = rowPx >= 5 ? 1 : 0;
  yield lines([
    `<svg xmlns="http://www.w3.org/2000/svg" width="${widthPx}" height="${height}" viewBox="0 0 ${widthPx} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${styles(colors)}</style>`,
    `<rect class="paper" width="${widthPx}" height="${height}"/>`,
    `<text class="title" x="${left}" y="22">${escapeXml(title)}</text>`,
    ...axis(endMs, scale, width, stages * rowPx, timeText),
  ]);
  for (let stage = 0; stage < stages; stage++) {
    const rectangles: string[] = [];
    eachBox(timeline, stage, { scale, mergePx }, ({ x, width: boxWidth, part, microBatch }) =>
      rectangles.push(
        `<rect class="${partClasses[part]}${microBatch % 4}" x="${coordinate(left + x)}" y="${top + stage * rowPx}" width="${coordinate(Math.max(0.2, boxWidth - (boxWidth > 4 ? 0.6 : 0)))}" height="${rowPx - gap}"/>`,
      ),
    );
    yield lines(rectangles);
  }
  yield lines([
    ...(tail === null ? [] : tailBoxes(tail, scale, rowPx, gap, tailName)),
    ...copyBoxes(timeline, scale, rowPx, gap, copiesName),
    ...rowTexts(timeline, rowPx, left + width, rowTitle),
    '</svg>',
  ]);
}

function lines(all: readonly string[]): string {
  return all.length === 0 ? '' : `${all.join('\n')}\n`;
}

/** What the parts after the passes are called in English. */
export function tailPartName(kind: TailPart['kind']): string {
  return { gradientExchange: 'gradient exchange', optimizer: 'optimizer', hiddenExchange: 'gradient exchange, hidden' }[kind];
}

const tailKinds = ['hiddenExchange', 'gradientExchange', 'optimizer'] as const satisfies readonly TailPart['kind'][];

const tailClasses = { gradientExchange: 'g', optimizer: 'o', hiddenExchange: 'g' } as const satisfies Record<TailPart['kind'], string>;

/** A bar for each part on each stage, of stages that end alike one over all rows where these have no gaps; what is hidden at the foot. */
function tailBoxes(
  { ofStage }: Tail,
  scale: number,
  rowPx: number,
  gap: number,
  tailPartLabel: (kind: TailPart['kind']) => string,
): string[] {
  const boxes: { stage: number; rows: number; part: TailPart }[] = [];
  const above = new Map<TailPart['kind'], (typeof boxes)[number]>();
  ofStage.forEach((parts, stage) => {
    for (const part of parts) {
      const over = above.get(part.kind);
      const isAlike = over?.part.startMs === part.startMs && over.part.endMs === part.endMs && over.stage + over.rows === stage;
      if (over !== undefined && isAlike && gap === 0 && part.kind !== 'hiddenExchange') over.rows += 1;
      else {
        const box = { stage, rows: 1, part };
        above.set(part.kind, box);
        boxes.push(box);
      }
    }
  });
  const rectangle = ({ stage, rows, part: { kind, startMs, endMs } }: (typeof boxes)[number]): string => {
    const all = rows * rowPx - gap;
    const height = kind === 'hiddenExchange' ? Math.max(1, all / 4) : all;
    const y = coordinate(top + stage * rowPx + all - height);
    const size = `width="${coordinate(Math.max(0.2, (endMs - startMs) * scale))}" height="${coordinate(height)}"`;
    return `<rect x="${coordinate(left + startMs * scale)}" y="${y}" ${size}/>`;
  };
  return tailKinds.flatMap((kind) => {
    const own = boxes.filter(({ part }) => part.kind === kind).map(rectangle);
    return own.length === 0 ? [] : [`<g class="${tailClasses[kind]}"><title>${escapeXml(tailPartLabel(kind))}</title>`, ...own, '</g>'];
  });
}

export const activationCopiesName = 'activation copies';

/** A strip at the head of each row: activations that leave the stage or come back, neighbours closer than a pixel as one. */
function copyBoxes(timeline: Timeline, scale: number, rowPx: number, gap: number, name: string): string[] {
  if (timeline.copies === undefined) return [];
  const height = coordinate(Math.max(1, (rowPx - gap) / 4));
  const strips = Array.from({ length: timeline.stages }, (_, stage) => {
    const y = top + stage * rowPx;
    return joinedSpans(timedCopies(timeline, stage), 1 / scale).map(
      ({ startMs, endMs }) =>
        `<rect x="${coordinate(left + startMs * scale)}" y="${y}" width="${coordinate(Math.max(0.2, (endMs - startMs) * scale))}" height="${height}"/>`,
    );
  });
  return ['<g class="c">', `<title>${escapeXml(name)}</title>`, ...strips.flat(), '</g>'];
}

/** Spans in order of their starts, those that overlap or are closer than `gapMs` as one. */
function joinedSpans(spans: readonly Span[], gapMs: number): Span[] {
  const joined: { startMs: number; endMs: number }[] = [];
  for (const { startMs, endMs } of spans.toSorted((a, b) => a.startMs - b.startMs)) {
    const last = joined.at(-1);
    if (last !== undefined && startMs - last.endMs < gapMs) last.endMs = Math.max(last.endMs, endMs);
    else joined.push({ startMs, endMs });
  }
  return joined;
}

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** Class of each part, the brightness of the micro-batch following. */
const partClasses = ['f', 'b', 'w'] as const;

/** Operations of a stage that are drawn as one, px; valid during a call, and changed for the next one. */
interface Box {
  x: number;
  width: number;
  part: Part;
  microBatch: number;
}

/** Goes through the boxes of a stage from left to right. */
function eachBox(
  { rowStart, kind, unit, units, startMs, endMs }: Timeline,
  stage: number,
  { scale, mergePx }: { readonly scale: number; readonly mergePx: number },
  visit: (box: Readonly<Box>) => void,
): void {
  const [first, end] = [rowStart[stage] ?? 0, rowStart[stage + 1] ?? 0];
  const box: Box = { x: 0, width: 0, part: 0, microBatch: 0 };
  for (let row = first; row < end; row++) {
    const x = (startMs[row] ?? 0) * scale;
    const width = (endMs[row] ?? 0) * scale - x;
    const part = operationPart(kind[row]);
    const microBatch = units[unit[row] ?? 0]?.microBatch ?? 0;
    const isNear = row > first && x - (box.x + box.width) < mergePx && (width < mergePx || box.width < mergePx);
    if (isNear && box.part === part && (box.microBatch === microBatch || mergePx > 4)) {
      box.width = x + width - box.x;
      continue;
    }
    if (row > first) visit(box);
    box.x = x;
    box.width = width;
    box.part = part;
    box.microBatch = microBatch;
  }
  if (end > first) visit(box);
}

function countBoxes(timeline: Timeline, scale: number, mergePx: number): number {
  let boxes = 0;
  for (let stage = 0; stage < timeline.stages; stage++) eachBox(timeline, stage, { scale, mergePx }, () => boxes++);
  return boxes;
}

function axis(endMs: number, scale: number, width: number, heightPx: number, timeText: (ms: number) => string): string[] {
  if (!(endMs > 0)) return [];
  const raw = endMs / 10;
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((factor) => factor * magnitude >= raw) ?? 10) * magnitude;
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, index) => {
    const x = coordinate(left + index * step * scale);
    const anchor = index === 0 ? 'start' : index * step * scale > width - 30 ? 'end' : 'middle';
    return (
      `<path class="grid" d="M${x} ${top - 6}V${top + heightPx}"/>` +
      `<text class="dim" x="${x}" y="${top - 12}" text-anchor="${anchor}">${escapeXml(timeText(index * step))}</text>`
    );
  });
}

function rowTexts({ stages, rowStart, startMs, endMs, makespanMs }: Timeline, rowPx: number, edge: number, rowTitle: string): string[] {
  const every = Math.max(1, Math.ceil(14 / rowPx));
  const texts = [
    `<text class="dim" x="${left - 8}" y="${top - 12}" text-anchor="end">${escapeXml(rowTitle)}</text>`,
    `<text class="dim" x="${edge + right - 8}" y="${top - 12}" text-anchor="end">idle</text>`,
  ];
  for (let stage = 0; stage < stages; stage += every) {
    let busyMs = 0;
    for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) busyMs += (endMs[row] ?? 0) - (startMs[row] ?? 0);
    const y = top + (stage + 0.5) * rowPx + 4;
    texts.push(
      `<text class="dim" x="${left - 8}" y="${y}" text-anchor="end">${stage}</text>`,
      `<text class="dim" x="${edge + right - 8}" y="${y}" text-anchor="end">${formatPercent(makespanMs > 0 ? 1 - busyMs / makespanMs : 0)}</text>`,
    );
  }
  return texts;
}

function styles({ gradientExchange, optimizer, copies, ...colors }: SvgColors): string {
  const { background, foreground, dim, line, forward, backward, backwardWeight } = colors;
  const shade = (name: string, color: string): string =>
    [1, 0.7, 0.86, 0.58].map((opacity, index) => `.${name}${index}{fill:${safe(color)};fill-opacity:${opacity}}`).join('');
  return (
    `.paper{fill:${safe(background)}}.title{fill:${safe(foreground)};font-size:14px}.dim{fill:${safe(dim)}}.grid{stroke:${safe(line)};stroke-width:.5}` +
    shade('f', forward) +
    shade('b', backward) +
    shade('w', backwardWeight) +
    `.g{fill:${safe(gradientExchange)}}.o{fill:${safe(optimizer)}}.c{fill:${safe(copies)}}`
  );
}

/** A colour cannot end the style it is in. */
function safe(color: string): string {
  return /^[#\w(),.%\s/-]*$/.test(color) ? color : 'currentColor';
}

function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text from outside as XML or HTML content or attribute value: markup becomes entities, characters that XML has no place for go. */
export function escapeXml(text: string): string {
  // XML 1.0 has no place for most control characters, escaped or not.
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .replace(/[&<>"']/g, (found) => own(entities, found) ?? '');
}

import { formatBytes, formatDuration } from '../../../src/core/format';
import type { LiveParts } from '../../../src/core/memory-model/curve';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { fill, h, setAttributes } from '../../base/dom';
import { lanesAttributes, partAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import { makeSurface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { gutters } from '../../charts/lanes/draw-frame';
import type { Operations } from '../../base/operations';
import type { Viewport } from '../../base/viewport';
import { memoryCurve, seenParts } from '../../charts/memory/curve';
import { drawCurve, drawPeak } from './memory-lane-draw';
import { fillReadout, readMemory, spokenReadout } from '../../charts/memory/readout';
import { axisBytes, partName, peakPartName, presentParts } from '../../charts/memory/summary';
import { memoryPen } from '../../charts/memory/axis';
import { penOn, plotIn, type Plot } from '../../charts/plot';
import type { Store } from '../../base/store';
import type { ShownTimeline } from './shown';

/** What the lane is drawn of. */
interface LaneContent {
  readonly operations: Operations;
  readonly profile: MemoryProfile;
  readonly stage: StageMemory;
}

/** Memory in use on one stage under the timeline, on the same time axis. */
export interface MemoryLane {
  readonly element: HTMLElement;
  /** Where it hears the pointer. */
  readonly canvas: HTMLElement;
  readonly focus: () => void;
  readonly redraw: () => void;
  /** Shows what a stage (null: the one that is shown) has in use at a time, ms, that is pointed at; null: none is. */
  readonly point: (ms: number | null, stage: number | null) => void;
  /** Goes to what is selected, when that is something else. */
  readonly follow: () => void;
}

/** Between the cursor and the text on its time, CSS px. */
const gapPx = 8;

/** Lanes that were made: a page may have that of a plan and that of a schedule file. */
let lanes = 0;

/** Makes the lane, which takes the focus and the keys of the lanes above. @param viewport of those lanes */
export function makeMemoryLane(store: Store, timeline: ShownTimeline, viewport: () => Viewport): MemoryLane {
  const shownNow = (): LaneContent | null => laneShown(timeline);
  const title = h('div', { class: 'lane-title', id: `memory-lane-title-${(lanes += 1)}` });
  const shownCurve = ({ operations, profile, stage }: LaneContent): LiveParts => memoryCurve(operations, profile, stage);
  const surface = makeSurface('memory-lane-curve', (target) => {
    const shown = shownNow();
    if (shown === null) return;
    const { operations, profile, stage } = shown;
    const pen = memoryPen(penOn(target, theme(), plot()), [profile]);
    drawCurve(pen, viewport(), stage, shownCurve(shown));
    drawPeak(pen, viewport(), stage, peakMs(operations, stage));
    place();
  });
  const readout = h('div', { class: 'tooltip lane-readout', role: 'presentation' });
  const cursor = h('div', { class: 'lane-cursor', 'aria-hidden': 'true', hidden: true }, readout);
  const range = h('div', { class: 'lane-range', 'aria-hidden': 'true', hidden: true });
  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const canvas = h(
    'div',
    { class: 'lane-canvas', role: 'application', tabindex: 0, ...lanesAttributes, 'aria-describedby': title.id },
    surface.canvas,
    range,
    cursor,
  );
  const element = h(
    'div',
    { class: 'memory-lane', ...partAttributes, role: 'group', 'aria-label': t('Memory over time') },
    title,
    canvas,
    live,
  );
  const redraw = (): void => {
    const shown = shownNow();
    element.hidden = shown === null;
    if (shown === null) return;
    fill(title, ...laneTitle(shown));
    title.title = aliveAtPeak(shown.profile, shown.stage);
    const label = t('Memory over time: stage {0}. Arrow keys move between operations and read their memory.', shown.stage.stage);
    setAttributes(canvas, { 'aria-label': label });
    surface.redraw();
  };

  let pointed: { readonly ms: number; readonly stage: number | null } | null = null;
  const plot = (): Plot => plotIn(surface, { left: timeline.leftPx(), right: gutters.rightPx });
  const xAt = (ms: number): number => {
    const { startMs, endMs } = viewport();
    const { left, width } = plot();
    return left + ((ms - startMs) / (endMs - startMs)) * width;
  };
  /** Marks the selected time, as far as it is in view. */
  const placeRange = (): void => {
    const selected = selectedRange(store, timeline);
    const { startMs, endMs } = viewport();
    range.hidden = selected === null || selected.endMs < startMs || selected.startMs > endMs || surface.width() === 0;
    if (selected === null || range.hidden) return;
    const [left, right] = [xAt(Math.max(startMs, selected.startMs)), xAt(Math.min(endMs, selected.endMs))];
    range.style.transform = `translateX(${Math.round(left)}px)`;
    range.style.width = `${Math.max(1, Math.round(right) - Math.round(left))}px`;
  };
  /** Puts the cursor where it is pointed at, else at the selected operation, whose parts are spoken while the lane has the focus. */
  const place = (): void => {
    placeRange();
    const shown = shownNow();
    const selectedMs = selectionStart(timeline);
    const at = pointed ?? (selectedMs === null ? null : { ms: selectedMs, stage: null });
    const { startMs, endMs } = viewport();
    const stage = shown?.profile.stages.find((each) => each.stage === at?.stage) ?? shown?.stage;
    cursor.hidden = shown === null || at === null || at.ms < startMs || at.ms > endMs || surface.width() === 0;
    if (cursor.hidden || shown === null || at === null || stage === undefined) return;
    const xPx = xAt(at.ms);
    cursor.style.transform = `translateX(${Math.round(xPx)}px)`;
    cursor.classList.toggle('lane-cursor-kept', pointed === null);
    readout.hidden = pointed === null && document.activeElement !== canvas;
    if (readout.hidden) return;
    fillReadout(readout, readMemory(shown.operations, shown.profile, stage, at.ms));
    const ownPx = readout.offsetWidth;
    // Left of the cursor where it can be: right of the pointer is the text on an operation.
    const wanted = xPx >= ownPx + gapPx ? xPx - ownPx - gapPx : xPx + gapPx;
    readout.style.left = `${Math.round(Math.max(0, Math.min(surface.width() - ownPx, wanted)) - xPx)}px`;
  };
  canvas.addEventListener('focus', place);
  canvas.addEventListener('blur', place);
  onThemeChange(redraw);
  return {
    element,
    canvas,
    focus: () => canvas.focus({ preventScroll: true }),
    redraw,
    point: (ms, stage) => {
      pointed = ms === null ? null : { ms, stage };
      place();
    },
    follow: () => {
      const [shown, ms] = [shownNow(), selectionStart(timeline)];
      const spoken = shown !== null && ms !== null && document.activeElement === canvas;
      // Keys lead away from where the pointer rests.
      if (spoken) pointed = null;
      place();
      live.textContent = spoken ? spokenReadout(readMemory(shown.operations, shown.profile, shown.stage, ms)) : '';
    },
  };
}

/** The memory of the marked stage; null where nothing is drawn. */
function laneShown({ drawn, operations, memoryStage }: ShownTimeline): LaneContent | null {
  const [profile, stage, of] = [drawn()?.memory ?? null, memoryStage(), operations()];
  return profile === null || stage === null || of === null ? null : { operations: of, profile, stage };
}

/** Start of the operation that is selected on the stage that is shown, ms; null: none is. */
function selectionStart({ selected, memoryStage }: ShownTimeline): number | null {
  const operation = selected();
  return operation?.stage === memoryStage()?.stage ? (operation?.startMs ?? null) : null;
}

/** The time that is selected on the stage that is shown; null: none is. */
function selectedRange(store: Store, { memoryStage }: ShownTimeline): Pick<Viewport, 'startMs' | 'endMs'> | null {
  const { selection } = store.view();
  const stage = memoryStage()?.stage ?? -1;
  return selection?.type === 'range' && selection.firstStage <= stage && stage <= selection.lastStage ? selection : null;
}

function laneTitle({ operations, profile, stage }: LaneContent): HTMLElement[] {
  const words = t(
    'Memory of stage {0} · peak {1} at {2} in the {3}',
    stage.stage,
    formatBytes(stage.peakBytes),
    formatDuration(peakMs(operations, stage)),
    stage.peakOperation,
  );
  const parts = seenParts(memoryCurve(operations, profile, stage), stage, axisBytes(profile));
  return [
    h('span', { class: 'lane-words' }, words),
    ...parts.map((part) => h('span', { class: 'lane-part' }, h('span', { class: `swatch swatch-${part}` }), partName(part))),
  ];
}

function peakMs({ timeline }: Operations, { peakRow }: StageMemory): number {
  return timeline.startMs[peakRow] ?? 0;
}

/** What is in use at the peak, the most first: `Activations 8.1 GiB, weights 3.4 GiB`. */
function aliveAtPeak(profile: MemoryProfile, stage: StageMemory): string {
  const { parts } = stage;
  const alive = presentParts(profile).filter((part) => parts[part] > 0);
  alive.sort((a, b) => parts[b] - parts[a]);
  return alive.map((part) => `${peakPartName(part, stage)} ${formatBytes(parts[part])}`).join('\n');
}

import { boundaryRange, whatIfSets, whatIfSizes, withBoundary, type WhatIfSet } from '../../../src/core/layout-search/what-if';
import { minimum, sum } from '../../../src/core/numbers';
import type { PlanRequest } from '../../../src/core/domain/request';
import type { WhatIfState } from '../../../src/protocol/what-if';
import { fill, h, setAttributes } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { makeSameSizes, makeTrying, triedActions, triedWhatIf, triedText } from '../../shared/tried';
import { openedLayout } from '../../shared/opened-layout';
import { own } from '../../../src/core/records';

/** Keys on a boundary and by how many layers they move it. */
const moves: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  Home: -Infinity,
  End: Infinity,
};

/** Layers of each stage. */
type StageLayers = readonly number[];

/**
 * The layers of each stage (of each virtual stage, in the order of the model) as a strip whose boundaries are dragged or moved by keys;
 * what a cut gives is shown before it is written.
 */
export function makeStageLayers(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const { host } = store;
  const state = store.state;
  /** What was moved to; null: nothing. */
  let draft: StageLayers | null = null;
  let request: PlanRequest | null = null;
  let seen: WhatIfState | null = null;
  const trying = makeTrying(store);
  const hasSameSizes = makeSameSizes();
  const planned = (): StageLayers => state().whatIf?.cut ?? [];
  const cutSets = (cut: StageLayers): readonly WhatIfSet[] => (request === null ? [] : whatIfSets(request, whatIfSizes(request), cut));
  const attempt = (cut: StageLayers | null): void => {
    const wanted = cut === null || isSameCut(cut, planned()) ? null : cut;
    if (isSameCut(wanted ?? [], draft ?? [])) return;
    draft = wanted;
    trying.ask(draft === null ? [] : cutSets(draft));
    update();
  };
  const strip = makeStrip({
    planned,
    cut: () => draft ?? planned(),
    request: () => request,
    onChange: attempt,
    onEscape: () => {
      const isMoved = draft !== null;
      attempt(null);
      return isMoved;
    },
  });
  const oneStage = h('p', { class: 'hint' });
  const answer = h('div', { class: 'what-if-answer', 'aria-live': 'polite' });
  const heading = h('h2', { class: 'stage-layers-title' });
  const element = h(
    'section',
    { ...partAttributes, class: 'stage-layers', 'aria-label': t('Layers of each stage') },
    heading,
    oneStage,
    strip.element,
    answer,
  );
  const update = (): void => {
    const { plan, whatIf = null } = state();
    element.hidden = plan === null || whatIf === null || openedLayout(state()) !== null;
    if (plan === null || whatIf === null || element.hidden) return;
    const isSame = hasSameSizes(state(), plan.request) && seen !== null && isSameCut(seen.cut, whatIf.cut);
    if (!isSame) draft = null;
    request = plan.request;
    const isOfSizes = whatIf.sets.length > 0 && whatIf.sets.every(([key]) => key !== 'layout.stageLayers');
    // What another control tries is tried in place of this.
    if (whatIf !== seen && isOfSizes) draft = null;
    // A page that was hidden is reloaded: the host still has what was tried.
    if (seen === null) draft = triedCut(whatIf);
    seen = whatIf;
    trying.keepAsking(draft === null ? [] : cutSets(draft));
    const { layout, model } = request;
    heading.textContent = layout.virtualStages > 1 ? t('Layers of each virtual stage') : t('Layers of each stage');
    oneStage.textContent = whatIf.cut.length < 2 ? t('One stage has all {0} layers: there is no boundary to move.', model.layers) : '';
    oneStage.hidden = oneStage.textContent === '';
    strip.element.hidden = !oneStage.hidden;
    strip.update();
    answer.hidden = draft === null;
    if (draft === null) return;
    const sets = cutSets(draft);
    const tried = triedWhatIf(state(), sets);
    fill(
      answer,
      ...triedText(plan, changesText(request, whatIf.cut, draft), tried),
      triedActions(host, sets, tried, () => attempt(null)),
    );
  };
  return { element, update };
}

function triedCut({ sets }: WhatIfState): StageLayers | null {
  for (const [key, value] of sets) if (key === 'layout.stageLayers') return value;
  return null;
}

function isSameCut(a: StageLayers, b: StageLayers): boolean {
  return a.length === b.length && a.every((layers, stage) => layers === b[stage]);
}

/** Stages that are named one by one. */
const reportedStages = 4;

/** What an entry of a cut is: a stage or, where a layout has them, a virtual stage. */
function stageName({ layout }: PlanRequest, stage: number): string {
  return layout.virtualStages > 1 ? t('virtual stage {0}', stage) : t('stage {0}', stage);
}

/** `Layers of stage 3: 9 to 8, Layers of stage 4: 9 to 10`. */
function changesText(request: PlanRequest, from: StageLayers, to: StageLayers): string {
  const changed = to.flatMap((layers, stage) => (layers === from[stage] ? [] : [{ stage, before: from[stage] ?? 0, layers }]));
  if (changed.length > reportedStages) return t('{0} stages repartitioned', changed.length);
  return changed.map(({ stage, before, layers }) => t('Layers of {0}: {1} to {2}', stageName(request, stage), before, layers)).join(', ');
}

interface StripProps {
  readonly planned: () => StageLayers;
  readonly cut: () => StageLayers;
  readonly request: () => PlanRequest | null;
  readonly onChange: (cut: StageLayers) => void;
  /** Whether there was something to take back. */
  readonly onEscape: () => boolean;
}

/** Stages as wide as they have layers, with a slider on each boundary between them. */
function makeStrip(props: StripProps): { readonly element: HTMLElement; readonly update: () => void } {
  const cells = h('div', { class: 'stage-cells', 'aria-hidden': 'true' });
  const sliders = h('div', { class: 'cut-handles', role: 'group', 'aria-label': t('Boundaries of stages') });
  const strip = h('div', { class: 'stage-strip' }, cells, sliders);
  const element = h('div', { class: 'stage-scroll' }, strip);
  const handles: HTMLElement[] = [];
  const update = (): void => {
    const [cut, planned] = [props.cut(), props.planned()];
    const request = props.request();
    if (request === null) return;
    while (handles.length > Math.max(0, cut.length - 1)) handles.pop()?.remove();
    while (handles.length < cut.length - 1) {
      const handle = makeHandle(handles.length, props);
      handles.push(handle);
      sliders.append(handle);
    }
    while (cells.childElementCount > cut.length) cells.lastElementChild?.remove();
    while (cells.childElementCount < cut.length) cells.append(h('div', { class: 'stage-cell' }, h('span')));
    const total = sum(cut);
    // As wide as fingers need between boundaries (WCAG 2.5.8), where a page scrolls it; a drag does not change it.
    strip.style.setProperty('--finger-width', `${Math.ceil((24 * total) / Math.max(1, minimum(planned)))}px`);
    let at = 0;
    cut.forEach((layers, stage) => {
      const cell = cells.children[stage];
      if (cell instanceof HTMLElement) {
        cell.style.flexGrow = String(layers);
        cell.classList.toggle('changed', layers !== planned[stage]);
        cell.title = t('Layers of {0}: {1}', stageName(request, stage), layers);
        if (cell.firstElementChild !== null) cell.firstElementChild.textContent = String(layers);
      }
      at += layers;
      const handle = handles[stage];
      if (handle === undefined) return;
      const { least, most } = boundaryRange(request, cut, stage);
      handle.style.left = `${(at / total) * 100}%`;
      setAttributes(handle, {
        'aria-valuemin': Math.min(least, at),
        'aria-valuemax': Math.max(most, at),
        'aria-valuenow': at,
        'aria-label':
          request.layout.virtualStages > 1
            ? t('Boundary of virtual stages {0} and {1}', stage, stage + 1)
            : t('Boundary of stages {0} and {1}', stage, stage + 1),
        'aria-valuetext': t(
          'layers of {0}: {1}, of {2}: {3}',
          stageName(request, stage),
          layers,
          stageName(request, stage + 1),
          cut[stage + 1] ?? 0,
        ),
      });
    });
  };
  return { element, update };
}

function makeHandle(stage: number, { cut, request, onChange, onEscape }: StripProps): HTMLElement {
  const handle = h('div', {
    class: 'cut-handle',
    role: 'slider',
    tabindex: 0,
    title: t('Drag it, or move it with the arrow keys; Escape takes it back.'),
  });
  /** Moves the boundary by this many layers from where it lies in `from`. */
  const moveFrom = (from: StageLayers, by: number): void => {
    const known = request();
    if (known !== null) onChange(withBoundary(known, from, stage, sum(from.slice(0, stage + 1)) + by));
  };
  handle.addEventListener('keydown', (event) => {
    const by = own(moves, event.key);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by === undefined && !(event.key === 'Escape' && onEscape())) return;
    event.preventDefault();
    event.stopPropagation();
    if (by !== undefined) moveFrom(cut(), by);
  });
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const [from, start] = [cut(), event.clientX];
    const move = ({ clientX }: PointerEvent): void => {
      const width = handle.parentElement?.getBoundingClientRect().width ?? 1;
      moveFrom(from, Math.round(((clientX - start) / width) * sum(from)));
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('lostpointercapture', () => handle.removeEventListener('pointermove', move), { once: true });
  });
  return handle;
}

import { t } from '../../base/strings';
import { fill, h } from '../../base/dom';
import { part } from '../../../src/core/schedules/parts';
import { operationKind } from '../../../src/core/schedules/schedule';
import type { Operations } from '../../base/operations';
import type { Tail } from '../../../src/core/planner/explain/tail';
import { whenChanged } from '../../shared/when-changed';
import type { Store } from '../../base/store';
import type { TimelineSide } from './shown';
import { chunksOnStages, resolveShading, timelineLook, type LegendKind, type Shading, type TimelineLook } from './look';

/** The look, and how it is changed. */
interface Look {
  readonly look: () => TimelineLook;
  readonly onLook: (look: TimelineLook) => void;
}

/** More chunks on a stage than these are not switched one by one. */
const mostChunks = 8;

/** What the colours and shades of the lanes mean; each a button that hides it. */
export function makeLegend(store: Store, timeline: TimelineSide): { readonly element: HTMLElement; readonly update: () => void } {
  const element = h('div', { class: 'timeline-legend', role: 'toolbar', 'aria-label': t('Legend') });
  const changed = whenChanged();
  const props: Look = { look: () => store.get(timelineLook), onLook: (look) => store.set(timelineLook, look) };
  const update = (): void => {
    const operations = timeline.operations();
    element.hidden = operations === null;
    if (operations === null) return;
    const [kinds, chunks, shadings] = [legendKinds(operations, timeline.tail()), chunkCount(operations), availableShadings(operations)];
    const look = props.look();
    const leadsToSlices = !operations.sliced && !operations.ofFile && operations.stages > 1;
    changed([kinds, chunks, shadings, look, resolveShading(operations, look), leadsToSlices], () =>
      fill(
        element,
        ...kinds.map((kind) => kindToggle(kind, kinds, props)),
        ...(chunks > 1 && chunks <= mostChunks ? Array.from({ length: chunks }, (_, place) => chunkToggle(place, operations, props)) : []),
        h(
          'span',
          { class: 'legend-shades', role: 'group', 'aria-label': t('Shade by') },
          h('span', { class: 'legend-shade', 'aria-hidden': 'true' }, ...[0, 1, 2, 3].map((shade) => h('i', { class: `shade-${shade}` }))),
          h('span', { class: 'legend-word' }, t('Shade by')),
          ...(shadings.length > 1
            ? shadings.map((shading) => shadingButton(shading, operations, props))
            : [h('span', { class: 'legend-word' }, t('micro-batch'))]),
        ),
        leadsToSlices ? slicesLink(store) : null,
      ),
    );
  };
  return { element, update };
}

/** Where sequences are whole: the tab that tries slices, which the bar does not offer. */
function slicesLink(store: Store): HTMLElement {
  return h(
    'button',
    { class: 'link legend-slices', type: 'button', 'data-focus': 'legend-slices', onclick: () => store.setView({ tab: 'slices' }) },
    t('Try token slices'),
  );
}

function toggle(className: string, name: string, key: string, isOn: boolean, onClick: () => void): HTMLElement {
  return h(
    'button',
    {
      class: 'legend-toggle',
      type: 'button',
      'aria-pressed': String(isOn),
      'data-focus': `legend-${key}`,
      title: isOn ? t('Hide: {0}', name) : t('Show: {0}', name),
      onclick: onClick,
    },
    className === '' ? null : h('span', { class: `swatch ${className}`, 'aria-hidden': 'true' }),
    name,
  );
}

function switched<T>(list: readonly T[], one: T): readonly T[] {
  return list.includes(one) ? list.filter((each) => each !== one) : [...list, one];
}

function kindToggle(kind: LegendKind, kinds: readonly LegendKind[], { look, onLook }: Look): HTMLElement {
  const { hiddenKinds } = look();
  return toggle(`swatch-kind-${kind}`, kindText(kind, kinds.includes('weight')), kind, !hiddenKinds.includes(kind), () =>
    onLook({ ...look(), hiddenKinds: switched(hiddenKinds, kind) }),
  );
}

function kindText(kind: LegendKind, split: boolean): string {
  const names: Readonly<Record<LegendKind, string>> = {
    forward: t('Forward'),
    backward: split ? t('Input gradient') : t('Backward'),
    weight: t('Weight gradient'),
    gradientExchange: t('Gradient exchange'),
    optimizer: t('Optimizer'),
    copies: t('Activation copies'),
  };
  return names[kind];
}

function chunkToggle(place: number, operations: Operations, { look, onLook }: Look): HTMLElement {
  const { hiddenChunks } = look();
  const shade = resolveShading(operations, look()) === 'chunk' ? `swatch-shade shade-${place % 4}` : '';
  return toggle(shade, chunksText(place, operations), `chunk-${place}`, !hiddenChunks.includes(place), () =>
    onLook({ ...look(), hiddenChunks: switched(hiddenChunks, place) }),
  );
}

/** `Chunks 4 to 7`: those that are at the same place of their stages, by the numbers that passes are labelled with. */
function chunksText(place: number, { timeline, ofFile }: Operations): string {
  const chunks = [...chunksOnStages(timeline).entries()].flatMap(([chunk, each]) => (each === place ? [chunk] : []));
  const [first = 0, last = first] = [chunks[0], chunks.at(-1)];
  if (chunks.length === 1) return ofFile ? t('Stage {0}', first) : t('Chunk {0}', first);
  if (last - first + 1 > chunks.length) return ofFile ? t('Stages {0}', chunks.join(', ')) : t('Chunks {0}', chunks.join(', '));
  return ofFile ? t('Stages {0} to {1}', first, last) : t('Chunks {0} to {1}', first, last);
}

function shadingButton(shading: Exclude<Shading, 'auto'>, operations: Operations, { look, onLook }: Look): HTMLElement {
  const names = { 'micro-batch': t('micro-batch'), slice: t('slice'), chunk: t('chunk') };
  const isOn = resolveShading(operations, look()) === shading;
  return h(
    'button',
    {
      class: 'legend-choice',
      type: 'button',
      'aria-pressed': String(isOn),
      'data-focus': `shade-${shading}`,
      onclick: () => onLook({ ...look(), shading }),
    },
    names[shading],
  );
}

const knownKinds = new WeakMap<Operations, readonly LegendKind[]>();

/** What there is of each. A split backward has weight gradients. */
function legendKinds(operations: Operations, tail: Tail | null): readonly LegendKind[] {
  const { kind } = operations.timeline;
  const known = knownKinds.get(operations);
  const passes: readonly LegendKind[] = known ?? [
    'forward',
    ...(kind.some((each) => each !== operationKind.forward) ? (['backward'] as const) : []),
    ...((operations.beforeMs[part.weight].at(-1) ?? 0) > 0 ? (['weight'] as const) : []),
  ];
  knownKinds.set(operations, passes);
  const ends = new Set(
    tail?.ofStage.flatMap((parts) => parts.map((each) => (each.kind === 'optimizer' ? 'optimizer' : 'gradientExchange'))),
  );
  const copies = operations.timeline.copyTimes === undefined ? [] : (['copies'] as const);
  return [...passes, ...copies, ...(['gradientExchange', 'optimizer'] as const).filter((each) => ends.has(each))];
}

const knownChunks = new WeakMap<Operations, number>();

function chunkCount(operations: Operations): number {
  const count = knownChunks.get(operations) ?? chunksOnStages(operations.timeline).reduce((most, place) => Math.max(most, place + 1), 1);
  knownChunks.set(operations, count);
  return count;
}

function availableShadings({ sliced, chunked }: Operations): Exclude<Shading, 'auto'>[] {
  return ['micro-batch', ...(sliced ? (['slice'] as const) : []), ...(chunked ? (['chunk'] as const) : [])];
}

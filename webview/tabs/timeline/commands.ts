import type { PageAction } from '../../base/actions';
import { ease } from '../../base/frame';
import type { Operation } from '../../base/operations';
import type { Store } from '../../base/store';
import { between, fitAll, fitOperation, fitRange, reveal, type Extent, type Viewport } from '../../base/viewport';
import { spoken } from '../../charts/lanes/labels';
import { rowCommands, type RowCommands } from './row-commands';
import { edgeOperation, movedBy, stepFrom } from '../../charts/lanes/navigate';
import type { ShownTimeline } from './shown';

/** What a person does with the timeline. */
export interface TimelineCommands {
  /** Shows a part of the timeline at once; null shows all. */
  readonly show: (viewport: Viewport | null) => void;
  /** The same, moving there. */
  readonly easeTo: (viewport: Viewport | null) => void;
  /** Selects an operation, brings it into view and announces it. */
  readonly goTo: (operation: Operation | null) => void;
  readonly zoomTo: (operation: Operation) => void;
  readonly rows: RowCommands;
  readonly act: (action: PageAction) => void;
}

/** What commands need of the view. */
interface CommandProps {
  readonly extent: () => Extent;
  readonly openFind: () => void;
  /** Announces to a screen reader. */
  readonly say: (text: string) => void;
}

const zoomToFitMs = 120;

export function timelineCommands(store: Store, timeline: ShownTimeline, { extent, openFind, say }: CommandProps): TimelineCommands {
  const viewport = (): Viewport => timeline.viewport(extent());
  let stopEase = (): void => undefined;
  const show = (shown: Viewport | null): void => {
    stopEase();
    store.setView({ viewport: shown });
  };
  const easeTo = (target: Viewport | null): void => {
    stopEase();
    const from = viewport();
    const to = target ?? fitAll(extent());
    stopEase = ease(zoomToFitMs, (fraction) => store.setView({ viewport: fraction >= 1 ? target : between(from, to, fraction) }));
  };
  const rows = rowCommands(store, timeline, say);
  const stageHere = (): number => timeline.selected()?.stage ?? timeline.markedStage() ?? 0;
  const goTo = (operation: Operation | null): void => {
    const of = timeline.operations();
    if (operation === null || of === null) return;
    rows.openStage(operation.stage);
    const revealed = reveal(viewport(), timeline.rows().laneRow(operation.stage), operation.startMs, operation.endMs, extent());
    if (store.view().viewport !== null) show(revealed);
    timeline.select(operation, null);
    say(spoken(of, operation));
  };
  const zoomTo = (operation: Operation): void => {
    rows.openStage(operation.stage);
    timeline.select(operation, null);
    easeTo(fitOperation(viewport(), timeline.rows().laneRow(operation.stage), operation.startMs, operation.endMs, extent()));
  };
  const fitSelection = (): void => {
    const { selection } = store.view();
    const operation = timeline.selected();
    if (operation !== null) zoomTo(operation);
    else if (selection?.type === 'range') easeTo(fitRange(viewport(), selection.startMs, selection.endMs, extent()));
    else easeTo(null);
  };
  const back = (): void => {
    const { selection, viewport: zoomed } = store.view();
    if (selection !== null) store.setView({ selection: null });
    else if (zoomed !== null) easeTo(null);
  };
  const move = (action: PageAction): void => {
    const operation = timeline.selected();
    const of = timeline.operations();
    const stage = stageHere();
    const moved = movedBy(action, viewport(), extent(), operation === null ? null : (operation.startMs + operation.endMs) / 2);
    if (moved !== null) show(moved);
    else if (action.do === 'step' && of !== null)
      goTo(operation === null ? edgeOperation(of, stage, 'first') : stepFrom(of, operation, action));
    else if (action.do === 'edge' && of !== null) goTo(edgeOperation(of, stage, action.end));
  };
  const act = (action: PageAction): void => {
    switch (action.do) {
      case 'fitSelection':
        fitSelection();
        break;
      case 'fitAll':
        easeTo(null);
        break;
      case 'criticalPath':
        store.setView({ criticalPath: !store.view().criticalPath });
        break;
      case 'toggleNode':
        rows.toggleStageNode(stageHere());
        break;
      case 'toggleNodes':
        rows.toggleNodes();
        break;
      case 'togglePin':
        rows.togglePin(stageHere());
        break;
      case 'find':
        openFind();
        break;
      case 'back':
        back();
        break;
      case 'zoom':
      case 'zoomRows':
      case 'pan':
      case 'scroll':
      case 'step':
      case 'edge':
        move(action);
        break;
      case 'part':
      case 'showKeys':
        break;
    }
  };
  return { show, easeTo, goTo, zoomTo, rows, act };
}

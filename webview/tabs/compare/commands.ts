import type { PageAction } from '../../base/actions';
import { ease } from '../../base/frame';
import type { Operation } from '../../base/operations';
import { between, fitAll, fitOperation, reveal, type Extent, type Viewport } from '../../base/viewport';
import { edgeOperation, movedBy, stepFrom } from '../../charts/lanes/navigate';
import type { ComparedSides } from './compared-sides';
import { passLines } from './pass-text';
import type { SideId } from './settings';

/** What a person does with the lanes. */
interface LaneCommands {
  readonly show: (viewport: Viewport | null) => void;
  readonly easeTo: (viewport: Viewport | null) => void;
  /** Picks a pass, or none and a stage, and announces it. */
  readonly pick: (side: SideId, operation: Operation | null, stage: number | null) => void;
  readonly zoomTo: (side: SideId, operation: Operation) => void;
  readonly act: (action: PageAction) => void;
}

/** What commands need of the lanes. */
interface LaneProps {
  readonly extent: (side: SideId) => Extent;
  /** Announces to a screen reader. */
  readonly say: (text: string) => void;
}

const zoomToFitMs = 120;

export function laneCommands(compared: ComparedSides, { extent, say }: LaneProps): LaneCommands {
  const { answer, operations, settings, change, viewport, picked, markedStage, drawn } = compared;
  const firstDrawn = (): SideId => drawn()[0] ?? 'a';
  let stopEase = (): void => undefined;
  const show = (shown: Viewport | null): void => {
    stopEase();
    change({ viewport: shown });
  };
  const easeTo = (target: Viewport | null): void => {
    stopEase();
    const all = extent(firstDrawn());
    const [from, to] = [viewport(all), target ?? fitAll(all)];
    stopEase = ease(zoomToFitMs, (fraction) => change({ viewport: fraction >= 1 ? target : between(from, to, fraction) }));
  };
  const pick = (side: SideId, operation: Operation | null, stage: number | null): void => {
    const pass = operation === null ? null : { side, chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex };
    change({ pass, stage: operation?.stage ?? stage ?? settings().stage });
    const now = answer();
    const of = operations(side);
    if (operation !== null && now !== null && of !== null) say(passLines(now, side, of, operation).join('. '));
  };
  const zoomTo = (side: SideId, operation: Operation): void => {
    pick(side, operation, null);
    const own = extent(side);
    easeTo(fitOperation(viewport(own), operation.stage, operation.startMs, operation.endMs, own));
  };
  const step = (side: SideId, operation: Operation | null): void => {
    if (operation === null) return;
    const own = extent(side);
    if (settings().viewport !== null) show(reveal(viewport(own), operation.stage, operation.startMs, operation.endMs, own));
    pick(side, operation, null);
  };
  const move = (action: PageAction): void => {
    const side = settings().pass?.side ?? firstDrawn();
    const [of, operation, own] = [operations(side), picked(side), extent(side)];
    const around = operation === null ? null : (operation.startMs + operation.endMs) / 2;
    const moved = movedBy(action, viewport(own), own, around);
    const stage = Math.min(operation?.stage ?? markedStage() ?? 0, (of?.stages ?? 1) - 1);
    if (moved !== null) show(moved);
    else if (of === null) return;
    else if (action.do === 'step') step(side, operation === null ? edgeOperation(of, stage, 'first') : stepFrom(of, operation, action));
    else if (action.do === 'edge') step(side, edgeOperation(of, stage, action.end));
  };
  const act = (action: PageAction): void => {
    const { pass, viewport: zoomed } = settings();
    const operation = pass === null ? null : picked(pass.side);
    if (action.do === 'fitSelection' && pass !== null && operation !== null) zoomTo(pass.side, operation);
    else if (action.do === 'fitSelection' || action.do === 'fitAll') easeTo(null);
    else if (action.do !== 'back') move(action);
    else if (pass !== null) change({ pass: null });
    else if (zoomed !== null) easeTo(null);
  };
  return { show, easeTo, pick, zoomTo, act };
}

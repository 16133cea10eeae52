import { fullAnswer, type ComparisonAnswer } from '../../../src/features/compare/protocol';
import { operationAt, type Operation, type Operations } from '../../base/operations';
import { indexedTimeline, type Store } from '../../base/store';
import { clamp, fitAll, type Extent, type Viewport } from '../../base/viewport';
import { findCounterpart } from './counterpart';
import { comparisonSettings, type ComparisonViewSettings, type SideId } from './settings';
import { maximum } from '../../../src/core/numbers';

export const sides = ['a', 'b'] as const;
export const otherSide = { a: 'b', b: 'a' } as const;

/** The indexed timeline of a side; null where it has none. */
export function sideOperations(answer: ComparisonAnswer | null, side: SideId): Operations | null {
  const timeline = answer?.[side].timeline ?? null;
  return timeline === null ? null : indexedTimeline(timeline);
}

/** Whether a side of an answer has a timeline. */
export function isDrawn(answer: ComparisonAnswer): boolean {
  return sides.some((side) => sideOperations(answer, side) !== null);
}

/** The stage to look at first: the straggler, else where measured and predicted part; null where two plans are compared. */
export function tellingStage({ reported }: ComparisonAnswer): number | null {
  if (reported.kind === 'plan') return null;
  return reported.straggler ?? (reported.kind === 'trace' ? (reported.firstLate?.stage ?? null) : null);
}

/** The pass of a side at which a trace is first later than the error bar allows. */
export function partingPass(answer: ComparisonAnswer, side: SideId): Operation | null {
  const { reported } = answer;
  const [predicted, measured] = [sideOperations(answer, 'a'), sideOperations(answer, 'b')];
  if (reported.kind !== 'trace' || reported.firstLate === null || predicted === null || measured === null) return null;
  const late = operationAt(measured, reported.firstLate.row);
  return side === 'b' ? late : findCounterpart(late, measured, predicted);
}

/** What the lanes show of the page's state. */
export interface ComparedSides {
  readonly answer: () => ComparisonAnswer | null;
  readonly operations: (side: SideId) => Operations | null;
  readonly settings: () => ComparisonViewSettings;
  readonly change: (part: Partial<ComparisonViewSettings>) => void;
  /** Of the longer side. */
  readonly durationMs: () => number;
  /** Of the side with more stages. */
  readonly rows: () => number;
  readonly viewport: (extent: Extent) => Viewport;
  /** The pass that is picked, as it is on a side. */
  readonly picked: (side: SideId) => Operation | null;
  readonly markedStage: () => number | null;
  /** Sides with a timeline. */
  readonly drawn: () => SideId[];
}

export function comparedSides(store: Store): ComparedSides {
  const answer = (): ComparisonAnswer | null => fullAnswer(store.state().comparison);
  const operations = (side: SideId): Operations | null => sideOperations(answer(), side);
  const settings = (): ComparisonViewSettings => store.get(comparisonSettings);
  const most = (of: (each: Operations) => number, least: number): number =>
    Math.max(least, maximum(sides.flatMap((side) => operations(side) ?? []).map(of)));
  return {
    answer,
    operations,
    settings,
    change: (part) => store.set(comparisonSettings, { ...settings(), ...part }),
    durationMs: () => most(({ timeline }) => timeline.makespanMs, Number.MIN_VALUE),
    rows: () => most(({ stages }) => stages, 0),
    viewport: (extent) => {
      const { viewport } = settings();
      return viewport === null ? fitAll(extent) : clamp(viewport, extent);
    },
    picked: (side) => {
      const { pass } = settings();
      const [own, other] = [operations(side), operations(otherSide[side])];
      const of = pass === null ? null : operations(pass.side);
      const row = pass === null || of === null ? -1 : of.findRow(pass.chunk, pass.kind, pass.unit);
      if (pass === null || of === null || row < 0 || own === null) return null;
      const operation = operationAt(of, row);
      return pass.side === side || other === null ? operation : findCounterpart(operation, other, own);
    },
    markedStage: () => {
      const now = answer();
      return settings().stage ?? (now === null ? null : tellingStage(now));
    },
    drawn: () => sides.filter((side) => operations(side) !== null),
  };
}

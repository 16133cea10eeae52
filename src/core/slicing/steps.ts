import type { CancelSignal } from '../errors';
import { composeBatch, kindsUsed, type BatchProgram } from './batch-program';
import type { CutLowerBound, SliceRows } from './slice-rows';
import { cheapestCut, noCut, tokenScratch, type ChunkSlices, type TokenScratch } from './token-program';
import { maximum } from '../numbers';

/**
 * What is known of one threshold t. Where S(t) of eq. 7 for the whole batch is solved, it is the same for every threshold from `slowestMs`
 * to t, because the plan found keeps to both: a solved threshold is a whole step of the staircase.
 */
export interface Step {
  readonly limitMs: number;
  /** S(t), or less where it is not solved; `Infinity`: no plan that is looked for keeps to t. */
  readonly totalMs: number;
  readonly slowestMs: number;
  /** Per kind of chunk the cheapest cut, where `solved`; else something no dearer and of no more slices. */
  readonly cuts: readonly ChunkSlices[];
  readonly solved: readonly boolean[];
  readonly batch: BatchProgram;
}

/** Where a threshold lies: between two steps, and how much the slices of a plan that is looked for may add up to, ms. */
interface Bracket {
  readonly below: Step | null;
  readonly above: Step;
  readonly spareMs: number;
}

/** Solves thresholds over kinds of chunks; null ones are not used. */
export interface StepSolver {
  kinds: (SliceRows | null)[];
  /** The step at a threshold by what needs no program. */
  readonly lowerBound: (limitMs: number) => Step;
  /** What is known at a threshold below a step, again without a program. */
  readonly raised: (above: Step, limitMs: number) => Step;
  readonly solve: (limitMs: number, between: Bracket) => Step;
  /** Working memory that all kinds share. */
  readonly scratch: TokenScratch;
}

/** Relative slack for the rounding of shares of a sum. */
const shareSlack = 1e-12;

/**
 * Solves one threshold of the slowest slice after the other over the batch sizes `all`, for a batch of `sequences`. @throws CancelledError.
 */
export function stepSolver(all: readonly SliceRows[], sequences: number, signal: CancelSignal | undefined): StepSolver {
  const sizes = all.map((rows) => rows.sequences);
  const lowerBounds = all.map((rows) => rows.lowerBound);
  const scratch = tokenScratch(all[0]?.units ?? 0);
  const solver: StepSolver = {
    kinds: [...all],
    scratch,
    lowerBound: (limitMs) => {
      const cuts = solver.kinds.map((rows) => (rows === null ? noCut : { ...noCut, totalMs: 0, slices: 1, ...rows.lowerBound?.(limitMs) }));
      const batch = composeBatch(sequences, sizes, cuts);
      return { limitMs, totalMs: batch.totals[sequences] ?? Infinity, slowestMs: 0, cuts, solved: cuts.map(() => false), batch };
    },
    raised: (above, limitMs) => {
      const cuts = solver.kinds.map((rows, kind) =>
        rows === null ? noCut : raised(above.cuts[kind] ?? noCut, lowerBounds[kind]?.(limitMs)),
      );
      const solved = cuts.map((cut, kind) => cut === above.cuts[kind] && above.solved[kind] === true);
      const batch = composeBatch(sequences, sizes, cuts);
      return { limitMs, totalMs: batch.totals[sequences] ?? Infinity, slowestMs: 0, cuts, solved, batch };
    },
    solve: (limitMs, { below, above, spareMs }) => {
      const cuts = [...above.cuts];
      const solved = solver.kinds.map((rows, kind) => rows === null || hasSameCut(below, above, kind));
      solver.kinds.forEach((rows, kind) => {
        if (rows === null) cuts[kind] = noCut;
        else if (solved[kind] === true) cuts[kind] = below?.cuts[kind] ?? noCut;
        else cuts[kind] = raised(cuts[kind] ?? noCut, lowerBounds[kind]?.(limitMs));
      });
      // What a plan within the spare time can hold: no kind whose cuts are all too expensive for it.
      const usable = [...cuts];
      const tried = new Set<number>();
      const solveKind = (rows: SliceRows, kind: number, suffixMs: number): void => {
        const mostMs = spareMs - suffixMs;
        const shareMs = ((spareMs * (sizes[kind] ?? 1)) / sequences) * (1 + shareSlack);
        // If a plan this cheap exists, one of its chunks costs no more than its share: try that first, and the full allowance only if
        // needed.
        const isLast = tried.has(kind) || shareMs >= mostMs;
        const withinMs = rows.suffixCosts === undefined ? Infinity : isLast ? mostMs : shareMs;
        const cut = cheapestCut(rows, limitMs, scratch, signal, withinMs);
        tried.add(kind);
        solved[kind] = cut !== noCut || withinMs === Infinity;
        cuts[kind] = solved[kind] ? cut : raised(cuts[kind] ?? noCut, { totalMs: withinMs, slices: 1 });
        usable[kind] = isLast ? cut : (cuts[kind] ?? noCut);
      };
      // A kind that the cheapest composition does not use cannot improve it: its estimate is a lower bound already.
      for (;;) {
        const batch = composeBatch(sequences, sizes, usable);
        const totalMs = batch.totals[sequences] ?? Infinity;
        if (totalMs === Infinity || totalMs > spareMs) return { limitMs, totalMs: Infinity, slowestMs: 0, cuts, solved, batch };
        const used = new Set(kindsUsed(batch, sequences, sizes));
        if ([...used].every((kind) => solved[kind] === true)) {
          const slowestMs = maximum([...used].map((kind) => cuts[kind]?.slowestMs ?? 0));
          return { limitMs, totalMs, slowestMs, cuts, solved, batch };
        }
        // Those with a lower bound per sequence no dearer than the dearest one used will be used in turn.
        const perSequence = (kind: number): number => (usable[kind]?.totalMs ?? Infinity) / (sizes[kind] ?? 1);
        const dearest = maximum([...used].map(perSequence));
        solver.kinds.forEach((rows, kind) => {
          if (rows !== null && solved[kind] !== true && perSequence(kind) <= dearest)
            solveKind(rows, kind, batch.totals[sequences - rows.sequences] ?? Infinity);
        });
      }
    },
  };
  return solver;
}

/** The cut's estimate raised to the lower bound where that is higher; the cut itself is dropped then. */
function raised(cut: ChunkSlices, lowerBound: CutLowerBound | undefined): ChunkSlices {
  return lowerBound !== undefined && lowerBound.totalMs > cut.totalMs
    ? { ...noCut, totalMs: lowerBound.totalMs, slices: Math.max(cut.slices, lowerBound.slices) }
    : cut;
}

/** Whether the steps around a threshold agree on the cheapest cut of a kind. */
function hasSameCut(below: Step | null, above: Step, kind: number): boolean {
  const known = below?.cuts[kind];
  const least = above.cuts[kind];
  return below?.solved[kind] === true && known !== undefined && known.totalMs === least?.totalMs && known.slices === least.slices;
}

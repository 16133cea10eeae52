import { throwIfCancelled, type CancelSignal } from '../errors';
import { jointRows } from './one-scheme';
import { bestRound, type RoundsResult } from './rounds';
import { roundingSlack, type FoundScheme } from './search';
import { chunkSliceTimes, emptyRow, type SliceRows } from './slice-rows';

interface OneSchemeProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly weight: number;
  /** Most slices in a round. */
  readonly maximumSlices: number;
  /** Thresholds solved at most, over all sizes of chunks. */
  readonly maximumEvaluations: number;
  /** Labels of begun cuts at most, over all sizes of chunks. */
  readonly maximumLabels: number;
  /** Sizes of chunks that make up the batch, with a bound on what they take where nothing limits the slices. */
  readonly partitions: readonly { readonly sizes: readonly number[]; readonly boundMs: number }[];
}

/** A cut begun: the sum of its slices over all chunks, and the slowest of each size of chunk. */
interface Label {
  readonly totalMs: number;
  readonly peaks: Float64Array;
  readonly slices: number;
  readonly parent: Label | null;
  readonly end: number;
}

/** The best cut of some sizes of chunks: null where none is better than what is known. */
interface CutResult {
  readonly ends: Uint32Array | null;
  readonly boundMs: number;
  readonly evaluations: number;
  readonly labels: number;
}

/**
 * All chunks cut at the same tokens, in rounds of few slices. For given sizes of chunks and a cut into n slices a round holds as many
 * chunks as n goes into the limit, and the rounds take least where the slowest chunks are together (docs/model/slicing.md, One scheme for
 * all chunks).
 * @throws CancelledError
 */
export function solveOneSchemeRounds(problem: OneSchemeProblem, signal: CancelSignal | undefined): RoundsResult {
  let best: { readonly objectiveMs: number; readonly sizes: readonly number[]; readonly ends: Uint32Array } | null = null;
  let [boundMs, evaluations, labels] = [Infinity, 0, 0];
  for (const { sizes, boundMs: leastMs } of problem.partitions.toSorted((a, b) => a.boundMs - b.boundMs)) {
    throwIfCancelled(signal);
    const capMs = (best?.objectiveMs ?? Infinity) * (1 - roundingSlack);
    if (leastMs >= capMs) break;
    if (best !== null && evaluations >= problem.maximumEvaluations) {
      boundMs = Math.min(boundMs, leastMs);
      break;
    }
    const left = {
      evaluations: Math.max(2, problem.maximumEvaluations - evaluations),
      labels: Math.max(0, problem.maximumLabels - labels),
    };
    const found = bestCut(problem, sizes, capMs, left, signal);
    evaluations += found.evaluations;
    labels += found.labels;
    boundMs = Math.min(boundMs, Math.max(leastMs, found.boundMs));
    if (found.ends !== null) best = { objectiveMs: cutMs(problem, sizes, found.ends), sizes, ends: found.ends };
  }
  if (best === null) return { rounds: null, objectiveMs: Infinity, boundMs: Infinity, exact: true, evaluations };
  const { objectiveMs, sizes, ends } = best;
  boundMs = Math.min(boundMs, objectiveMs);
  const exact = boundMs >= objectiveMs * (1 - roundingSlack);
  return { rounds: asRounds(problem, sizes, ends), objectiveMs, boundMs, exact, evaluations };
}

/** The best cut for chunks of these sizes that takes less than `capMs`. */
function bestCut(
  problem: OneSchemeProblem,
  sizes: readonly number[],
  capMs: number,
  left: { readonly evaluations: number; readonly labels: number },
  signal: CancelSignal | undefined,
): CutResult {
  const { kinds, sequences, weight, maximumSlices } = problem;
  const joint = jointRows(kinds, sizes);
  const alike = new Set(sizes).size === 1;
  let [ends, bestMs, boundMs, evaluations]: [Uint32Array | null, number, number, number] = [null, capMs, Infinity, 0];
  for (const slices of roundLimits(sizes.length, Math.min(maximumSlices, joint.units), maximumSlices)) {
    const rounds = Math.ceil(sizes.length / Math.floor(maximumSlices / slices));
    // Every round as slow as the slowest chunk: the time itself where all have one size.
    const wanted = { kinds: [joint], maximumSlices: slices, maximumEvaluations: Math.max(2, left.evaluations - evaluations) };
    const found = bestRound({ ...wanted, weight: weight * rounds }, sequences, signal);
    evaluations += found.evaluations;
    if (alike) boundMs = Math.min(boundMs, found.boundMs);
    else {
      // The slowest chunk of a round takes no less than the mean of as many as a round may hold.
      const mean = { ...wanted, kinds: [summedPeaks(joint)], weight: weight / Math.floor(maximumSlices / slices) };
      const bounded = bestRound(mean, sequences, signal);
      evaluations += bounded.evaluations;
      boundMs = Math.min(boundMs, bounded.boundMs);
    }
    const own = found.plan?.chunks[0]?.ends;
    if (own === undefined) continue;
    const ms = cutMs(problem, sizes, own);
    if (ms < bestMs) [ends, bestMs] = [own, ms];
  }
  if (alike) return { ends, boundMs, evaluations, labels: 0 };
  if (boundMs >= bestMs * (1 - roundingSlack)) return { ends, boundMs, evaluations, labels: 0 };
  const better = searchCuts(problem, sizes, bestMs * (1 - roundingSlack), left.labels, signal);
  return { ends: better.ends ?? ends, boundMs: better.complete ? Infinity : boundMs, evaluations, labels: better.labels };
}

/** The same slices, with the time of all chunks together as the peak. */
function summedPeaks(joint: SliceRows): SliceRows {
  return {
    ...joint,
    read: (start, limitMs, row) => {
      joint.read(start, limitMs, row);
      row.peakMs = row.ms;
    },
  };
}

/** Of the numbers of slices that let as many chunks into a round the largest. */
function roundLimits(chunks: number, most: number, maximumSlices: number): number[] {
  const limits: number[] = [];
  for (let slices = most; slices >= 1;) {
    limits.push(slices);
    const together = Math.floor(maximumSlices / slices);
    if (together >= chunks) break;
    slices = Math.min(slices - 1, Math.floor(maximumSlices / (together + 1)));
  }
  return limits;
}

/** What the slowest slices of the rounds add up to at least: chunks by their slowest slice, in rounds of `together`. */
function slowestOfRounds(peaks: readonly number[], together: number): number {
  const sorted = peaks.toSorted((a, b) => b - a);
  return sorted.reduce((sum, ms, index) => (index % together === 0 ? sum + ms : sum), 0);
}

/** The slowest slice of every chunk. */
function chunkPeaks({ kinds }: OneSchemeProblem, sizes: readonly number[], ends: Uint32Array): number[] {
  return sizes.map((sequences) => chunkSliceTimes(kinds, [{ sequences, ends }]).reduce((most, ms) => Math.max(most, ms), 0));
}

function cutMs(problem: OneSchemeProblem, sizes: readonly number[], ends: Uint32Array): number {
  const { kinds, weight, maximumSlices } = problem;
  const totalMs = sizes.reduce(
    (sum, sequences) => sum + chunkSliceTimes(kinds, [{ sequences, ends }]).reduce((total, ms) => total + ms, 0),
    0,
  );
  const slowestMs = slowestOfRounds(chunkPeaks(problem, sizes, ends), Math.floor(maximumSlices / ends.length));
  return totalMs + (weight === 0 ? 0 : weight * slowestMs);
}

function asRounds(problem: OneSchemeProblem, sizes: readonly number[], ends: Uint32Array): FoundScheme['chunks'][] {
  const peaks = chunkPeaks(problem, sizes, ends);
  const sorted = sizes.map((sequences, index) => ({ sequences, ends, ms: peaks[index] ?? 0 })).sort((a, b) => b.ms - a.ms);
  const together = Math.floor(problem.maximumSlices / ends.length);
  return Array.from({ length: Math.ceil(sizes.length / together) }, (_, round) =>
    sorted.slice(round * together, (round + 1) * together).map((chunk) => ({ sequences: chunk.sequences, ends })),
  );
}

/**
 * The best cut of chunks of several sizes that takes less than `capMs`: a label for every begun cut that no other with as many slices or
 * fewer beats in the sum and in the slowest slice of every size.
 */
function searchCuts(
  { kinds, weight, maximumSlices }: OneSchemeProblem,
  sizes: readonly number[],
  capMs: number,
  maximumLabels: number,
  signal: CancelSignal | undefined,
): { readonly ends: Uint32Array | null; readonly complete: boolean; readonly labels: number } {
  const joint = jointRows(kinds, sizes);
  const { units } = joint;
  const distinct = [...new Set(sizes)];
  const counts = distinct.map((size) => sizes.filter((each) => each === size).length);
  const sizeAt = sizes.map((size) => distinct.indexOf(size));
  const suffixes = cheapestFrom(joint);
  const leastMs = (label: Label, restMs: number, slices: number): number => {
    const slowestMs = slowestOfRounds(
      sizeAt.map((at) => label.peaks[at] ?? 0),
      Math.floor(maximumSlices / slices),
    );
    return label.totalMs + restMs + (weight === 0 ? 0 : weight * slowestMs);
  };
  const at: Label[][] = Array.from({ length: units + 1 }, () => []);
  at[0] = [{ totalMs: 0, peaks: new Float64Array(distinct.length), slices: 0, parent: null, end: 0 }];
  const rows = distinct.map(() => emptyRow());
  let made = 0;
  let [best, bestMs]: [Label | null, number] = [null, capMs];
  for (let start = 0; start < units; start++) {
    throwIfCancelled(signal);
    const labels = at[start] ?? [];
    if (labels.length === 0) continue;
    distinct.forEach((size, index) => {
      const row = rows[index];
      if (row !== undefined) kinds[size - 1]?.read(start, Infinity, row);
    });
    for (let end = start + 1; end <= units; end++) {
      const times = rows.map((row) => row.ms[row.offset + end - start - 1] ?? Infinity);
      const ms = times.reduce((sum, each, index) => sum + (counts[index] ?? 0) * each, 0);
      const restMs = suffixes[end] ?? Infinity;
      if (ms === Infinity || restMs === Infinity) continue;
      for (const parent of labels) {
        const needed = parent.slices + (end === units ? 1 : 2);
        if (needed > maximumSlices) continue;
        if (++made > maximumLabels) return { ends: traced(best), complete: false, labels: made };
        const peaks = parent.peaks.map((peak, index) => Math.max(peak, times[index] ?? 0));
        const label = { totalMs: parent.totalMs + ms, peaks, slices: parent.slices + 1, parent, end };
        const least = leastMs(label, restMs, needed);
        if (least >= bestMs) continue;
        if (end === units) [best, bestMs] = [label, least];
        else keep(at[end] ?? [], label);
      }
    }
  }
  return { ends: traced(best), complete: true, labels: made };
}

/** The cheapest rest of the sequence from every unit, ms. */
function cheapestFrom(joint: SliceRows): Float64Array {
  const { units } = joint;
  const totals = new Float64Array(units + 1).fill(Infinity);
  totals[units] = 0;
  const row = emptyRow();
  for (let start = units - 1; start >= 0; start--) {
    joint.read(start, Infinity, row);
    for (let index = 0; index < row.length; index++)
      totals[start] = Math.min(
        totals[start] ?? Infinity,
        (row.ms[row.offset + index] ?? Infinity) + (totals[start + 1 + index] ?? Infinity),
      );
  }
  return totals;
}

/** Adds a label unless another is as good in all; drops those that it makes needless. */
function keep(labels: Label[], label: Label): void {
  const noWorse = (one: Label, other: Label): boolean =>
    one.totalMs <= other.totalMs && one.slices <= other.slices && one.peaks.every((ms, index) => ms <= (other.peaks[index] ?? 0));
  for (let index = labels.length - 1; index >= 0; index--) {
    const other = labels[index];
    if (other === undefined) continue;
    if (noWorse(other, label)) return;
    if (noWorse(label, other)) labels.splice(index, 1);
  }
  labels.push(label);
}

function traced(label: Label | null): Uint32Array | null {
  if (label === null) return null;
  const ends: number[] = [];
  for (let at = label; at.parent !== null; at = at.parent) ends.push(at.end);
  return Uint32Array.from(ends.reverse());
}

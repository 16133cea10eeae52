import { profileUncertainty, type Domain } from './uncertainty';
import { formatNumber } from '../format';
import { median, randomNumbers } from '../numbers';
import type { Cell, FitError, Sample, SkippedCell } from '../domain/profile';

/** Rounds of a cell, at least and at most. */
const minimumRounds = 4;
const maximumRounds = 16;
/** Relative error of a cell's time that is small compared with the 2 % that a fit is allowed. */
const settledError = 0.004;

/** Mean hold-out error that ends the measuring: TeraPipe's own (section 3.4). */
const accuratePercent = 2;
const fewestHoldOut = 8;
const holdOutCells = 12;

const tableLengths = 11;
/**
 * With fewer possible lengths than this none of them is held out without context: the table could never have it, and a step there would
 * stay hidden.
 */
const lengthsToSpare = 48;
/** More lengths or contexts than this are not weighed against each other. */
const mostLengths = 64;
const mostContexts = 24;

/** The longest and the shortest the times of one reference cell may grow apart before a warning. */
const driftLimit = 1.05;
const noiseLimit = 1.1;
const fewestForNoise = 6;

/**
 * Cells to start with. `fit`: the table (about 11 lengths, doubling from the unit, then even, up to the longest slice), corners of (tokens,
 * context), a few batches. `holdOut`: 12 cells drawn by `seed`, one in each stratum of length (half of them even, half geometric) and of
 * context, at lengths between those of the table where there are any. All distinct, slices within `domain.tokens`, context + tokens within
 * `domain.sequence`.
 */
export function firstCells(domain: Domain, seed: number): { readonly fit: readonly Cell[]; readonly holdOut: readonly Cell[] } {
  const lengths = firstLengths(domain);
  const fit = distinct([
    ...lengths.map((tokens) => ({ batch: 1, tokens, context: 0 })),
    ...cornerCells(domain, lengths),
    ...batchCells(domain),
  ]);
  return { fit, holdOut: drawnCells(domain, lengths, fit, seed) };
}

function firstLengths({ tokens, unit }: Domain): number[] {
  const doubling: number[] = [];
  for (let length = unit; length < tokens / 6; length *= 2) doubling.push(length);
  const even = Math.max(2, tableLengths - doubling.length);
  const start = doubling.at(-1) ?? 0;
  const rest = Array.from({ length: even }, (_, i) => snapped(unit, start + ((tokens - start) * (i + 1)) / even));
  return ascending([unit, ...doubling, ...rest, tokens].filter((length) => length >= 1 && length <= tokens));
}

/** Corners of the triangle tokens + context <= sequence, and the middle of its sides, at lengths of the table. */
function cornerCells({ unit, sequence }: Domain, lengths: readonly number[]): Cell[] {
  const pick = (share: number): number => lengths[Math.round(share * (lengths.length - 1))] ?? unit;
  const corners = [
    [pick(0.1), 1],
    [pick(0.1), 0.3],
    [pick(0.5), 1],
    [pick(0.5), 0.3],
    [pick(0.8), 1],
    [pick(1), 1],
  ] as const;
  return corners
    .map(([tokens, share]) => ({ batch: 1, tokens, context: below(unit, share * (sequence - tokens)) }))
    .filter(({ context }) => context > 0);
}

/**
 * For each batch size as many rows as one long slice has, which determines the square term; once twice as many, which carries the table on.
 */
function batchCells({ tokens, unit, batches }: Domain): Cell[] {
  const several = batches.filter((batch) => batch > 1);
  const equalRows = several.map((batch) => ({ batch, tokens: below(unit, tokens / batch), context: 0 })).filter((cell) => cell.tokens > 0);
  return [...equalRows, ...several.slice(0, 1).map((batch) => ({ batch, tokens, context: 0 }))];
}

function drawnCells(domain: Domain, tableTokens: readonly number[], fit: readonly Cell[], seed: number): Cell[] {
  const { tokens, sequence, unit, batches } = domain;
  const random = randomNumbers(seed);
  const strata = Array.from({ length: holdOutCells }, (_, i) => i);
  const contextStratum = shuffled(strata, seed + 1);
  const drawn: Cell[] = [];
  const taken = new Set(fit.map(cellKey));
  for (let attempt = 0; attempt < 20 * holdOutCells && drawn.length < holdOutCells; attempt++) {
    const i = attempt % holdOutCells;
    const share = (i + random()) / holdOutCells;
    const length = snapped(unit, i % 2 === 0 ? share * tokens : unit * (tokens / unit) ** share);
    const batch = i === holdOutCells - 2 ? (batches[1] ?? 1) : 1;
    const context = below(unit, (((contextStratum[i] ?? 0) + random()) / holdOutCells) * (sequence - length));
    const least = tokens / unit < lengthsToSpare ? Math.min(unit, sequence - length) : 0;
    const cell = { batch, tokens: Math.min(length, tokens), context: contextStratum[i] === 0 ? least : Math.max(least, context) };
    const onTable = tableTokens.includes(cell.tokens) && (cell.context === 0 || attempt < 5 * holdOutCells);
    if (onTable || cell.tokens + cell.context > sequence || taken.has(cellKey(cell))) continue;
    taken.add(cellKey(cell));
    drawn.push(cell);
  }
  return drawn;
}

/**
 * Up to `count` cells where the fit to `samples` is least sure, forward and backward together, as `profileUncertainty` explains: missing
 * lengths of the table, and contexts and batches at lengths of the table (elsewhere the table's own error would stain the terms). After
 * each choice the uncertainty is that of the cell measured, so that the cells of one call do not crowd. Never a measured, held-out or
 * skipped cell, nor one that dominates a cell that ran out of memory. Empty when there is nothing left. Before there is a fit: what is left
 * of the first cells.
 */
export function nextCells(domain: Domain, samples: readonly Sample[], skipped: readonly Cell[], count: number): Cell[] {
  const unavailable = new Set([...samples, ...skipped].map(cellKey));
  const uncertainty = profileUncertainty(domain, samples);
  if (uncertainty === null)
    return firstCells(domain, 0)
      .fit.filter((cell) => !unavailable.has(cellKey(cell)))
      .slice(0, count);
  const table = new Set(
    samples.filter(({ batch, context, holdOut }) => batch === 1 && context === 0 && !holdOut).map(({ tokens }) => tokens),
  );
  const used = samples.filter(({ holdOut }) => !holdOut);
  const chosen: Cell[] = [];
  while (chosen.length < count) {
    let best: { readonly cell: Cell; readonly score: number } | null = null;
    for (const cell of candidates(domain, table)) {
      if (unavailable.has(cellKey(cell)) || runsOut(skipped, cell) || crowds(domain, [...used, ...chosen], cell)) continue;
      const score = Math.max(uncertainty.ofTerms(cell), cell.context === 0 ? uncertainty.ofTable(cell) : 0);
      if (score > (best?.score ?? 0)) best = { cell, score };
    }
    if (best === null) break;
    chosen.push(best.cell);
    unavailable.add(cellKey(best.cell));
    uncertainty.measure(best.cell);
    if (best.cell.batch === 1 && best.cell.context === 0) table.add(best.cell.tokens);
  }
  return chosen;
}

function candidates({ tokens, sequence, unit, batches }: Domain, table: ReadonlySet<number>): Cell[] {
  const lengths = spread(Math.floor(tokens / unit), mostLengths).map((units) => units * unit);
  const cells = lengths.filter((length) => !table.has(length)).map((length): Cell => ({ batch: 1, tokens: length, context: 0 }));
  for (const length of table) {
    const contexts = spread(Math.floor((sequence - length) / unit), mostContexts).map((units) => units * unit);
    for (const context of contexts) cells.push({ batch: 1, tokens: length, context });
    for (const batch of batches) if (batch > 1) cells.push({ batch, tokens: length, context: 0 });
  }
  return cells;
}

/**
 * Contexts of one length closer than this part of the sequence carry the same information: short slices, whose times scatter most, would
 * otherwise be asked for again and again.
 */
const crowdedShare = 1 / 8;

function crowds({ sequence }: Domain, measured: readonly Cell[], { batch, tokens, context }: Cell): boolean {
  return (
    context > 0 &&
    measured.some(
      (other) =>
        other.batch === batch &&
        other.tokens === tokens &&
        other.context > 0 &&
        Math.abs(other.context - context) < crowdedShare * sequence,
    )
  );
}

/** What needs at least the batch, tokens and context of a cell that did not fit memory does not fit either. */
function runsOut(skipped: readonly Cell[], cell: Cell): boolean {
  return skipped.some(
    (other) =>
      (other as Partial<SkippedCell>).reason === 'out-of-memory' &&
      cell.batch >= other.batch &&
      cell.tokens >= other.tokens &&
      cell.context >= other.context,
  );
}

/**
 * The time of a cell: the mean of the faster half of its rounds, rounded up. Noise only slows a run down, so the slower half depends more
 * on the machine than on the slice. A mean scatters less than the minimum, which one lucky round decides: 16 rounds of 31 cells on a
 * shared two-core machine left a mean hold-out error of 0.9 and 1.1 % where the minimum left 1.3 and 1.7 %.
 */
export function cellMs(timesMs: readonly number[]): number {
  const half = fasterHalf(timesMs);
  return half.reduce((sum, ms) => sum + ms, 0) / half.length;
}

function fasterHalf(timesMs: readonly number[]): number[] {
  return [...timesMs].sort((a, b) => a - b).slice(0, Math.ceil(timesMs.length / 2));
}

/**
 * Whether a cell needs no more rounds: the standard error of the mean of its faster half is under 0.4 % after at least four rounds, or
 * there are sixteen.
 */
export function isSettled(timesMs: readonly number[]): boolean {
  if (timesMs.length >= maximumRounds) return true;
  if (timesMs.length < minimumRounds) return false;
  const mean = cellMs(timesMs);
  const half = fasterHalf(timesMs);
  const squares = half.reduce((sum, ms) => sum + (ms / mean - 1) ** 2, 0);
  return Math.sqrt(squares / (half.length - 1) / half.length) <= settledError;
}

/**
 * Warnings about the machine from a reference cell that runs once each round: drift (minimum of the last third more than 5 % over that of
 * the first: clocks fell as it warmed) and noise (median more than 10 % over the minimum: something else ran). None for fewer than six
 * times.
 */
export function noiseWarnings(referenceMs: readonly number[]): string[] {
  if (referenceMs.length < fewestForNoise) return [];
  const least = (times: readonly number[]): number => times.reduce((a, b) => Math.min(a, b));
  const third = Math.floor(referenceMs.length / 3);
  const drift = least(referenceMs.slice(-third)) / least(referenceMs.slice(0, third));
  const noise = median(referenceMs) / least(referenceMs);
  const percent = (ratio: number): string => `${formatNumber(100 * (ratio - 1))} %`;
  return [
    ...(drift > driftLimit
      ? [`The same slice took ${percent(drift)} longer at the end than at the start: the device slowed down, as when it gets warm`]
      : []),
    ...(noise > noiseLimit
      ? [
          `The same slice usually took ${percent(noise)} longer than at best: something else used the device; times are those of the faster half of the rounds`,
        ]
      : []),
  ];
}

/** What `stopReason` decides on. */
interface Progress {
  readonly errors: { readonly forward: FitError; readonly backward: FitError } | null;
  /** Of the layer. */
  readonly samples: readonly Sample[];
  /** Part of the time budget that is used up, 0 to 1 and more. */
  readonly spent: number;
}

/**
 * Why to stop measuring: `accurate` when the mean hold-out error is under 2 % forward and backward on at least eight cells that each ran at
 * least four times, `budget` when the time is up;
 * null to go on.
 */
export function stopReason({ errors, samples, spent }: Progress): 'accurate' | 'budget' | null {
  const judged = samples.filter(({ holdOut, rounds }) => holdOut && rounds >= minimumRounds).length;
  const accurate =
    errors !== null &&
    [errors.forward, errors.backward].every(({ meanPercent, method }) => method === 'hold-out' && meanPercent < accuratePercent);
  if (accurate && judged >= fewestHoldOut) return 'accurate';
  return spent >= 1 ? 'budget' : null;
}

/** `items` in an order drawn by `seed` (Fisher-Yates): one round over the cells, so that each round meets them differently. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = randomNumbers(seed);
  const left = [...items];
  return items.flatMap(() => left.splice(Math.floor(random() * left.length), 1));
}

/** The multiple of `unit` that is nearest, at least one. */
export function snapped(unit: number, tokens: number): number {
  return Math.max(unit, unit * Math.round(tokens / unit));
}

/** The largest multiple of `unit` that is not larger. */
function below(unit: number, tokens: number): number {
  return unit * Math.floor(tokens / unit);
}

/** 1 to `last`; when those are more than `most`, as many of them, evenly. */
function spread(last: number, most: number): number[] {
  const count = Math.max(0, Math.min(last, most));
  return Array.from({ length: count }, (_, i) => Math.round(((i + 1) * last) / count));
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

function distinct(cells: readonly Cell[]): Cell[] {
  return [...new Map(cells.map((cell) => [cellKey(cell), cell])).values()];
}

function cellKey({ batch, tokens, context }: Cell): string {
  return `${batch},${tokens},${context}`;
}

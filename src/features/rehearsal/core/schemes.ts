import { ExpectedError } from '../../../core/errors';
import { lowMedian, maximum, minimum } from '../../../core/numbers';
import { generateSchedule, toScheduleProblem, scheduleKind } from '../../../core/schedules/registry';
import { operationKind, type Schedule } from '../../../core/schedules/schedule';
import { uniformLengths } from '../../../core/slicing/baselines';
import { equalWorkLengths, forwardWork } from '../../../core/slicing/chunk-rules';
import { solveSlicing } from '../../../core/slicing/solve';
import type { Cell } from '../../../core/domain/profile';
import type { Scheme } from '../../../core/domain/scheme';
import type { RehearsalDesign } from './design';
import type { GradientError } from './gradient-error';
import type { CellTime } from './result';
import { counted, sentence } from '../../../core/sentence';

/** Units that a sequence is cut into: so few that each cell can be timed. */
const units = 8;

/** A cut of the sequence that is run. */
interface NamedScheme {
  readonly name: string;
  readonly tokens: readonly number[];
  readonly schedule: Schedule;
}

/** A cut with what it took, ms. */
interface MeasuredScheme extends NamedScheme {
  readonly predictedMs: number;
  readonly stepMs: readonly number[];
  /** The same had passes not waited for the processor: their own work on the schedule's clock. */
  readonly workedStepMs: readonly number[];
  /** What passes waited for the processor, as a share of their time: the most of all steps. */
  readonly waitedShare: number;
  readonly gradients: GradientError | null;
}

/** Cuts in the order of their predictions. */
export interface RankedSchemes {
  readonly schemes: readonly (MeasuredScheme & {
    /** Medians. */
    readonly measuredMs: number;
    readonly workedMs: number;
  })[];
  /** Spearman's rank correlation of predicted and measured times. */
  readonly rankCorrelation: number;
  /** What steps of one cut differ by, as a share of their median: the largest of all cuts. Below it an order means nothing. */
  readonly noise: number;
  /** Pairs of cuts that are further apart than the noise, and those of them that are in the predicted order. */
  readonly pairs: OrderedPairs;
  /** What passes waited for the processor, as a share of their time: the most of all steps. */
  readonly waitedShare: number;
  /** The same of times without that. */
  readonly worked: { readonly rankCorrelation: number; readonly noise: number; readonly pairs: OrderedPairs };
}

interface OrderedPairs {
  readonly apart: number;
  readonly right: number;
}

/** Every slice that a cut at multiples of the unit can have. */
export function gridCells({ tokens }: RehearsalDesign): Cell[] {
  const unit = unitLength(tokens);
  const cells: Cell[] = [];
  for (let context = 0; context < tokens; context += unit)
    for (let end = context + unit; end <= tokens; end += unit) cells.push({ batch: 1, tokens: end - context, context });
  return cells;
}

function unitLength(tokens: number): number {
  if (tokens % units !== 0)
    throw new ExpectedError(
      'rehearsal-unsliced',
      sentence`Sequences of ${counted(tokens, 'token')} cannot be cut into ${units} equal units`,
      sentence`rehearse sequences of a multiple of ${units} tokens (--sequence)`,
    );
  return tokens / units;
}

/**
 * The whole sequence, in halves, in quarters, as the dynamic program cuts it for these times, and in as many slices of equal work; those
 * that are the same together.
 * @throws ExpectedError `rehearsal-unsliced`; Error where a cell of the grid was not timed.
 */
export function schemesToRank(design: RehearsalDesign, cellTime: CellTime): NamedScheme[] {
  const { schedule, tokens, batch, shape, layers } = design;
  if (!scheduleKind(schedule.name).slices)
    throw new ExpectedError(
      'rehearsal-unsliced',
      sentence`${schedule.name} runs whole sequences, not token slices`,
      sentence`rehearse the schemes of TeraPipe or Seq1F1B (--set schedule=TeraPipe)`,
    );
  const unit = unitLength(tokens);
  const chunks = [...schedule.stageOfChunk.keys()];
  const passMs = (chunk: number, cell: Cell): number =>
    (cellTime(chunk, cell, operationKind.forward) ?? Infinity) + (cellTime(chunk, cell, operationKind.backward) ?? Infinity);
  const solution = solveSlicing({
    batch,
    tokens,
    unit,
    stages: schedule.stages,
    maximumBatchSlice: 1,
    oneScheme: true,
    cost: (sequences, length, context) => maximum(chunks.map((chunk) => passMs(chunk, { batch: sequences, tokens: length, context }))),
  });
  const solved = solution.scheme[0]?.tokens ?? [tokens];
  const equalWork = equalWorkLengths(tokens, Math.max(3, solved.length), unit, forwardWork({ ...shape, layers }));
  const cuts: (readonly [string, readonly number[]])[] = [
    ['whole sequences', [tokens]],
    ['2 equal slices', uniformLengths(tokens, unit, 2)],
    ['4 equal slices', uniformLengths(tokens, unit, 4)],
    ["the dynamic program's", solved],
    ...(equalWork === null ? [] : [['slices of equal work', equalWork] as const]),
  ];
  const different = new Map<string, readonly [string, readonly number[]]>();
  for (const [name, lengths] of cuts) {
    const same = different.get(lengths.join());
    different.set(lengths.join(), [same === undefined ? name : `${same[0]}, ${name}`, lengths]);
  }
  return [...different.values()].map(([name, lengths]) => {
    const scheme: Scheme = Array.from({ length: batch }, () => ({ batch: 1, tokens: lengths }));
    return {
      name,
      tokens: lengths,
      schedule: generateSchedule(schedule.name, toScheduleProblem(scheme, schedule.stages, chunks.length / schedule.stages)),
    };
  });
}

/** Orders cuts by their predictions, and by what was measured. */
export function rankedSchemes(schemes: readonly MeasuredScheme[]): RankedSchemes {
  const ranked = schemes
    .map((scheme) => ({ ...scheme, measuredMs: lowMedian(scheme.stepMs), workedMs: lowMedian(scheme.workedStepMs) }))
    .sort((a, b) => a.predictedMs - b.predictedMs);
  return {
    schemes: ranked,
    waitedShare: maximum(ranked.map(({ waitedShare }) => waitedShare)),
    ...rankSchemes(ranked.map(({ predictedMs, stepMs }) => ({ predictedMs, stepMs }))),
    worked: rankSchemes(ranked.map(({ predictedMs, workedStepMs }) => ({ predictedMs, stepMs: workedStepMs }))),
  };
}

/** @param cuts in the order of their predictions. */
function rankSchemes(cuts: readonly Pick<MeasuredScheme, 'predictedMs' | 'stepMs'>[]): RankedSchemes['worked'] {
  const measured = cuts.map(({ stepMs }) => lowMedian(stepMs));
  const noise = maximum(cuts.map(({ stepMs }, at) => (maximum(stepMs) - minimum(stepMs)) / (measured[at] ?? NaN)));
  let [apart, right] = [0, 0];
  for (const [at, slower] of measured.entries())
    for (const faster of measured.slice(0, at)) {
      if (Math.abs(slower - faster) <= noise * Math.min(slower, faster)) continue;
      apart += 1;
      if (faster < slower) right += 1;
    }
  const predicted = cuts.map(({ predictedMs }) => predictedMs);
  return { rankCorrelation: rankCorrelation(predicted, measured), noise, pairs: { apart, right } };
}

/** Spearman's, of values without ties: 1 for the same order, -1 for the opposite; 1 of fewer than two. */
function rankCorrelation(a: readonly number[], b: readonly number[]): number {
  if (a.length < 2) return 1;
  const ranks = (values: readonly number[]): number[] => {
    const sorted = values.toSorted((x, y) => x - y);
    return values.map((value) => sorted.indexOf(value));
  };
  const [ofA, ofB] = [ranks(a), ranks(b)];
  const squares = ofA.reduce((sum, rank, index) => sum + (rank - (ofB[index] ?? 0)) ** 2, 0);
  return 1 - (6 * squares) / (a.length * (a.length ** 2 - 1));
}

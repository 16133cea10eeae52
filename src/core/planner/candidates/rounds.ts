import { throwIfCancelled } from '../../errors';
import { fitsOn } from '../../partition/chunk-order';
import type { PlanRequest } from '../../domain/request';
import type { Scheme } from '../../domain/scheme';
import { counted, sentence, type Sentence } from '../../sentence';
import type { Pipeline } from '../predict/pipeline';
import type { CandidateSpec } from '../predict/predict';
import { bestSlices, type BestSlices, type SlicingListener } from './terapipe-slices';
import { maximum } from '../../numbers';

/** Every number of sequences up to this many is a round that is tried; of more, only even splits of the batch. */
const mostSizes = 8;
/** Sums of the same times in another order differ by less than this share. */
const rounding = 1e-12;

/** Sequences that go through the pipeline together, cut as is best for this many. */
interface Round {
  readonly sequences: number;
  readonly best: BestSlices;
}

/**
 * TeraPipe's slices in rounds, for a batch whose sequences do not fit memory all at once: every round fills and drains the pipeline
 * (gradient accumulation, appendix of the paper), and holds as many sequences as fit. For each number of sequences that fits the best cut
 * is solved for, and the batch is composed of the rounds that take least together: a round begins on the first stage when that has ended
 * the round before, so their times add up (docs/model/slicing.md, Slices in flight). Null where the batch is one sequence, where not even
 * one fits, or where all of them do.
 *
 * @param whole how the batch is best cut at once. @throws CancelledError.
 */
export function roundsSpec(
  request: PlanRequest,
  pipeline: Pipeline,
  batch: number,
  whole: CandidateSpec,
  listener: Pick<SlicingListener, 'signal'>,
): CandidateSpec | null {
  const most = mostTogether(pipeline, batch, whole.scheme);
  if (most === 0 || most >= batch) return null;
  const rounds = roundSizes(batch, most).flatMap((sequences): Round[] => {
    throwIfCancelled(listener.signal);
    const best = bestSlices(request, pipeline, sequences, listener);
    return best.fits ? [{ sequences, best }] : [];
  });
  const chosen = cheapest(rounds, batch);
  if (chosen === null) return null;
  const optimumMs = sumOver(chosen, ({ best }) => best.certificate.optimumMs);
  const largest = maximum(rounds.map(({ sequences }) => sequences));
  const isWhole = rounds.length === largest;
  // At once is a bound as well: it fills and drains once.
  const boundMs = isWhole ? roundsBound(rounds, batch) : 0;
  return {
    id: 'rounds',
    name: sentence`TeraPipe, ${counted(chosen.length, 'round')}`,
    kind: pipeline.schedules.TeraPipe,
    scheme: joinRounds(chosen),
    certificate: {
      ...(whole.certificate ?? chosen[0]?.best.certificate ?? noCertificate),
      optimumMs,
      lowerBoundMs: Math.min(optimumMs, Math.max(boundMs, whole.certificate?.lowerBoundMs ?? 0)),
      evaluations: rounds.reduce((sum, { best }) => sum + best.certificate.evaluations, 0),
      note: roundsNote(chosen, largest),
    },
  };
}

const noCertificate = { judgedBy: 'simulation', cuts: [] } as const;

function roundsNote(chosen: readonly Round[], largest: number): Sentence {
  const [first] = chosen;
  const limit = sentence`rounds of at most ${counted(largest, 'sequence')}, as more do not fit memory at once`;
  return first === undefined ? limit : sentence`${limit}; of each round: ${first.best.certificate.note}`;
}

/** Most sequences that fit together in equal chunks, cut as the whole batch is. */
function mostTogether(pipeline: Pipeline, batch: number, scheme: Scheme): number {
  const chunks = pipeline.chunksOn(pipeline.schedules.TeraPipe);
  const tokens = scheme.reduce<readonly number[]>((most, chunk) => (chunk.tokens.length > most.length ? chunk.tokens : most), []);
  const fits = (sequences: number): boolean =>
    fitsOn(
      chunks,
      Array.from({ length: sequences }, () => ({ batch: 1, tokens })),
      pipeline.gpuMemory,
    );
  let [fitting, over] = [0, batch + 1];
  while (over - fitting > 1) {
    const middle = (fitting + over) >> 1;
    if (fits(middle)) fitting = middle;
    else over = middle;
  }
  return Math.min(fitting, batch - 1);
}

/** Round sizes to try: every size up to `mostSizes`; for larger rounds, even splits of the batch into as few rounds as fit and one more. */
function roundSizes(batch: number, most: number): readonly number[] {
  if (most <= mostSizes) return Array.from({ length: most }, (_, index) => index + 1);
  const fewest = Math.ceil(batch / most);
  const evenSplits = [fewest, fewest + 1].flatMap((rounds) => [Math.floor(batch / rounds), Math.ceil(batch / rounds)]);
  return [...new Set([most, batch % most, ...evenSplits])].filter((size) => size > 0);
}

/** The rounds that make up the batch in the least time; null where none do. */
function cheapest(rounds: readonly Round[], batch: number): readonly Round[] | null {
  const best = new Float64Array(batch + 1).fill(Infinity);
  const last: (Round | undefined)[] = [];
  best[0] = 0;
  for (let done = 1; done <= batch; done++)
    for (const round of rounds.filter(({ sequences }) => sequences <= done)) {
      const ms = (best[done - round.sequences] ?? Infinity) + round.best.pipelineMs;
      if (ms >= (best[done] ?? 0) * (1 - rounding) && !(best[done] === Infinity && ms < Infinity)) continue;
      best[done] = ms;
      last[done] = round;
    }
  if (best[batch] === Infinity) return null;
  const chosen: Round[] = [];
  for (let left = batch; left > 0;) {
    const round = last[left];
    if (round === undefined) return null;
    chosen.push(round);
    left -= round.sequences;
  }
  return chosen.sort((a, b) => b.sequences - a.sequences);
}

/** Least sum of the bounds of rounds that make up the batch, ms. */
function roundsBound(rounds: readonly Round[], batch: number): number {
  const least = new Float64Array(batch + 1).fill(Infinity);
  least[0] = 0;
  for (let done = 1; done <= batch; done++)
    for (const { sequences, best } of rounds)
      if (sequences <= done)
        least[done] = Math.min(least[done] ?? 0, (least[done - sequences] ?? Infinity) + best.certificate.lowerBoundMs);
  return least[batch] ?? 0;
}

function sumOver(rounds: readonly Round[], of: (round: Round) => number): number {
  return rounds.reduce((sum, round) => sum + of(round), 0);
}

function joinRounds(rounds: readonly Round[]): Scheme {
  return rounds.flatMap(({ best: { scheme } }, index) =>
    scheme.map((chunk, at) => (at === scheme.length - 1 && index < rounds.length - 1 ? { ...chunk, endsRound: true as const } : chunk)),
  );
}

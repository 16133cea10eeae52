import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import { greatestCommonDivisor, sum } from '../../numbers';
import { scheduleOn, runsVirtualStages } from '../../schedules/on-layout';
import { namedSchedules } from '../../domain/schedule-names';
import { countOf } from '../../launchers/counts';
import { dataParallelSize } from '../../launchers/layout-sizes';
import { runFormats } from '../formats';
import { many, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/** What only a terapipe.json can express: its schedule, its slices, its GPU. */
export const runRules: readonly Rule[] = [
  {
    code: 'schedule-virtual-stages',
    severity: 'error',
    formats: runFormats,
    check: chunksOfSchedule,
  },
  {
    code: 'scheme-mismatch',
    severity: 'error',
    formats: runFormats,
    check: schemeOfBatch,
  },
  {
    code: 'sequence-unit',
    severity: 'information',
    formats: runFormats,
    check: unitOfSequence,
  },
  {
    code: 'precision-slow',
    severity: 'warning',
    formats: runFormats,
    check: slowPrecision,
  },
];

/**
 * A schedule whose number of chunks on each stage is fixed, and another one asked for.
 *
 * @finding schedule-virtual-stages
 * The schedule has another number of chunks on each stage than `layout.virtualStages`: one in TeraPipe, GPipe, kFkB, BPipe, ZB-H1, ZB-H2
 * and ZeroBubble, two in ZBVZeroBubble, DualPipeV and ZeroBubbleV. 1F1B, Seq1F1B, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, GIS,
 * PO-H and PO-F run any number. Choose the schedule's number, or another schedule.
 * @source [docs/model/schedules.md](model/schedules.md): what each schedule is.
 * @ignore never: the plan is of another schedule then.
 */
function chunksOfSchedule({ facts }: ConfigView): Issue | null {
  const schedule = namedSchedules.find((name) => name === facts.schedule?.value);
  const virtualStages = countOf(facts, 'virtualStages') ?? 1;
  if (schedule === undefined) return null;
  const kind = scheduleOn(schedule, { virtualStages });
  if (kind.chunksPerStage === 'several' || runsVirtualStages(kind, virtualStages)) return null;
  const { chunksPerStage } = kind;
  return {
    at: ['virtualStages'],
    message: sentence`${schedule} has ${many(chunksPerStage, 'virtual stage')} on each stage, not ${formatNumber(virtualStages)}`,
    remedy: sentence`use ${many(chunksPerStage, 'virtual stage')}, or another schedule`,
    remedySuffix: sentence`, or another schedule`,
    changes: setTo('virtualStages', [chunksPerStage]),
  };
}

/**
 * @finding scheme-mismatch
 * `slicing.scheme` must cover every sequence of a replica once and each from its first to its last token.
 * @source [docs/model/time.md](model/time.md): a scheme covers every token once.
 * @ignore never: the plan is of another batch then.
 */
function schemeOfBatch({ facts, format }: ConfigView): Issue | null {
  const scheme = facts.sliceScheme?.value;
  if (scheme === undefined) return null;
  const tokens = countOf(facts, 'sequenceLength');
  const wrongLength = scheme.map((chunk) => sum(chunk.tokens)).find((length) => length !== tokens);
  if (tokens !== null && wrongLength !== undefined)
    return {
      at: ['sliceScheme'],
      message: sentence`The slices of a sequence add up to ${many(wrongLength, 'token')}, and a sequence has ${many(tokens, 'token')}`,
      remedy: sentence`make each list add up to ${formatNumber(tokens)}`,
    };
  const sequences = sum(scheme.map((chunk) => chunk.batch));
  const [data, globalBatch] = [dataParallelSize(facts, format), countOf(facts, 'globalBatch')];
  if (data === null || globalBatch === null || sequences * data === globalBatch) return null;
  return {
    at: ['sliceScheme'],
    message: sentence`The scheme covers ${many(sequences, 'sequence')}, and a replica has ${formatNumber(globalBatch / data)}`,
    remedy: sentence`make its batch sizes add up to ${formatNumber(globalBatch / data)}`,
  };
}

/**
 * @finding sequence-unit
 * Slices are multiples of `slicing.unit`, and the sequence is not, so one slice is shorter. Choose a unit that divides the sequence.
 * @source [docs/model/time.md](model/time.md): slices are cut at multiples of the unit.
 * @ignore one shorter slice costs nothing that you notice.
 */
function unitOfSequence({ facts }: ConfigView): Issue | null {
  const [tokens, unit] = [countOf(facts, 'sequenceLength'), facts.sliceUnit?.value];
  if (tokens === null || unit === undefined || tokens % unit === 0) return null;
  const divisor = greatestCommonDivisor(tokens, unit);
  return {
    at: ['sliceUnit'],
    message: sentence`${many(tokens, 'token')} are not a multiple of the slicing unit of ${formatNumber(unit)}: one slice is shorter`,
    remedy: sentence`use a unit that divides ${formatNumber(tokens)}, as ${formatNumber(divisor)}`,
    remedySuffix: sentence`, or to another divisor of ${formatNumber(tokens)}`,
    changes: setTo('sliceUnit', [divisor]),
  };
}

/**
 * @finding precision-slow
 * The GPU runs bf16 far slower than fp16. V100 has no bf16 tensor cores.
 * @source The rates of the GPU's data sheet, in `src/core/cluster/gpus`.
 * @ignore the model diverges in fp16 and the time does not matter.
 */
function slowPrecision({ facts, gpus }: ConfigView): Issue | null {
  const slow = gpus.find(({ peakTflops }) => peakTflops.bf16 * 4 <= peakTflops.fp16);
  if (slow === undefined || facts.precision?.value !== 'bf16') return null;
  return {
    at: ['precision'],
    message: sentence`bf16 runs at ${formatNumber(slow.peakTflops.bf16)} TFLOP/s on ${slow.name}, fp16 at ${formatNumber(slow.peakTflops.fp16)}`,
    remedy: sentence`set training.precision to fp16`,
    changes: setTo('precision', ['fp16']),
  };
}

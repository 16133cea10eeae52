import { formatBytes, formatCount, formatNumber } from '../../../core/format';
import { comparedFacts, logDifferences, type LogDifference, type LogFacts } from './logs/facts';
import { logFormats } from './logs/registry';
import type { LogProgram, RunLog } from './logs/run-log';
import type { SteadySteps } from './logs/steady';
import { lowMedian, maximum } from '../../../core/numbers';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { counted, listOf, sentence, type Sentence, type Value } from '../../../core/sentence';
import { type PlanRequest, gpusUsed } from '../../../core/domain/request';
import { sequenceFlops, type SequenceLengths } from '../../../core/model/flops';

/** What a trainer's TFLOP/s may be off by: it counts what is small otherwise, norms, routers and a padded vocabulary. */
const tolerance = 0.12;

/** TFLOP/s of a GPU as logged, and by the model FLOPs that are counted here, of a step that takes as long. */
interface FlopsAgainst {
  readonly logged: number;
  readonly counted: number;
  /** Whether the trainer counts the same model and batch: TorchTitan and older Megatron-LM count causal attention as if it were full. */
  readonly agree: boolean;
}

/**
 * Counts the FLOPs of a step of a log by the planned model, at the sequence length of the log where it has one.
 * @param step its `ms`, the sequences of its `batch` and the logged `tflopsPerGpu`.
 */
function flopsAgainst(request: PlanRequest, facts: LogFacts, step: { ms: number; batch: number; tflopsPerGpu: number }): FlopsAgainst {
  const { model, layout } = request;
  const training = loggedTraining(request, facts);
  const gpus = facts.gpus ?? gpusUsed(layout);
  const perGpu = (flopsOfSequence: number): number => (step.batch * flopsOfSequence) / gpus / step.ms / 1e9;
  const counted = perGpu(sequenceFlops(model, training));
  const most = perGpu(sequenceFlops(model, sequenceLengths(training)) + causalHalf(model, training));
  const logged = step.tflopsPerGpu;
  return { logged, counted, agree: logged >= counted * (1 - tolerance) && logged <= most * (1 + tolerance) };
}

/** The planned training, at the sequence length of a log; a model of two stacks keeps both of its own. */
function loggedTraining({ model, training }: PlanRequest, facts: LogFacts): PlanRequest['training'] {
  const { 'training.sequenceLength': sequenceLength = training.sequenceLength } = facts;
  return model.stacks === undefined ? { ...training, sequenceLength } : training;
}

/** FLOPs of a sequence for the half of the attention scores that a causal mask leaves out, forward and backward. */
function causalHalf(model: PlanRequest['model'], { sequenceLength }: SequenceLengths): number {
  const { layers, heads, headDim, latent } = model;
  const width = latent ? latent.nopeHeadDim + latent.ropeHeadDim + latent.vHeadDim : 2 * headDim;
  return 3 * layers * heads * width * sequenceLength ** 2;
}

/** Trainers count adapters as if all weights were trained. */
function sequenceLengths({ sequenceLength, decoderSequenceLength }: PlanRequest['training']): SequenceLengths {
  return { sequenceLength, ...(decoderSequenceLength === undefined ? {} : { decoderSequenceLength }) };
}

/**
 * Whether a log is of the planned run: of that very run; of the same passes on other replicas or with another batch, on the
 * same machine; or of another run.
 */
type LogMatch = 'same' | 'replicas' | 'other';

/** Peak memory of a stage, or where the log names none, of the fullest: measured over its ranks, and predicted, bytes. */
interface MemoryAgainst {
  readonly stage: number | null;
  /** What PyTorch's tensors take, or what its allocator reserves. */
  readonly of: 'allocated' | 'reserved';
  readonly measuredBytes: number;
  readonly predictedBytes: number;
}

/** What a log may leave out, as people call it. */
const unloggedNames = {
  model: sentence`model`,
  sequenceLength: sentence`sequence length`,
  globalBatch: sentence`global batch`,
  layout: sentence`parallel sizes`,
} as const;

/** A log compared with a planned run. */
export interface LogComparison {
  readonly program: LogProgram;
  readonly match: LogMatch;
  readonly differences: readonly LogDifference[];
  readonly flops: FlopsAgainst | null;
  readonly memory: readonly MemoryAgainst[];
  /** What the log does not have and is taken as planned. */
  readonly unlogged: readonly (keyof typeof unloggedNames)[];
  readonly runs: number;
}

/** Figures of a log that can be compared before anything is predicted. */
export type Judged = Pick<LogComparison, 'match' | 'differences' | 'flops'>;

/** How the run of a log differs from a planned one: the same, one of the same passes, or another. */
export function judgeLog(log: RunLog, request: PlanRequest): Judged {
  const differences = logDifferences(log.facts, request);
  const flops = compareFlops(log, request);
  if (flops?.agree === false && !hasModelFacts(log.facts)) return { match: 'other', differences, flops };
  if (differences.length === 0) return { match: 'same', differences, flops };
  return { match: differences.every(({ key }) => comparedFacts[key].isOfReplicas === true) ? 'replicas' : 'other', differences, flops };
}

/** Compares a log with a plan. */
export function compareWithLog(plan: Plan, log: RunLog): LogComparison {
  const { program, runs } = log;
  const judged = judgeLog(log, plan.request);
  return { program, runs, ...judged, memory: memoryAgainst(plan, log), unlogged: unloggedFacts(log, judged) };
}

/** Where TFLOP/s agree, so do model and sequence length. */
function unloggedFacts({ facts }: RunLog, { flops }: Judged): LogComparison['unlogged'] {
  const logged = {
    model: flops !== null || hasModelFacts(facts),
    sequenceLength: flops !== null || facts['training.sequenceLength'] !== undefined,
    globalBatch: facts['training.globalBatch'] !== undefined,
    layout: facts['layout.data'] !== undefined || (facts['layout.tensor'] !== undefined && facts['layout.pipeline'] !== undefined),
  };
  return (Object.keys(unloggedNames) as (keyof typeof unloggedNames)[]).filter((part) => !logged[part]);
}

function hasModelFacts(facts: LogFacts): boolean {
  return facts['model.layers'] !== undefined || facts.parameters !== undefined;
}

function compareFlops({ steps, facts }: RunLog, request: PlanRequest): FlopsAgainst | null {
  const rates = steps.flatMap(({ tflopsPerGpu }) => tflopsPerGpu ?? []);
  if (rates.length === 0) return null;
  const batch = steps.findLast(({ globalBatch }) => globalBatch !== null)?.globalBatch ?? facts['training.globalBatch'];
  // rates and times are of the same lines: the product of both is what the trainer counts
  const [tflopsPerGpu, ms] = [lowMedian(rates), lowMedian(steps.flatMap((step) => (step.tflopsPerGpu === null ? [] : step.ms)))];
  return flopsAgainst(request, facts, { ms, tflopsPerGpu, batch: batch ?? request.training.globalBatch });
}

/** Megatron-LM logs memory of a rank of each tensor and pipeline position; ranks of a stage follow each other. */
function memoryAgainst(plan: Plan, { memory, facts, program }: RunLog): MemoryAgainst[] {
  const { stages } = chosenCandidate(plan).memory;
  const { pipeline, order } = plan.request.layout;
  const ranksOfStage = program === 'megatron' && order === undefined && facts.gpus !== undefined ? facts.gpus / pipeline : NaN;
  const of: MemoryAgainst['of'] = memory.some(({ allocatedBytes }) => allocatedBytes !== null) ? 'allocated' : 'reserved';
  const highest = new Map<number | null, number>();
  for (const { rank, allocatedBytes, reservedBytes } of memory) {
    const bytes = of === 'allocated' ? allocatedBytes : reservedBytes;
    const stage = pipeline === 1 ? 0 : rank !== null && Number.isInteger(ranksOfStage) ? Math.floor(rank / ranksOfStage) : null;
    if (bytes !== null) highest.set(stage, Math.max(bytes, highest.get(stage) ?? 0));
  }
  const predicted = (stage: number | null): number =>
    Math.max(
      0,
      maximum(
        stages
          .filter((one) => stage === null || one.stage === stage)
          .map((one) => (of === 'allocated' ? one.peakBytes : one.reservedBytes)),
      ),
    );
  return [...highest]
    .map(([stage, measuredBytes]) => ({ stage, of, measuredBytes, predictedBytes: predicted(stage) }))
    .filter(({ predictedBytes }) => predictedBytes > 0);
}

/** The difference in memory that is reported: of the fullest stage as measured. */
function fullest(memory: readonly MemoryAgainst[]): MemoryAgainst | null {
  return memory.reduce<MemoryAgainst | null>((most, one) => (most === null || one.measuredBytes > most.measuredBytes ? one : most), null);
}

/** `tensor parallel size 2 (planned 4), global batch 128 (planned 64)`. */
export function differencesText({ differences, flops, match }: Judged): Value {
  const isOfFlops = match === 'other' && flops?.agree === false;
  return listOf([
    ...differences.map(({ key, log, plan }) => sentence`${comparedFacts[key].name} ${shown(log)} (planned ${shown(plan)})`),
    ...(isOfFlops
      ? [
          sentence`${formatNumber(flops.logged)} TFLOP/s per GPU (the planned model and batch make ${formatNumber(flops.counted)} of its time)`,
        ]
      : []),
  ]);
}

function shown(value: number | string): string {
  return typeof value === 'number' ? formatCount(value) : value;
}

/** How a log differs from the plan: shown before anything is made of it. None where it is of the planned run. */
export function differenceSentences(judged: Judged): Sentence[] {
  if (judged.match === 'same') return [];
  const text = differencesText(judged);
  return judged.match === 'replicas'
    ? [sentence`The log is from a run with a different batch or number of replicas: ${text}.`]
    : [sentence`The log is from another run: ${text}.`];
}

function flopsSentence({ logged, counted }: FlopsAgainst): Sentence {
  return sentence`The log has ${formatNumber(logged)} TFLOP/s per GPU, ${formatNumber(counted)} by the model FLOPs counted here.`;
}

/** A log of the planned run compared on memory and FLOPs. */
export function logSentences({ match, flops, memory, unlogged, runs }: LogComparison): Sentence[] {
  const most = match === 'same' ? fullest(memory) : null;
  return [
    ...(most === null ? [] : [memorySentence(most)]),
    ...(flops === null || match === 'other' ? [] : [flopsSentence(flops)]),
    ...(unlogged.length === 0 || match === 'other'
      ? []
      : [sentence`The log does not say its ${listOf(unlogged.map((part) => unloggedNames[part]))}: taken as planned.`]),
    ...(runs > 1 ? [sentence`The log holds ${formatCount(runs)} runs; the last is read.`] : []),
  ];
}

function memorySentence({ stage, of, measuredBytes, predictedBytes }: MemoryAgainst): Sentence {
  const [measured, predicted] = [formatBytes(measuredBytes), formatBytes(predictedBytes)];
  const what =
    of === 'allocated'
      ? sentence`Peak memory allocated is ${measured}, predicted ${predicted}`
      : sentence`Peak memory reserved is ${measured}, predicted ${predicted}`;
  return stage === null ? sentence`${what} on the fullest stage.` : sentence`${what} on stage ${formatCount(stage)}.`;
}

/** Which steps of a log count: `Megatron-LM, iterations 85 to 88: the median of 4 lines`. */
export function readSentence({ program }: Pick<LogComparison, 'program'>, { iterations, counted: lines, warmUp }: SteadySteps): Sentence {
  const name = logFormats.find((format) => format.program === program)?.name ?? program;
  const median = sentence`the median of ${counted(lines, 'line')}`;
  const read =
    iterations === undefined
      ? sentence`${name}: ${median}`
      : sentence`${name}, iterations ${formatCount(iterations[0])} to ${formatCount(iterations[1])}: ${median}`;
  return warmUp === 0 ? read : sentence`${read}, the first ${formatCount(warmUp)} left out as warm-up`;
}

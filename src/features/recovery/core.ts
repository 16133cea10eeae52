import { ExpectedError, type CancelSignal } from '../../core/errors';
import { formatCount, formatNumber } from '../../core/format';
import { memoryVerdict } from '../../core/memory-model/verdict';
import { layerMatrixParameters } from '../../core/model/parameters';
import { scheduleOn, unlessUnmet } from '../../core/schedules/on-layout';
import { chosenCandidate, type Plan } from '../../core/planner/plan';
import { buildPipeline, type Pipeline } from '../../core/planner/predict/pipeline';
import { busiestStageMs, measure, stepMs, type CandidateSpec, type Prediction } from '../../core/planner/predict/predict';
import { counted, sentence, type Sentence } from '../../core/sentence';
import { elementBytes } from '../../core/domain/number-formats';
import { masterBytes, stateBytes } from '../../core/domain/optimizer';
import type { PlanRequest } from '../../core/domain/request';
import { resolveRankOrder } from '../../core/domain/runtime';
import type { Scheme } from '../../core/domain/scheme';
import type { SliceCost } from '../../core/domain/slice-cost';
import { networkBandwidth } from '../../core/time-model/collectives';
import { maximum } from '../../core/numbers';

/** What failed in a run: a node is gone, counted from 0, or one replica's stage takes `factor` times as long. */
export type Failure =
  { readonly kind: 'without'; readonly node: number } | { readonly kind: 'slow'; readonly stage: number; readonly factor: number };

export type WayId = 'keep' | 'work' | 'layers' | 'replicas';

/** A way to go on. Times in ms. */
interface RecoveryWay {
  readonly id: WayId;
  /** A step of as many sequences as before; null where this way cannot be taken; `summary` explains why. */
  readonly stepMs: number | null;
  readonly fits: boolean;
  /** Regrouping, and states that are sent. */
  readonly moveMs: number;
  readonly movedBytes: number;
  /** All of an hour's steps of the whole run, the way there included; null with `stepMs`. */
  readonly hourMs: number | null;
  readonly summary: Sentence;
}

/** Ways to go on after a failure, priced. Plain data. */
export interface Recovery {
  readonly loss: Failure;
  /** Stages that lost GPUs or are slow, and of how many replicas. */
  readonly stages: readonly number[];
  readonly replicas: number;
  readonly wholeStepMs: number;
  readonly ways: readonly RecoveryWay[];
  /** The one whose hour is shortest, among those that fit if any do; null where none can be taken. */
  readonly cheapest: WayId | null;
}

/** Stopping and regrouping processes: PipeTransformer's CIFAR-10 log takes 11, 14 and 11 s. */
const regroupMs = 12_000;

const hourMs = 3_600_000;

/** Another layer is moved for a step that is shorter by this much. */
const worthMoving = 0.999;

/** Where a failure strikes: by stage the replicas that lost it, and all of those. */
interface Struck {
  readonly lost: ReadonlyMap<number, number>;
  readonly replicas: number;
  /** Most stages that one replica lost. */
  readonly deepest: number;
}

/**
 * The best way on with what is left, of three: the other replicas' GPUs of the same stage take over its work; its layers are spread over
 * the rest of its pipeline; or its replicas are given up. A slow stage may also be kept as it is. Steps have the sequences of before, and
 * are simulated as every plan is. The first follows ReCycle (arXiv 2405.14009), the second Oobleck (arXiv 2309.08125).
 * @throws ExpectedError `recovery-node`, `recovery-stage` for what the layout does not have; CancelledError.
 */
export function recover(plan: Plan, loss: Failure, signal?: CancelSignal): Recovery {
  const { request } = plan;
  const struck = loss.kind === 'without' ? struckBy(request, loss.node) : slowStage(request, loss.stage);
  const { iterationMs, id, name, schedule, scheme } = chosenCandidate(plan);
  const spec: CandidateSpec = { id, name, kind: scheduleOn(schedule, request.layout), scheme, certificate: null };
  const question = { request, spec, struck, loss, signal };
  const found = [...(loss.kind === 'slow' ? [kept(question)] : []), work(question), layers(question), replicas(question)];
  const ways = found.map((way): RecoveryWay => ({
    ...way,
    hourMs: way.stepMs === null ? null : way.moveMs + (hourMs / iterationMs) * way.stepMs,
  }));
  const possible = ways.filter(({ stepMs }) => stepMs !== null);
  const fitting = possible.filter(({ fits }) => fits);
  const cheapest = (fitting.length > 0 ? fitting : possible).reduce<RecoveryWay | null>(
    (best, way) => (best === null || (way.hourMs ?? Infinity) < (best.hourMs ?? Infinity) ? way : best),
    null,
  );
  return {
    loss,
    stages: [...struck.lost.keys()].sort((a, b) => a - b),
    replicas: struck.replicas,
    wholeStepMs: iterationMs,
    ways,
    cheapest: cheapest?.id ?? null,
  };
}

interface Question {
  readonly request: PlanRequest;
  readonly spec: CandidateSpec;
  readonly struck: Struck;
  readonly loss: Failure;
  readonly signal: CancelSignal | undefined;
}

type Way = Omit<RecoveryWay, 'hourMs'>;

/** The stages and replicas whose GPUs are on a node. */
function struckBy({ layout, cluster, training }: PlanRequest, node: number): Struck {
  const { tensor, context, data, pipeline } = layout;
  const inner = tensor * context;
  const nodes = Math.ceil((inner * data * pipeline) / cluster.gpusPerNode);
  if (!(node < nodes))
    throw new ExpectedError(
      'recovery-node',
      sentence`The layout has no node ${formatCount(node)}: it is on ${counted(nodes, 'node')}`,
      sentence`name one from node0 to ${`node${nodes - 1}`}`,
    );
  const byStage = new Map<number, Set<number>>();
  for (let gpu = 0; gpu < cluster.gpusPerNode; gpu++) {
    const place = Math.floor((node * cluster.gpusPerNode + gpu) / inner);
    if (place >= data * pipeline) continue;
    const [stage, replica] =
      resolveRankOrder({ layout, training }) === 'tp-cp-ep-dp-pp'
        ? [Math.floor(place / data), place % data]
        : [place % pipeline, Math.floor(place / pipeline)];
    byStage.set(stage, (byStage.get(stage) ?? new Set()).add(replica));
  }
  const all = [...byStage.values()].flatMap((replicas) => [...replicas]);
  const struck = new Set(all);
  const deepest = maximum([...struck].map((replica) => all.filter((other) => other === replica).length));
  return { lost: new Map([...byStage].map(([stage, replicas]) => [stage, replicas.size])), replicas: struck.size, deepest };
}

function slowStage({ layout }: PlanRequest, stage: number): Struck {
  if (stage < layout.pipeline) return { lost: new Map([[stage, 1]]), replicas: 1, deepest: 1 };
  throw new ExpectedError(
    'recovery-stage',
    sentence`The layout has no stage ${formatCount(stage)}: it has ${counted(layout.pipeline, 'stage')}`,
    sentence`name one from stage0 to ${`stage${layout.pipeline - 1}`}`,
  );
}

function slowness({ loss }: Question): number {
  return loss.kind === 'slow' ? loss.factor : 1;
}

/** The pipeline whose stages take this many times as long. */
function slowed(pipeline: Pipeline, { kind }: CandidateSpec, slowdownFactor: (stage: number) => number): Pipeline {
  const scaled = (cost: SliceCost, factor: number): SliceCost =>
    factor === 1
      ? cost
      : (batch, tokens, context) => {
          const time = cost(batch, tokens, context);
          const { forwardMs, backwardMs, backwardWeightMs } = time;
          return { ...time, forwardMs: factor * forwardMs, backwardMs: factor * backwardMs, backwardWeightMs: factor * backwardWeightMs };
        };
  const chunks = pipeline.chunksOn(kind);
  const costs = chunks.costs.map((cost, chunk) => scaled(cost, slowdownFactor(chunks.stageOfChunk[chunk] ?? 0)));
  const stages = pipeline.stages.map((stage, index) => ({ ...stage, cost: scaled(stage.cost, slowdownFactor(index)) }));
  return { ...pipeline, stages, chunksOn: () => ({ ...chunks, costs }) };
}

function kept(question: Question): Way {
  const { request, spec, struck, signal } = question;
  const step = measure(
    slowed(buildPipeline(request), spec, (stage) => (struck.lost.has(stage) ? slowness(question) : 1)),
    spec,
    signal,
  );
  return {
    id: 'keep',
    stepMs: step.iterationMs,
    fits: step.fits,
    moveMs: 0,
    movedBytes: 0,
    summary: sentence`everything waits for the slow stage`,
  };
}

/** Peers take over: what is left of a stage's GPUs does the work of all of them. */
function work(question: Question): Way {
  const { request, spec, struck, loss, signal } = question;
  const { data } = request.layout;
  const none = { id: 'work', stepMs: null, fits: false, moveMs: 0, movedBytes: 0 } as const;
  if ([...struck.lost.values()].some((lost) => lost >= data))
    return { ...none, summary: sentence`no other replica has the stage, whose states are then read from a checkpoint` };
  const slowdownFactor = (stage: number): number => {
    const lost = struck.lost.get(stage) ?? 0;
    return data / (data - lost + (loss.kind === 'slow' ? lost / loss.factor : 0));
  };
  const step = measure(slowed(buildPipeline(request), spec, slowdownFactor), spec, signal);
  const factor = maximum([...struck.lost.keys()].map(slowdownFactor));
  // What a stage keeps of its passes grows with them.
  const fits = step.memory.stages.every(
    ({ stage, staticBytes, peakBytes, usableBytes }) => staticBytes + slowdownFactor(stage) * (peakBytes - staticBytes) <= usableBytes,
  );
  return {
    ...none,
    stepMs: step.iterationMs,
    fits,
    moveMs: regroupMs,
    summary: sentence`the same stage of the other replicas takes its micro-batches, ${formatNumber(factor)} times as many; no state is sent`,
  };
}

/** Bytes of a layer on one GPU: weights, their master copies and the optimizer's states. */
function layerBytes({ model, training, layout }: PlanRequest): number {
  const element = elementBytes(training);
  return ((element + masterBytes(training) + stateBytes(training)) * layerMatrixParameters(model)) / layout.tensor;
}

/** Most layers that a stage gets from others when `before` becomes `after`. */
function mostReceived(before: readonly number[], after: readonly number[]): number {
  const cumulativeSums = (counts: readonly number[]) =>
    counts.map((_, index) => counts.slice(0, index + 1).reduce((sum, count) => sum + count, 0));
  const [old, now] = [cumulativeSums(before), cumulativeSums(after)];
  return maximum(
    after.map((count, stage) => {
      const [from, to] = [(now[stage] ?? 0) - count, now[stage] ?? 0];
      const stays = before.map((held, other) => Math.min(to, old[other] ?? 0) - Math.max(from, (old[other] ?? 0) - held));
      return count - Math.max(0, maximum(stays));
    }),
  );
}

/** The layers that a stage lost, or some of those of a slow one, on the other stages of its pipeline. */
function layers(question: Question): Way {
  const { request, spec, struck, loss, signal } = question;
  const none = { id: 'layers', stepMs: null, fits: false, moveMs: 0, movedBytes: 0 } as const;
  const left = request.layout.pipeline - struck.deepest;
  if (left < 1) return { ...none, summary: sentence`a pipeline has lost all of its stages` };
  const before = buildPipeline(request).stages.map(({ contents }) => contents.layers);
  const best =
    loss.kind === 'slow' ? fasterCut(question, before) : predictCutStep({ ...request, layout: withStages(request, left) }, spec, signal);
  if (best === null) return { ...none, summary: sentence`${spec.name} cannot run on the stages that are left` };
  const received = mostReceived(before, best.layers);
  const movedBytes = received * layerBytes(request);
  const moveMs = regroupMs + (1e3 * movedBytes * request.layout.tensor) / networkBandwidth(request.cluster.links);
  const { iterationMs, fits } = best.step;
  const isGone = loss.kind === 'without' && [...struck.lost.values()].some((lost) => lost >= request.layout.data);
  const stages = sentence`${counted(best.layers.length, 'stage')} of ${best.layers.join(' ')} layers`;
  const summary = isGone
    ? sentence`${stages}; a stage receives ${counted(received, 'layer')}, the lost ones from a checkpoint`
    : sentence`${stages}; a stage receives ${counted(received, 'layer')}`;
  return { ...none, stepMs: iterationMs, fits, movedBytes, moveMs, summary };
}

interface CutStep {
  readonly step: Prediction;
  readonly layers: readonly number[];
}

function withStages({ layout }: PlanRequest, pipeline: number): PlanRequest['layout'] {
  const { stageLayers, ...rest } = layout;
  return stageLayers === undefined ? { ...layout, pipeline } : { ...rest, pipeline };
}

function predictCutStep(request: PlanRequest, spec: CandidateSpec, signal: CancelSignal | undefined): CutStep | null {
  const pipeline = buildPipeline(request);
  const step = unlessUnmet(() => measure(pipeline, spec, signal));
  return step === null ? null : { step, layers: pipeline.stages.map(({ contents }) => contents.layers) };
}

/** Relative slack for the rounding of sums. */
const rounding = 1e-9;

/**
 * The cut on which a slow stage holds fewer layers, each of which goes to the stage with least: the fastest of all that leave it one. Of
 * those on which a stage computes for longer than the best step takes, none is simulated.
 */
function fasterCut(question: Question, before: readonly number[]): CutStep | null {
  const { request, spec, struck, signal } = question;
  const [slow = 0] = struck.lost.keys();
  const cut = [...before];
  let best: { readonly ms: number; readonly pipeline: Pipeline; readonly layers: readonly number[] } | null = null;
  while ((cut[slow] ?? 0) > 1 && cut.length > 1) {
    const others = cut.map((count, stage) => ({ count, stage })).filter(({ stage }) => stage !== slow);
    const { stage } = others.reduce((least, other) => (other.count < least.count ? other : least));
    cut[slow] = (cut[slow] ?? 0) - 1;
    cut[stage] = (cut[stage] ?? 0) + 1;
    const changed = { ...request, layout: { ...request.layout, stageLayers: [...cut] } };
    const pipeline = slowed(buildPipeline(changed), spec, (index) => (index === slow ? slowness(question) : 1));
    const worthMs = worthMoving * (best?.ms ?? Infinity);
    if (busiestStageMs(pipeline, spec) * (1 - rounding) >= worthMs) continue;
    const ms = timeOnly(pipeline, spec, signal);
    if (ms !== null && ms < worthMs) best = { ms, pipeline, layers: [...cut] };
  }
  return best === null ? null : { step: measure(best.pipeline, spec, signal), layers: best.layers };
}

/** Ms of a step, without its memory where the order does not depend on it; null where the schedule cannot run. */
function timeOnly(pipeline: Pipeline, spec: CandidateSpec, signal: CancelSignal | undefined): number | null {
  return spec.kind.planned ? (unlessUnmet(() => measure(pipeline, spec, signal))?.iterationMs ?? null) : stepMs(pipeline, spec, signal);
}

/** Fewer replicas, each with more micro-batches; what one of them has beyond its share counts by sequence. */
function replicas(question: Question): Way {
  const { request, spec, struck, signal } = question;
  const { data, pipeline } = request.layout;
  const left = data - struck.replicas;
  const none = { id: 'replicas', stepMs: null, fits: false, moveMs: 0, movedBytes: 0 } as const;
  if (left < 1) return { ...none, summary: sentence`no replica is left whole` };
  const layout = { ...request.layout, data: left };
  for (const count of [
    Math.ceil((spec.scheme.length * data) / left),
    pipeline * Math.ceil((spec.scheme.length * data) / left / pipeline),
  ]) {
    const scheme = Array.from({ length: count }, (_, index) => spec.scheme[index % spec.scheme.length]).filter((one) => one !== undefined);
    const globalBatch = countSequences(scheme) * left;
    const found = predictCutStep({ ...request, layout, training: { ...request.training, globalBatch } }, { ...spec, scheme }, signal);
    if (found === null) continue;
    const stepMs = (found.step.iterationMs * countSequences(spec.scheme) * data) / globalBatch;
    const summary = sentence`${counted(left, 'replica')} of ${formatCount(data)}, ${counted(count, 'micro-batch', 'micro-batches')} each; no state is sent`;
    return { ...none, stepMs, fits: memoryVerdict(found.step.memory).fits, moveMs: regroupMs, summary };
  }
  return { ...none, summary: sentence`${spec.name} cannot run on the stages that are left` };
}

function countSequences(scheme: Scheme): number {
  return scheme.reduce((sum, { batch }) => sum + batch, 0);
}

import { scheduleKind } from '../schedules/registry';
import type { CancelSignal } from '../errors';
import { usableGpuBytes, type LimitedGroup, createBounds, type Bounds } from './bounds';
import type { Scheme } from '../domain/scheme';
import { idBySchedule, candidatePeakBytes } from '../planner/plan';
import { withBestGroup } from '../planner/candidates/micro-batch-groups';
import { keepGraphs } from '../planner/candidates/makespan-problem';
import { pipelineFrom, type Pipeline } from '../planner/predict/pipeline';
import { measure, measureWanted, type CandidateSpec, type MemoryFilter, type Prediction } from '../planner/predict/predict';
import type { PlanRequest } from '../domain/request';
import { isUnmet, scheduleOn, operationCount, scheduleLabel } from '../schedules/on-layout';
import { toCostInputs, createKnownBounds, sliceLengths, groupMicroBatches, cutShapes, type KnownBounds, type SearchPoint } from './known';
import type { CandidateGroup } from './candidate-group';
import { givenScheme } from './schedules';
import { solvedScheme } from './solved-slices';
import { sentence, type Value } from '../sentence';

/*
 * The one place where the search meets the rest of the planner: what a layout takes by `predict`, and what it takes at least. Every bound
 * must stay below what `predict` gives, and a property test holds it there.
 */

/** A point, predicted. Times in ms, memory of the worst stage in bytes. */
export interface Predicted {
  readonly point: SearchPoint;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly fits: boolean;
}

export interface Evaluator extends Bounds {
  /** That simulating a point takes. */
  readonly operations: (point: SearchPoint) => number;
  /**
   * `too-large` when it would take too many operations to simulate, `unmet` when no order of the schedule fits in the memory there is,
   * `slower` when slices are solved for and none was found with which a step takes less than `belowMs`. Of a fixed order whose memory is
   * not what `isWanted` asks for, `bounded` when it fits, else `overMemory`: both as `SearchCounts` names them.
   * @throws CancelledError.
   */
  readonly evaluate: (
    point: SearchPoint,
    limits?: { readonly belowMs?: number; readonly isWanted?: MemoryFilter | undefined; readonly signal?: CancelSignal | undefined },
  ) => Predicted | 'too-large' | 'unmet' | 'slower' | 'bounded' | 'overMemory';
  /** The same with its parts; a point evaluated before is not simulated again. @throws ExpectedError `schedule-unmet`; CancelledError. */
  readonly candidate: (point: SearchPoint, scheme?: Scheme, signal?: CancelSignal) => Prediction;
  readonly pipeline: (point: SearchPoint) => Pipeline;
  /** Steps that solving for slices with the makespans of schedules has taken so far. */
  readonly solvingSteps: () => number;
  /** The highest peak that fits a GPU under a layout, bytes. */
  readonly usableBytes: (group: LimitedGroup) => number;
}

/** Points with more operations are left out, which the counts and the bound reflect. */
const maximumOperations = 250_000;

/**
 * Predicts and bounds points of a request's model on its cluster; remembers stage times.
 * @param known of this request, or of one that differs from it in the memory of its GPUs only.
 */
export function createEvaluator(request: PlanRequest, known: KnownBounds = createKnownBounds(request)): Evaluator {
  const isTable = request.costTable !== null;
  const pipeline = (point: SearchPoint): Pipeline =>
    pipelineFrom({
      inputs: toCostInputs(request, point),
      stageContents: cutShapes(known, point).stages,
      stageLayers: point.stageLayers,
      costsOn: () => (contents, share) => known.cost(point, known.same(contents), isTable ? share : 1),
      measured: isTable,
    });
  const measured = new WeakMap<SearchPoint, Prediction>();
  const specFor = (point: SearchPoint, scheme: Scheme, signal?: CancelSignal): CandidateSpec => {
    const kind = scheduleOn(point.schedule, point.layout);
    const spec = { id: idBySchedule[point.schedule], name: groupName(point), kind, scheme, certificate: null };
    return withBestGroup(pipeline(point), spec, signal);
  };
  const candidate = (point: SearchPoint, scheme: Scheme, signal?: CancelSignal): Prediction =>
    measure(pipeline(point), specFor(point, scheme, signal), signal);
  const solved = new WeakMap<SearchPoint, Scheme>();
  const graphs = keepGraphs();
  let solvingSteps = 0;
  const onSteps = (steps: number): void => void (solvingSteps += steps);
  const bounds = createBounds(request, known);
  const schemeFor = (point: SearchPoint, belowMs = Infinity, signal?: CancelSignal): Scheme | null => {
    if (point.solved !== true) return groupScheme(request, point);
    const limits = { belowMs: belowMs - known.afterwardsMs(point), graphs, signal, onSteps };
    const found = solved.get(point) ?? solvedScheme(request, point, pipeline(point), groupMicroBatches(point), limits);
    if (found !== null) solved.set(point, found);
    return found;
  };
  const operations = ({ schedule, layout }: SearchPoint, scheme: Scheme): number =>
    operationCount(scheduleOn(schedule, layout), layout, scheme);
  return {
    ...bounds,
    operations: (point) => operations(point, groupScheme(request, point)),
    pipeline,
    solvingSteps: () => solvingSteps,
    usableBytes: (group) => usableGpuBytes(request, group),
    candidate: (point, scheme, signal) =>
      scheme === undefined
        ? (measured.get(point) ?? candidate(point, schemeFor(point, Infinity, signal) ?? [], signal))
        : candidate(point, scheme, signal),
    evaluate: (point, { belowMs, isWanted, signal } = {}) => {
      const shortest = point.solved === true ? wholeSequences(point) : groupScheme(request, point);
      if (operations(point, shortest) > maximumOperations) return 'too-large';
      const scheme = schemeFor(point, belowMs, signal);
      if (scheme === null) return 'slower';
      if (operations(point, scheme) > maximumOperations) return 'too-large';
      try {
        const counted = { fits: true };
        const filter: MemoryFilter = (memory) => {
          counted.fits = memory.fits;
          return isWanted?.(memory) ?? true;
        };
        const found = measureWanted(pipeline(point), specFor(point, scheme, signal), filter, signal);
        if (found === null) return counted.fits ? 'bounded' : 'overMemory';
        measured.set(point, found);
        return { point, iterationMs: found.iterationMs, fits: found.fits, peakBytes: candidatePeakBytes(found) };
      } catch (error) {
        if (isUnmet(error)) return 'unmet';
        throw error;
      }
    },
  };
}

/** What the schedule runs: micro-batches, each in equal token slices, or the slices that the request gives. */
function groupScheme(request: PlanRequest, group: CandidateGroup): Scheme {
  const { microBatch } = group.training;
  const given = givenScheme(request, { microBatches: groupMicroBatches(group), microBatch });
  if (given !== null && scheduleKind(group.schedule).sliced) return given;
  const tokens = sliceLengths(request, group);
  return Array.from({ length: groupMicroBatches(group) }, () => ({ batch: group.training.microBatch, tokens }));
}

function wholeSequences(group: CandidateGroup): Scheme {
  const { microBatch, sequenceLength } = group.training;
  return Array.from({ length: groupMicroBatches(group) }, () => ({ batch: microBatch, tokens: [sequenceLength] }));
}

/** `1F1B`, `interleaved 1F1B, 4 virtual stages`, `LoopedBFS, 2 virtual stages`, `TeraPipe, 8 slices`, `TeraPipe, solved slices`. */
export function groupName({ layout, schedule, slices, solved }: CandidateGroup): Value {
  const kind = scheduleOn(schedule, layout);
  const name = scheduleLabel(kind);
  if (kind.chunksPerStage === 'several') return sentence`${name}, ${kind.chunks} virtual stages`;
  if (solved === true) return sentence`${name}, solved slices`;
  return slices > 1 ? sentence`${name}, ${slices} slices` : name;
}

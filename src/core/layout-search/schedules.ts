import { interleavedKind, scheduleKind, toScheduleProblem } from '../schedules/registry';
import { defaultUnit, type PlanRequest } from '../domain/request';
import { askedSchedules, comparedSchedules, plannedSchedules, usualSchedule, type ScheduleName } from '../domain/schedule-names';
import { maximumPlannedOperations } from '../planner/candidates/candidate-specs';
import { requestedSchedule } from '../planner/choose';
import { fewestLayers } from '../partition/chunks';
import { scheduleOn, runsVirtualStages, type ScheduleOnLayout } from '../schedules/on-layout';
import { runsStacks } from '../planner/refusals';
import { canCut, fixedCut } from './cuts';
import type { Sizes } from './candidate-group';
import { mostSolvedSlices } from './solved-slices';
import type { Scheme } from '../domain/scheme';
import type { SearchProblem } from './search-problem';

/** One schedule on one layout. */
export interface ScheduleChoice {
  /** `1F1B` with virtual stages is interleaved. */
  readonly name: ScheduleName;
  readonly virtualStages: number;
  /** Chunks on each stage: the virtual stages, or the schedule's own where those are 1. */
  readonly chunks: number;
  /** Equal token slices of a sequence; 1 except for TeraPipe and Seq1F1B. Where they are solved for, the most that there may be. */
  readonly slices: number;
  readonly solved?: true;
}

const mostVirtualStages = 16;

/**
 * The schedules that are tried on a layout's sizes: the one that is fixed, or those of the runtime (`Interleaved1F1B` as 1F1B on virtual
 * stages), each with every number of virtual stages or slices that is free. What is fixed runs wherever a plan of it could; else as
 * launchers accept it, on two stages or more, interleaved 1F1B with as many micro-batches as a multiple of the stages, and orders planned
 * for given times up to as many passes as a plan compares unasked.
 */
export function scheduleChoices(problem: SearchProblem, sizes: Sizes, microBatches: number): ScheduleChoice[] {
  const asked = fixedSchedule(problem);
  const names = asked === null ? searchedSchedules(problem) : [asked];
  return names.flatMap((name) =>
    searchedVirtualStages(problem, name).flatMap((virtualStages) => {
      const kind = scheduleOn(name, { virtualStages });
      if (!canRun(problem, sizes, microBatches, { asked: asked !== null, name, kind, virtualStages })) return [];
      const slices = kind.sliced ? searchedSlices(problem.request, sizes, microBatches, asked !== null, kind) : [{ slices: 1 }];
      return slices
        .filter(({ solved }) => problem.slicesAre === undefined || (problem.slicesAre === 'solved') === (solved === true))
        .map((cut) => ({ name, virtualStages, chunks: kind.chunks, ...cut }));
    }),
  );
}

/**
 * The order in which schedules are evaluated: TeraPipe, GPipe and 1F1B, the others, those with slices solved for, then those whose orders
 * are planned for given times.
 */
export type SchedulePhase = 'usual' | 'others' | 'slices' | 'planned';

/** A part of a search. */
interface SearchPart {
  readonly phase: SchedulePhase;
  readonly problem: SearchProblem;
}

/** The parts of a problem by schedule and slices, in the order in which they are searched. */
export function searchPhases(problem: SearchProblem): readonly SearchPart[] {
  const asked = fixedSchedule(problem);
  const names = asked === null ? searchedSchedules(problem) : [asked];
  const part = (phase: SchedulePhase, among: readonly ScheduleName[]): SearchPart[] =>
    among.length === 0 ? [] : [{ phase, problem: { ...problem, among, slicesAre: phase === 'slices' ? 'solved' : 'equal' } }];
  const ofPhase = (phase: SchedulePhase): SearchPart[] =>
    part(
      phase,
      names.filter((name) => schedulePhase(name) === phase),
    );
  const sliced = names.filter((name) => scheduleKind(name).sliced);
  return [...ofPhase('usual'), ...ofPhase('others'), ...part('slices', problem.slicesAre === 'equal' ? [] : sliced), ...ofPhase('planned')];
}

/**
 * Whether no schedule of the parts cuts sequences or plans its order. Then no layout takes of what others may use up
 * (`createSearchBudget`), and none is solved for in finer units afterwards, so that which others are predicted does not change what is
 * found of it.
 */
export function hasOnlyFixedOrders(parts: readonly SearchPart[]): boolean {
  return parts.every(({ problem: { among = [] } }) => among.every((name) => !scheduleKind(name).sliced && !scheduleKind(name).planned));
}

function schedulePhase(name: ScheduleName): SchedulePhase {
  if (scheduleKind(name).planned) return 'planned';
  const { interleaves = name } = scheduleKind(name);
  return plannedSchedules.some((usual) => usual === interleaves) ? 'usual' : 'others';
}

/** What there is to choose the schedule from; `Interleaved1F1B` is 1F1B on virtual stages. */
function searchedSchedules({
  schedules = comparedSchedules,
  withoutPlanned = false,
  among = schedules,
}: SearchProblem): readonly ScheduleName[] {
  const names = among.map((name) => scheduleKind(name).interleaves ?? name);
  return [...new Set(names)].filter((name) => !(withoutPlanned && scheduleKind(name).planned));
}

/** Whether a schedule is available as it is, not only on virtual stages. */
function isAmong({ schedules }: SearchProblem, name: ScheduleName): boolean {
  return schedules === undefined || schedules.includes(name) || !schedules.some((other) => scheduleKind(other).interleaves === name);
}

/** Whether a schedule is searched only where it is asked for, and nobody does. */
function isOnlyAsked(problem: SearchProblem, name: ScheduleName | undefined): boolean {
  const asked = fixedSchedule(problem);
  const isFixed = asked !== null && (asked === name || problem.fixed.has('virtualStages'));
  return askedSchedules.some((each) => each === name) && !isFixed && problem.schedules?.some((each) => each === name) !== true;
}

/** The schedule that a problem fixes. */
function fixedSchedule({ request, fixed }: SearchProblem): ScheduleName | null {
  return fixed.has('schedule') ? requestedSchedule(request) : null;
}

function searchedVirtualStages(problem: SearchProblem, name: ScheduleName): number[] {
  const least = fixedSchedule(problem) === null && !isAmong(problem, name) ? 2 : 1;
  const most = isOnlyAsked(problem, interleavedKind(name)?.name) ? 1 : Infinity;
  return possibleVirtualStages(problem, name).filter((count) => count >= least && count <= most);
}

function possibleVirtualStages({ request: { layout }, fixed }: SearchProblem, name: ScheduleName): number[] {
  const { chunksPerStage: own } = scheduleKind(name);
  if (fixed.has('virtualStages')) return runsVirtualStages(scheduleOn(name, layout), layout.virtualStages) ? [layout.virtualStages] : [];
  const all = Array.from({ length: mostVirtualStages }, (_, index) => index + 1);
  if (interleavedKind(name) !== undefined) return all;
  return own === 'several' ? all.slice(1) : [own];
}

interface ScheduleVariant {
  /** The problem fixes this schedule. */
  readonly asked: boolean;
  readonly name: ScheduleName;
  readonly kind: ScheduleOnLayout;
  readonly virtualStages: number;
}

/**
 * The experts' exchange of one micro-batch overlaps with the compute of another: on a pipeline that takes chunks (Megatron-LM's
 * `overlap_moe_expert_parallel_comm` wants `virtual_pipeline_model_parallel_size`; DualPipeV has two).
 */
function hidesExpertExchange({ model, training }: PlanRequest): boolean {
  return model.experts !== null && training.overlapExpertComm === true;
}

function canRun(problem: SearchProblem, { pipeline }: Sizes, microBatches: number, wanted: ScheduleVariant): boolean {
  const { request, fixed, strict = false } = problem;
  const { asked, name, kind, virtualStages } = wanted;
  const { chunks } = kind;
  // Bounds are of stages that do only their own work.
  if (kind.exchangesAttention === true) return false;
  if (!asked && pipeline > 1 && chunks === 1 && hidesExpertExchange(request)) return false;
  if (request.model.stacks !== undefined && (!runsStacks(name) || virtualStages > 1)) return false;
  const isDecided = asked || (fixed.has('virtualStages') && !strict);
  if (pipeline === 1 && !isDecided && (name !== usualSchedule || chunks > 1)) return false;
  // Megatron-LM's interleaving, unless a file without a launcher sets it
  const isStrict = kind.name !== name && (strict || !fixed.has('virtualStages'));
  if (isStrict && (microBatches % pipeline !== 0 || pipeline === 1)) return false;
  if (!asked && scheduleKind(name).planned && 3 * pipeline * chunks * microBatches > maximumPlannedOperations) return false;
  if (kind.unmet({ ...toScheduleProblem([], pipeline, chunks), microBatches }) !== null) return false;
  if (fixedCut(problem)?.length === pipeline * virtualStages) return true;
  if (canCut(request.model.layers, pipeline, chunks, kind.placement)) return true;
  return !isStrict && isDecided && request.model.layers >= fewestLayers(request.model, kind, { pipeline, virtualStages });
}

/** Whether there are bounds on a schedule whose slices are solved for. */
export function hasSliceBounds({ bound }: Pick<ScheduleOnLayout, 'bound'>): boolean {
  return bound === 'drained' || bound === 'sliced';
}

/** Powers of two of equal token slices, and those that are solved for. */
function searchedSlices(
  request: PlanRequest,
  sizes: Sizes,
  microBatches: number,
  asked: boolean,
  kind: ScheduleOnLayout,
): Pick<ScheduleChoice, 'slices' | 'solved'>[] {
  const { training, slicing } = request;
  const batch = training.globalBatch / sizes.data;
  if (givenScheme(request, { microBatches, microBatch: batch / microBatches }) !== null) return [{ slices: 1 }];
  if (sizes.context > 1 && !asked) return [];
  const units = Math.ceil(training.sequenceLength / sliceUnit(training.sequenceLength, slicing.unit));
  const choices: Pick<ScheduleChoice, 'slices' | 'solved'>[] = asked ? [{ slices: 1 }] : [];
  for (let slices = 2; slices <= Math.min(kind.mostSlices ?? 1, units); slices *= 2) choices.push({ slices });
  const solved = mostSolvedSlices(request);
  return hasSliceBounds(kind) && solved > 1 && sizes.pipeline > 1 ? [...choices, { slices: solved, solved: true }] : choices;
}

/**
 * The slices that the files give, for this many micro-batches: as they are where they cover them; where every sequence is cut alike,
 * divided among them again. Null where no file gives any, or those of another batch.
 */
export function givenScheme(
  { slicing }: PlanRequest,
  { microBatches, microBatch }: { readonly microBatches: number; readonly microBatch: number },
): Scheme | null {
  const { scheme } = slicing;
  if (scheme === null || scheme.reduce((sequences, { batch }) => sequences + batch, 0) === microBatches * microBatch) return scheme;
  const [first] = scheme;
  if (first === undefined || scheme.some(({ tokens }) => tokens.join() !== first.tokens.join())) return null;
  return Array.from({ length: microBatches }, () => ({ batch: microBatch, tokens: first.tokens }));
}

/** Tokens that slices are multiples of. */
export function sliceUnit(sequenceLength: number, unit: number | null): number {
  return unit ?? defaultUnit(sequenceLength);
}

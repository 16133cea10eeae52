import { ExpectedError, type CancelSignal } from '../errors';
import { makePlan } from '../planner/make-plan';
import { chosenCandidate, type Candidate } from '../planner/plan';
import { keepsFree } from '../memory-model/search-margin';
import { bestPerSchedule } from '../planner/choose';
import { withVirtualStages } from '../planner/candidates/virtual-stages';
import { plainName, scheduleOn } from '../schedules/on-layout';
import { createEvaluator, groupName } from './evaluate';
import type { SearchProblem } from './search-problem';
import { isUneven } from './launched';
import { ownPoint } from './own-point';
import { canCut } from './cuts';
import { refusedSizes } from './refused-sizes';
import type { FoundPlan } from './result';
import { cannotSplit } from './space';
import { sentence, type Value } from '../sentence';
import { maximum } from '../numbers';
import { createDescriber, type Describer } from './describe';

/**
 * What a plan of the request as it is chooses, with the layout that the files launch or the assumed one, and then the best of each schedule
 * that it might choose. They are members of every search, whatever the space leaves out (cuts, ZeRO stages, tensor parallelism across
 * nodes, slices that are not equal), so that no search answers worse than the plan. Empty where there is no such plan.
 */
export function ownPlans(problem: SearchProblem, details: Describer, signal?: CancelSignal): readonly FoundPlan[] {
  const { fixed, schedules } = problem;
  const request = schedules === undefined ? problem.request : { ...problem.request, runs: schedules };
  try {
    const open = fixed.has('schedule') ? request : { ...request, schedule: null };
    const plan = makePlan(request, { signal, isCompared: open.schedule !== request.schedule });
    const chosen = chosenCandidate(plan);
    const isLeftOut = ({ schedule }: Candidate): boolean => cannotSplit(problem, schedule, request.training);
    // If no runtime runs the chosen schedule, the search compares it with all that the plan compared.
    const others = bestPerSchedule(open, plan.candidates).filter(
      (candidate) => candidate.id !== chosen.id && (isLeftOut(chosen) || !isLeftOut(candidate)),
    );
    return [chosen, ...others].map((candidate) => ownFound(request, candidate, details));
  } catch (error) {
    if (error instanceof ExpectedError) return [];
    throw error;
  }
}

/**
 * The fastest that fits of what a plan of the request as it is might choose: as good a layout as can be had before a search has found one.
 * Null where none fits or launchers accept it, or memory that is to be kept free is not.
 * @throws CancelledError.
 */
export function ownLayout(problem: SearchProblem, signal?: CancelSignal): FoundPlan | null {
  const details = createDescriber(problem, createEvaluator(problem.request), signal);
  const share = problem.keptFree?.share ?? 0;
  const own = ownPlans(problem, details, signal).filter((plan) => plan.fits && !isRefused(problem, plan) && keepsFree(plan.verdict, share));
  return own.reduce<FoundPlan | null>((best, plan) => (best === null || plan.iterationMs < best.iterationMs ? plan : best), null);
}

/** A plan's candidate as a search has it: interleaved 1F1B is 1F1B on virtual stages. */
function ownFound(request: SearchProblem['request'], candidate: Candidate, details: Describer): FoundPlan {
  const own = withVirtualStages(request, candidate);
  const point = ownPoint(own, plainName(candidate.schedule, own.layout));
  return details.found(point, { ...candidate, name: own === request ? nameInSearch(candidate) : groupName(point) });
}

/** A plan's candidate by the name that a search gives it: with its number of slices, where the plan names only its schedule. */
function nameInSearch({ name, schedule, scheme }: Candidate): Value {
  const slices = maximum(scheme.map(({ tokens }) => tokens.length));
  return name === schedule && slices > 1 ? sentence`${name}, ${slices} slices` : name;
}

/**
 * Whether a launcher refuses to run a plan: its sizes do not divide what they share (`refusedSizes`), it interleaves as many micro-batches
 * as a multiple of the stages, and cuts layers into chunks as `stageCuts` does unless a file gives the cut.
 */
export function isRefused({ request, strict = false }: Pick<SearchProblem, 'request' | 'strict'>, { point, scheme }: FoundPlan): boolean {
  if (refusedSizes(request, point.layout) !== null) return true;
  if (!strict) return false;
  const { layout, schedule } = point;
  const { chunks, placement } = scheduleOn(schedule, layout);
  return isUneven(layout, scheme) || (chunks > layout.virtualStages && !canCut(request.model.layers, layout.pipeline, chunks, placement));
}

// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3: the order of a schedule problem, and what cannot be planned.
import type { Emit, ScheduleProblem, Unmet } from '../kind';
import { operationKind } from '../schedule';
import { toPipeline, orderedKinds, sharedOut } from './pipeline';
import { searchOrder } from './automatic-search';
import { sentence } from '../../sentence';

/** What the search cannot plan: a limit below what one micro-batch needs, or memory that is never given back. */
export function plannerUnmet(slots: 1 | 2): (problem: ScheduleProblem) => Unmet | null {
  return (problem) => {
    const { memory } = problem.chunkPasses ?? sharedOut(problem, slots);
    for (let stage = 0; stage < problem.stages; stage++) {
      const [chunk, up] = [stage, 2 * problem.stages - 1 - stage];
      const ofStage = (bytes: (chunk: number) => number): number => bytes(chunk) + (slots === 2 ? bytes(up) : 0);
      const unmet = unmetOnStage(
        ofStage((own) => memory.forward[own] ?? 0),
        ofStage((own) => Math.max(0, memory.backwardInput[own] ?? 0)),
        ofStage((own) => (memory.backwardInput[own] ?? 0) + (memory.backwardWeight[own] ?? 0)),
        memory.limit[stage] ?? 0,
      );
      if (unmet !== null) return unmet;
    }
    return null;
  };
}

/** @param returned what both gradients give back, below 0. */
function unmetOnStage(forward: number, input: number, returned: number, limit: number): Unmet | null {
  const needed = forward + input;
  if (!(needed <= limit))
    return {
      message: sentence`One micro-batch holds ${needed} on a stage, more than the memory limit of ${limit}`,
      remedy: sentence`raise the memory limit, or make micro-batches smaller`,
    };
  const left = forward + returned;
  if (!(left <= 1e-9 * needed))
    return {
      message: sentence`Each micro-batch leaks ${left} of its ${forward} forward activation on a stage`,
      remedy: sentence`make input and weight gradients together release what the forward takes`,
    };
  return null;
}

/** Orders of a planner with one chunk per stage, or two in a V. */
export function automaticOrder(problem: ScheduleProblem, slots: 1 | 2): (stage: number, emit: Emit) => void {
  const pipeline = toPipeline(problem, slots);
  const { length, operationCount } = pipeline;
  const { orders } = searchOrder(pipeline);
  return (stage, emit) => {
    const counts = new Uint32Array(operationCount);
    for (const operation of orders.subarray(stage * length, (stage + 1) * length)) {
      const unit = counts[operation] ?? 0;
      counts[operation] = unit + 1;
      const chunk = operation % slots === 0 ? stage : 2 * problem.stages - 1 - stage;
      emit(orderedKinds[Math.floor(operation / slots)] ?? operationKind.forward, chunk, unit);
    }
  };
}

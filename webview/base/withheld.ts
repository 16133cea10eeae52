import type { CandidateId, Plan } from '../../src/core/planner/plan';
import type { PageState } from '../../src/protocol/page';
import { comparedCandidate, shownCandidate, type Store } from './store';

/** Timelines of this many operations together come in a fraction of a second; a million take 35 MB. */
const affordableOperations = 400_000;

/** Whether the host keeps a candidate's timeline until it is asked for. */
export function isWithheld({ withheld = [] }: PageState, id: CandidateId): boolean {
  return withheld.some((one) => one.id === id);
}

/** Candidates whose timelines a page that draws all of them fetches: those of a plan with few operations, in its order. */
export function affordableCandidates({ withheld = [] }: PageState, { candidates }: Plan): readonly CandidateId[] {
  let left = affordableOperations;
  return candidates.flatMap(({ id, timeline }) => {
    const operations = timeline?.kind.length ?? withheld.find((one) => one.id === id)?.operations;
    if (operations === undefined) return [];
    left -= operations;
    return left >= 0 ? [id] : [];
  });
}

/** The plan whose timelines were requested, and which: each is requested once. */
const asked = new WeakMap<Plan, string>();

/** Requests the withheld timelines of the candidates on screen, which are all of the plan's where `drawsAll`. */
export function askForTimelines(store: Store, plan: Plan, drawsAll: boolean): void {
  const [state, view] = [store.state(), store.view()];
  const onScreen = [shownCandidate(plan, view), comparedCandidate(plan, view)].flatMap((candidate) => candidate?.id ?? []);
  const wanted = [...new Set([...onScreen, ...(drawsAll ? affordableCandidates(state, plan) : [])])];
  if (!wanted.some((id) => isWithheld(state, id)) || asked.get(plan) === wanted.join()) return;
  asked.set(plan, wanted.join());
  store.host.post({ type: 'draw', candidates: wanted });
}

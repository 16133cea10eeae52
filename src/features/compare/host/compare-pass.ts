import { ExpectedError } from '../../../core/errors';
import type { Plan } from '../../../core/planner/plan';
import { measuredAnswer, planSide, plansAnswer } from './answers';
import type { ComparedSide, ComparisonAnswer } from '../protocol';
import type { Compared, ComparisonHost } from './comparison-host';
import type { PlanSessions } from '../../../host/sessions/plan-sessions';
import { sentence } from '../../../core/sentence';

/** Identifies what is compared: the plans, or the id of a search for the other side; null for none. */
export interface Basis {
  readonly own: Plan | null;
  readonly other: Plan | string | null;
}

/** One comparison of a config as it is now. */
interface ComparePass {
  readonly sessions: PlanSessions;
  readonly host: ComparisonHost;
  readonly file: string;
  readonly other: Compared;
  readonly isSwapped: boolean;
  /** Of the answer. */
  readonly id: string;
  readonly signal: AbortSignal;
  readonly onProgress: (fraction: number) => void;
  /** Called as soon as both sides are known. */
  readonly onBasis: (basis: Basis) => void;
}

/** @throws ExpectedError where a side has no plan or a run cannot be read; CancelledError. */
export async function compareNow(pass: ComparePass): Promise<ComparisonAnswer> {
  const { sessions, host, file, other, id, signal } = pass;
  if (other.kind === 'rehearsed') return rehearsedAnswer(pass, other.answer);
  const own = await currentPlan(sessions, file);
  pass.onBasis({ own, other: null });
  if (other.kind === 'measured') {
    const against = { kind: 'measured', path: host.localPath(other.file), file: other.file } as const;
    const onProgress = (fraction: number): void => {
      if (!signal.aborted) pass.onProgress(fraction);
    };
    const comparison = await host.compare(own, against, { signal, onProgress });
    if (comparison.kind === 'plan') throw new Error('a measured run was compared as a plan');
    return measuredAnswer(id, comparison, own, { config: host.displayPath(file), run: host.displayPath(other.file) });
  }
  const sides = await comparedSides(pass, own, other);
  const [a, b] = pass.isSwapped ? [sides.other, sides.own] : [sides.own, sides.other];
  const comparison = await host.compare(a.plan, { kind: 'plan', plan: b.plan }, { signal });
  if (comparison.kind !== 'plan') throw new Error('a plan was compared as a measured run');
  return plansAnswer(id, comparison, a.side, b.side);
}

/** What was found stays, whatever the config sets now. */
function rehearsedAnswer({ sessions, file, id, onBasis }: ComparePass, answer: (id: string) => ComparisonAnswer): ComparisonAnswer {
  onBasis({ own: sessions.get(file)?.plan ?? null, other: null });
  return answer(id);
}

interface Sides {
  readonly own: PlannedSide;
  readonly other: PlannedSide;
}

interface PlannedSide {
  readonly plan: Plan;
  readonly side: ComparedSide;
}

function comparedSides(
  pass: ComparePass,
  own: Plan,
  other: Exclude<Compared, { readonly kind: 'measured' | 'rehearsed' }>,
): Sides | Promise<Sides> {
  switch (other.kind) {
    case 'best':
      return compareBest(pass, own);
    case 'config':
      return compareConfig(pass, own, other.file);
    case 'earlier':
      return compareEarlier(pass, own, other);
  }
}

function compareEarlier(
  { host, file, onBasis }: ComparePass,
  own: Plan,
  { name, plan }: Extract<Compared, { readonly kind: 'earlier' }>,
): Sides {
  onBasis({ own, other: null });
  return {
    own: { plan: own, side: planSide('config', host.displayPath(file), own) },
    other: { plan, side: planSide('earlier', name, plan) },
  };
}

async function compareBest({ host, file, signal, onBasis }: ComparePass, own: Plan): Promise<Sides> {
  const { plan, isLaunched, answer } = await host.best(file, signal);
  onBasis({ own, other: answer });
  const config = host.displayPath(file);
  return {
    own: { plan: own, side: planSide(isLaunched ? 'launched' : 'planned', config, own) },
    other: { plan, side: planSide('best', config, plan) },
  };
}

async function compareConfig({ sessions, host, file, onBasis }: ComparePass, own: Plan, other: string): Promise<Sides> {
  const plan = await currentPlan(sessions, other);
  onBasis({ own, other: plan });
  return {
    own: { plan: own, side: planSide('config', host.displayPath(file), own) },
    other: { plan, side: planSide('config', host.displayPath(other), plan) },
  };
}

/** Waits for a config's planning and returns its plan. @throws ExpectedError where it has none. */
async function currentPlan(sessions: PlanSessions, file: string): Promise<Plan> {
  const known = sessions.get(file);
  const state = known === undefined ? undefined : await sessions.ensure(file, known.format);
  if (state !== undefined && state.plan !== null && state.error === null) return state.plan;
  throw (
    state?.error ??
    new ExpectedError('no-plan', sentence`There is nothing to compare: the config has no plan`, sentence`fix the config first`)
  );
}

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { loadRun } from '../../load-run';
import { makePlan } from '../../../src/core/planner/make-plan';
import { candidateIds, type Candidate, type Plan } from '../../../src/core/planner/plan';
import { resolveRun } from '../../../src/core/plan-request/resolve';

/** The plan that the extension makes of a config with its settings as they come. */
export async function planOfFile(file: string): Promise<Plan> {
  const read = async (from: string, name: string): Promise<{ file: string; text: string }> => {
    const referenced = path.join(path.dirname(from), name);
    return { file: referenced, text: await readFile(referenced, 'utf8') };
  };
  const run = await loadRun(file, await readFile(file, 'utf8'), read);
  return makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
}

/** The plan with every candidate that can be, each some per cent slower than the one that it copies: no two are drawn alike. */
export function withAllCandidates(plan: Plan): Plan {
  const candidates = candidateIds.map((id, index): Candidate => {
    const { timeline, ...candidate } = plan.candidates[index % plan.candidates.length]!;
    if (timeline === null) throw new Error(`${candidate.id} has no timeline`);
    const slower = 1 + index / 100;
    const scaled = (ms: Float64Array): Float64Array => ms.map((each) => each * slower);
    const { startMs, endMs, arrivalMs, makespanMs } = timeline;
    return {
      ...candidate,
      id,
      timeline: {
        ...timeline,
        startMs: scaled(startMs),
        endMs: scaled(endMs),
        arrivalMs: arrivalMs === null ? null : scaled(arrivalMs),
        makespanMs: makespanMs * slower,
      },
    };
  });
  return { ...plan, candidates, chosen: candidateIds[0] };
}

import type { LocatedPartial } from '../run/given';
import { isLauncher } from '../launchers/registry';
import type { Run } from '../run/run';
import { keptFreeFor } from '../memory-model/search-margin';
import { notInFile } from '../domain/capabilities';
import type { Located } from '../domain/located';
import type { PlanRequest } from '../domain/request';
import { namesRuntime } from './abilities';
import type { SearchProblem } from './search-problem';
import { freeNames, memoryKeys, searchKeys, type SearchKey } from '../domain/layout-choices';

/**
 * The search that a run asks for, in every face alike: what its files fix stays, and model, cluster, sequence length, global batch,
 * precision and optimizer always do. A launcher's file sets its whole layout: unless other choices are asked for, all that the file can
 * express is chosen. The optimizer stays on the GPU unless files have it on the host or `asked` names it.
 *
 * @param request the run, resolved.
 * @param asked choices that are searched though files fix them; null: not set. ZeRO 2 and 3 stay even so: what they exchange in every
 * micro-batch is not timed, so that leaving them would look like a loss.
 */
export function toSearchProblem(run: Run, request: PlanRequest, asked: readonly SearchKey[] | null = null): SearchProblem {
  const free = asked ?? (isLauncher(run.format) ? freeNames.all : freeNames.none);
  const { capabilities } = request;
  const { zeroStage, offloadOptimizer } = request.training;
  const released = new Set(free.filter((key) => key !== 'zeroStage' || zeroStage < 2));
  // with all memory choices free, an optimizer that is on the host may leave it
  const mayLeaveHost = offloadOptimizer === true && memoryKeys.every((key) => free.includes(key));
  if (mayLeaveHost) released.add('offloadOptimizer');
  const fixed = [...fixedBy(run)].filter((key) => !released.has(key));
  return {
    request,
    keptFree: keptFreeFor(request.training, run.keepFree?.value),
    fixed: new Set([...fixed, ...(capabilities === undefined ? [] : notInFile(capabilities))]),
    ...(request.runs === undefined ? {} : { schedules: request.runs }),
    ...(namesRuntime(run) ? { strict: true } : {}),
    ...(released.has('offloadOptimizer') ? { triesHost: true } : {}),
    ...(run.layout.tensor !== undefined && run.layout.pipeline !== undefined ? { launched: true } : {}),
  };
}

/** What the files of a run (or the command line) fix. */
function fixedBy(run: Run): Set<SearchKey> {
  const { layout, training } = run;
  const fixed = new Set<SearchKey>();
  const note = <T>(given: LocatedPartial<T>): void => {
    for (const key of searchKeys) {
      const located = (given as Readonly<Record<string, Located<unknown> | undefined>>)[key];
      if (located !== undefined && located.source.kind !== 'default') fixed.add(key);
    }
  };
  note(layout);
  note(training);
  if (layout.stageLayers !== undefined) for (const key of ['pipeline', 'virtualStages'] as const) fixed.add(key);
  if (run.schedule !== undefined || run.scheme !== undefined) fixed.add('schedule');
  return fixed;
}

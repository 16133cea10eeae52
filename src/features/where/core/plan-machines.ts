import { freeNames, type SearchKey } from '../../../core/domain/layout-choices';
import { gpusUsed } from '../../../core/domain/request';
import { ExpectedError } from '../../../core/errors';
import { isLauncher } from '../../../core/launchers/registry';
import type { SearchResult } from '../../../core/layout-search/result';
import { assumedGpuName } from '../../../core/plan-request/scenario';
import type { Run } from '../../../core/run/run';
import { applyOverrides, settingTexts } from '../../../core/terapipe/overrides';
import { machineSettings, type Machine, type MachineSettings } from './machines';
import type { MachinePlan } from './rank';

/** What a search found. */
type BestLayout = Pick<SearchResult, 'best'>;

/** The best layout on one machine, and the settings with which `plan --search` gives it. */
export interface FoundPlan<R extends BestLayout = SearchResult> extends MachinePlan {
  readonly result: R;
  readonly settings: MachineSettings;
}

/** A machine on which nothing could be planned, and why. */
export interface Unplanned {
  readonly machine: Machine;
  readonly error: ExpectedError;
}

interface MachinePlans<R extends BestLayout> {
  readonly planned: readonly { readonly machine: Machine; readonly plan: FoundPlan<R> }[];
  readonly unplanned: readonly Unplanned[];
}

interface PlanningMachines<R extends BestLayout> {
  /** Searched though the files set them; null: the layout, or of a launcher's file all that it can express. */
  readonly free: readonly SearchKey[] | null;
  /** The best layout of a run. */
  readonly search: (run: Run, searched: readonly SearchKey[] | null) => Promise<R>;
  /** Hears each machine before it is planned on. */
  readonly onMachine: (machine: Machine, index: number) => void;
}

/** The best layout of a run on each of several machines. @throws CancelledError; what goes wrong on one machine is in `unplanned`. */
export async function planMachines<R extends BestLayout>(
  run: Run,
  machines: readonly Machine[],
  options: PlanningMachines<R>,
): Promise<MachinePlans<R>> {
  const planned: { readonly machine: Machine; readonly plan: FoundPlan<R> }[] = [];
  const unplanned: Unplanned[] = [];
  for (const [index, machine] of machines.entries()) {
    options.onMachine(machine, index);
    try {
      planned.push({ machine, plan: await planOn(machine, run, options) });
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      unplanned.push({ machine, error });
    }
  }
  return { planned, unplanned };
}

async function planOn<R extends BestLayout>(machine: Machine, given: Run, { free, search }: PlanningMachines<R>): Promise<FoundPlan<R>> {
  const settings = machineSettings(machine, machine.gpus ?? givenGpus(given));
  const run = applyOverrides(given, settingTexts(Object.entries(settings)), assumedGpuName);
  const result = await search(run, free ?? (isLauncher(run.format) ? null : freeNames.layout));
  const { best } = result;
  return {
    result,
    settings,
    gpus: gpusUsed(best.point.layout),
    iterationMs: best.iterationMs,
    tokensPerSecond: best.tokensPerSecond,
    fits: best.fits,
  };
}

/** GPUs of all nodes that files and flags give. */
function givenGpus({ nodes, gpusPerNode }: Run): number | null {
  return nodes === undefined || gpusPerNode === undefined ? null : nodes.value * gpusPerNode.value;
}

import type { SliceRuntime } from '../../slice-runtimes/slice-runtime';
import type { LauncherReader } from '../../run/facts';
import { formatCount } from '../../format';
import { allOf, sentence } from '../../sentence';
import { chosenCandidate, type Plan } from '../../planner/plan';
import { plannedStep } from '../launchers/launch-settings';
import { checkedNewLauncher, newFileWriter, type NewFileWriter } from '../launchers/new-launcher';
import { refused, runnableBy } from './runs';
import type { WrittenSlices } from './slice-export';
import { minimum } from '../../numbers';
import { own } from '../../records';

/** A launch script with the flags of a runtime of slices. @param shell the reader of scripts. @throws ExpectedError `export-slices`. */
export async function runtimeScript(plan: Plan, runtime: SliceRuntime, shell: () => Promise<LauncherReader>): Promise<WrittenSlices> {
  return written(plan, runtime, await newFileWriter('megatron-shell'), await shell());
}

function written(plan: Plan, runtime: SliceRuntime, writer: NewFileWriter, read: LauncherReader): WrittenSlices {
  requireHardware(plan, runtime);
  const { plan: runs, replaced } = runnableBy(plan, runtime);
  const step = plannedStep(runs);
  const settings = { ...step.plan, ...(replaced === null ? {} : { replaced }) };
  const { text, fileName, gaps } = checkedNewLauncher({ ...step, plan: settings }, writer, read);
  requireKnown(text, runtime);
  return { text, fileName, gaps, runs };
}

/** Refuses a plan for GPUs where the runtime is for other hardware. @throws ExpectedError `export-slices`. */
function requireHardware(plan: Plan, { name, hardware }: SliceRuntime): void {
  if (hardware === null) return;
  const { gpu } = plan.request.cluster;
  const shortest = minimum(chosenCandidate(plan).scheme.flatMap(({ tokens }) => tokens));
  const place = sentence`its token slices run on ${hardware.name}, started by ${hardware.launcher}, and this plan is for ${gpu.name}`;
  const length = sentence`they gain from ${formatCount(hardware.shortest)} tokens a slice, and the shortest here has ${formatCount(shortest)}`;
  throw refused(
    name,
    shortest < hardware.shortest ? sentence`${place}; ${length}` : place,
    sentence`plan a script of ${name} itself, whose flags are then edited, or export for another runtime`,
  );
}

/**
 * Refuses a script with flags or values that the runtime's argparse would stop at, or that change nothing in it.
 * @throws ExpectedError `export-slices`.
 */
function requireKnown(text: string, { name, lacks, takes }: SliceRuntime): void {
  const command = text.replace(/^#.*$/gm, '');
  const written = [...command.matchAll(/(?<=\s)--([\w-]+)(?: ([\w.-]+))?/g)];
  const unknown = [
    ...new Set(
      written.flatMap(([, flag = '', value = '']) => {
        if (Object.hasOwn(lacks, flag)) return [`--${flag}`];
        return own(takes, flag)?.includes(value) === false ? [`--${flag} ${value}`] : [];
      }),
    ),
  ];
  if (unknown.length > 0)
    throw refused(name, sentence`it stops at or ignores ${allOf(unknown)}`, sentence`plan without these settings, or for another runtime`);
}

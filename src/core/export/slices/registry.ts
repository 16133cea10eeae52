import { sliceRuntimes } from '../../slice-runtimes/registry';
import { dpResults } from './dp-results';
import type { SliceExport, WrittenSlices } from './slice-export';
import type { LauncherReader } from '../../run/facts';
import type { SliceRuntime } from '../../slice-runtimes/slice-runtime';
import { allOf, sentence } from '../../sentence';
import type { Plan } from '../../planner/plan';
import { plannedStep } from '../launchers/launch-settings';
import { checkedNewLauncher, newFileWriter, type NewFileWriter } from '../launchers/new-launcher';
import { refused, runnableBy } from './runs';

/** Everything that slices are written as: files, and a script for each runtime whose flags cut sequences. */
export const sliceExports: readonly SliceExport[] = [dpResults, ...sliceRuntimes.map(scriptFor)];

/** A launch script with the flags of a runtime of slices. */
function scriptFor(runtime: SliceRuntime): SliceExport {
  return {
    id: runtime.id,
    name: runtime.name,
    description: `slices for ${runtime.name}`,
    language: 'shellscript',
    write: async (plan, shell) => written(plan, runtime, await newFileWriter('megatron-shell'), await shell()),
  };
}

function written(plan: Plan, runtime: SliceRuntime, writer: NewFileWriter, read: LauncherReader): WrittenSlices {
  const { plan: runs, replaced } = runnableBy(plan, runtime);
  const step = plannedStep(runs);
  const settings = { ...step.plan, ...(replaced === null ? {} : { replaced }) };
  const { text, fileName, gaps } = checkedNewLauncher({ ...step, plan: settings }, writer, read);
  requireKnown(text, runtime);
  return { text, fileName, gaps, runs };
}

/** Refuses a script with flags that the runtime's argparse would stop at. @throws ExpectedError `export-slices`. */
function requireKnown(text: string, { name, lacks }: SliceRuntime): void {
  const command = text.replace(/^#.*$/gm, '');
  const unknown = [
    ...new Set([...command.matchAll(/(?<=\s)--([\w-]+)/g)].flatMap(([, flag = '']) => (Object.hasOwn(lacks, flag) ? [`--${flag}`] : []))),
  ];
  if (unknown.length > 0)
    throw refused(name, sentence`it has no ${allOf(unknown)}`, sentence`plan without these settings, or for another runtime`);
}

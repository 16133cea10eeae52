import { sliceRuntimes } from '../../slice-runtimes/registry';
import type { SliceRuntime } from '../../slice-runtimes/slice-runtime';
import { dpResults } from './dp-results';
import type { SliceExport } from './slice-export';

/** Everything that slices are written as: files, and a script for each runtime whose flags cut sequences. */
export const sliceExports: readonly SliceExport[] = [dpResults, ...sliceRuntimes.map(scriptFor)];

/** A launch script with the flags of a runtime of slices. */
function scriptFor(runtime: SliceRuntime): SliceExport {
  return {
    id: runtime.id,
    name: runtime.name,
    description: `slices for ${runtime.name}`,
    hardware: runtime.hardware?.name ?? null,
    language: 'shellscript',
    // of other hardware the shortest slice is named, which a plan has
    ...(runtime.hardware === null ? { requirePlannable: async (run) => (await import('./runs')).requirePlannable(run, runtime) } : {}),
    write: async (plan, shell) => (await import('./runtime-script')).runtimeScript(plan, runtime, shell),
  };
}

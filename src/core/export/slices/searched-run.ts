import { overridden, type Located } from '../../domain/located';
import { runtimeCapabilities } from '../../launchers/runtimes';
import { without } from '../../records';
import type { Run } from '../../run/run';
import type { SliceRuntime } from '../../slice-runtimes/slice-runtime';

/**
 * A run as a runtime of token slices runs it, for a search of its layouts: in the order of Seq1F1B, on stages that are not virtual, without
 * what the runtime does not run together with slices. What the command line sets stays, and is refused where the file is written.
 */
export function slicedRun(run: Run, { limits }: Pick<SliceRuntime, 'limits'>): Run {
  const isAsked = (given: Located<unknown> | undefined): boolean => given?.source.kind === 'override';
  const { layout, schedules } = run;
  const capabilities = runtimeCapabilities.megatron;
  const sized = {
    ...(isAsked(layout.stageLayers) ? layout : without(layout, 'stageLayers')),
    ...(isAsked(layout.virtualStages) ? {} : { virtualStages: overridden(1) }),
    ...(limits.includes('context') && !isAsked(layout.context) ? { context: overridden(1) } : {}),
  };
  return {
    ...without(run, 'schedule', 'scheme', 'split'),
    layout: sized,
    schedules: schedules ?? overridden(['Seq1F1B']),
    capabilities: {
      ...capabilities,
      setBy: { ...capabilities.setBy, virtualStages: 'nobody', ...(limits.includes('context') ? { context: 'nobody' } : {}) },
      ...(limits.includes('recompute') ? { recomputes: ['none'] } : {}),
    },
  };
}

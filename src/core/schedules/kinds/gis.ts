import type { ScheduleKind } from '../kind';
import { emitUniform, uniformTraits } from '../uniform-blocks';

/**
 * The generalised interleaved schedule of PipeOffload (arXiv 2503.01328, sections 3.1 and 3.2): interleaved 1F1B in groups of half of the
 * stages (GIS-H) to all of them (GIS), with as many micro-batches of each chunk in flight.
 */
export const gis: ScheduleKind = {
  ...uniformTraits,
  name: 'GIS',
  grouped: true,
  slicesInFlight: () => 1,
  order: (problem) => emitUniform(problem, problem.groupedMicroBatches ?? Math.ceil(problem.stages / 2)),
};

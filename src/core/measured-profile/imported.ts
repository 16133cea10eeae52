import type { PlanRequest } from '../domain/request';
import type { ImportDescription } from './csv';
import { layerShapeOf } from './shape';

/**
 * What a file of times measured elsewhere is taken to be of: the layer of `request` on `device`.
 * @param measuredAt ISO 8601.
 */
export function importedFor({ model, layout, training, title }: PlanRequest, device: string, measuredAt: string): ImportDescription {
  return {
    title,
    measuredAt,
    device: { kind: isProcessor(device) ? 'cpu' : 'gpu', name: device, memoryBytes: null, driver: null },
    tensor: layout.tensor,
    shape: layerShapeOf(model, layout.tensor, layout.expert),
    precision: training.precision,
    attention: { forward: training.attention, backward: training.attention },
  };
}

/** Names of processors as their makers give them. */
function isProcessor(device: string): boolean {
  return /\b(cpu|epyc|xeon|ryzen|threadripper|core i\d|apple m\d)\b/i.test(device);
}

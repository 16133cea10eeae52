import { elementBytes } from '../domain/number-formats';
import { attentionWidths } from '../model/parameters';
import { allToAllSeconds, collectiveBandwidth, nodeBusBandwidth } from './collectives';
import { joinedGpus } from '../domain/cluster';
import type { CostInputs } from './rates';

/**
 * Context parallelism by all-to-all of q, k, v and the output (heads for tokens), or round a ring, which every rank's keys and values go;
 * one pass. A group that leaves the GPUs that a node or NVLink joins runs at the network's speed, which the GPUs of a node share.
 */
export function contextParallelSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  const ranks = layout.context;
  if (ranks <= 1) return 0;
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const element = elementBytes(training);
  if (training.contextParallelComm === 'ring') {
    const bandwidth =
      layout.tensor * ranks <= joinedGpus(cluster)
        ? nodeBusBandwidth(cluster.links, 2)
        : collectiveBandwidth(cluster) / cluster.gpusPerNode;
    return ((ranks - 1) * element * localTokens * (key + value)) / bandwidth;
  }
  const bytes = element * localTokens * (query + key + value + output);
  if (layout.tensor * ranks > joinedGpus(cluster)) return allToAllSeconds(bytes, ranks, layout.tensor, cluster);
  return ((ranks - 1) / ranks) * (bytes / nodeBusBandwidth(cluster.links, ranks));
}

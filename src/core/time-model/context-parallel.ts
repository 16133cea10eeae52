import { elementBytes } from '../spec/number-formats';
import { attentionWidths } from '../model/parameters';
import { networkBandwidth, nodeBusBandwidth } from './collectives';
import { joinedGpus } from '../spec/cluster';
import type { CostInputs } from './rates';

/** Context parallelism by all-to-all of q, k, v and the output (heads for tokens), or round a ring, which every rank's keys and values go; one pass. */
export function contextParallelSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  const ranks = layout.context;
  if (ranks <= 1) return 0;
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const element = elementBytes(training);
  if (training.contextParallelComm === 'ring') {
    const bandwidth =
      layout.tensor * ranks <= joinedGpus(cluster)
        ? nodeBusBandwidth(cluster.links, 2)
        : networkBandwidth(cluster.links) / cluster.gpusPerNode;
    return ((ranks - 1) * element * localTokens * (key + value)) / bandwidth;
  }
  return ((ranks - 1) / ranks) * ((element * localTokens * (query + key + value + output)) / nodeBusBandwidth(cluster.links, ranks));
}

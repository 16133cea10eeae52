import { gpusText } from '../cluster/groups';
import { formatCount } from '../format';
import { gpusUsed, type PlanRequest } from '../domain/request';
import { lengthsText } from './sequence-lengths';
import { sentence, type Sentence } from '../sentence';

/** What a plan is of, as every surface shows it: `8 x H100-80GB · 4,096 tokens · batch 32`. */
export function scenarioText({ cluster, training, layout }: Pick<PlanRequest, 'cluster' | 'training' | 'layout'>): Sentence {
  const gpus = gpusUsed(layout);
  const machine = cluster.groups === undefined ? `${formatCount(gpus)} x ${cluster.gpu.name}` : gpusText(cluster, gpus);
  return sentence`${machine} · ${lengthsText(training)} · batch ${formatCount(training.globalBatch)}`;
}

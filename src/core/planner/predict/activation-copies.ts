import { hostGBps } from '../../cluster/links';
import { joinedGpus } from '../../domain/cluster';
import { ExpectedError } from '../../errors';
import { chunkMemories } from '../../memory-model/chunk-memory';
import { host, type Schedule } from '../../schedules/schedule';
import type { Transfers } from '../../schedules/simulate/transfers';
import { counted, sentence } from '../../sentence';
import { pipelineLinkSeconds, sendLatencySeconds } from '../../time-model/boundary';
import type { Pipeline, PipelineChunks } from './pipeline';

/**
 * What copies of activations take, ms: the activations that a unit keeps on its chunk, over the links of a node to another stage, or over
 * the GPU's link to the host.
 * @throws ExpectedError `schedule-unmet` where two stages that copy to each other cannot lie on one node.
 */
export function copyTimes(
  { stages }: Pick<Pipeline, 'stages'>,
  { inputs, chunkContents }: Pick<PipelineChunks, 'inputs' | 'chunkContents'>,
  { name, units, copies }: Pick<Schedule, 'name' | 'units' | 'copies'>,
): Pick<Transfers, 'copyMs'> {
  if (copies === undefined) return {};
  const memories = chunkMemories(inputs, units, chunkContents);
  const copyMs = new Float64Array(copies.before.length);
  stages.forEach((stage, index) => {
    const [from = 0, end = 0] = copies.start.subarray(index, index + 2);
    if (from === end) return;
    const to = copies.to[index] ?? host;
    const partner = stages[to];
    if (partner !== undefined) requireOneNode(name, stage, partner);
    const { tensor } = stage.inputs.layout;
    const ms = (bytes: number): number =>
      partner === undefined
        ? bytes / (1e6 * hostGBps(stage.inputs.cluster))
        : 1e3 * (pipelineLinkSeconds(stage.inputs, bytes * tensor, { joined: true }) + sendLatencySeconds);
    for (let copy = from; copy < end; copy++) {
      const memory = memories[copies.chunk[copy] ?? 0];
      copyMs[copy] = ms(memory?.alike[memory.unitKinds[copies.unit[copy] ?? 0] ?? 0]?.activations ?? 0);
    }
  });
  return { copyMs };
}

type Stage = Pipeline['stages'][number];

/** Stages are placed so that both of a pair lie on one node, as BPipe's authors do, where a node has room for two stages. */
function requireOneNode(name: string, { inputs }: Stage, partner: Stage): void {
  const { layout, cluster } = inputs;
  const gpus = 2 * layout.tensor * layout.context;
  const joined = joinedGpus(cluster);
  if (gpus <= joined && partner.inputs === inputs) return;
  if (partner.inputs !== inputs)
    throw new ExpectedError(
      'schedule-unmet',
      sentence`${name} copies activations between stages that are on nodes of different kinds`,
      sentence`use one kind of node, or 1F1B`,
    );
  throw new ExpectedError(
    'schedule-unmet',
    sentence`${name} copies activations between two stages of ${counted(gpus / 2, 'GPU')} each, but a node has ${joined}`,
    sentence`use a smaller tensor or context parallel size, or 1F1B`,
  );
}

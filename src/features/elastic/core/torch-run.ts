import * as v from 'valibot';
import { ExpectedError } from '../../../core/errors';
import type { ModelSpec } from '../../../core/domain/model';
import { planText, type WrittenRun } from '../../../core/export/torch/folder';
import { optimizerSettings } from '../../../core/export/torch/optimizer-settings';
import { adamNames, requireElasticTrainable } from '../../../core/export/torch/refusals';
import { runScript } from '../../../core/export/torch/run-script';
import { formatDuration, formatNumber, plural } from '../../../core/format';
import { remarkLine, type Remark } from '../../../core/launchers/writing/remarks';
import { maximum } from '../../../core/numbers';
import { capitalised, printable } from '../../../core/text';
import { say, sentence } from '../../../core/sentence';
import type { ElasticEpoch, ElasticPlan } from './plan';
import type { ElasticRequest, Freezing } from './request';
import { elasticRunSchema, type ElasticRunFile } from './torch-run-schema';

/** The folder for a plan. @throws ExpectedError `export-torchrun` for what the runtime does not train. */
export function elasticRunFolder(plan: ElasticPlan): WrittenRun {
  const { request } = plan;
  const model = trainedModel(request);
  requireElasticTrainable(model, request.training, [
    [
      request.model.ends.patchWidth === null && !request.model.ends.causal,
      sentence`an encoder of texts`,
      sentence`plan a ViT or a decoder`,
    ],
    [model.tiedEmbeddings, sentence`a head tied to the embedding, which freezes`, sentence`plan with --set model.tiedEmbeddings=false`],
  ]);
  for (const epoch of plan.epochs) requireWholeLayers(epoch, model.layers);
  const gaps = trainingGaps(request);
  const started = { title: request.title, nodes: request.cluster.nodes, gpusPerNode: usedGpus(request), file: 'elastic.json' } as const;
  return {
    gaps,
    files: new Map([
      ['elastic.json', planText(elasticFile(plan, model))],
      ['run.sh', runScript({ ...started, examples: [`--data ${dataName(request)}`, `--data ${dataName(request)} --save checkpoints`] })],
      ['README.md', readmeText(plan, gaps)],
    ]),
  };
}

/** What terapipe_torch/elastic/plan.py reads. */
function elasticFile({ request, epochs }: ElasticPlan, model: TrainedModel): ElasticRunFile {
  const { title, training, freezing, firstLength, batch, batchScaling, microBatches, schedule, cache } = request;
  const replicas = firstReplicas(request);
  const { settings } = optimizerSettings({ request: { training: { globalBatch: batch * replicas } } });
  return v.parse(elasticRunSchema, {
    kind: 'terapipe-torch-elastic',
    version: 1,
    title,
    model,
    training: {
      sequenceLength: training.sequenceLength,
      precision: training.precision,
      recompute: training.recompute,
      globalBatch: batch * replicas,
      optimizer: 'adam',
      ...settings,
    },
    epochs: request.epochs,
    samples: request.datasetSize,
    pipelineLength: firstLength,
    replicas,
    batch,
    batchScaling,
    microBatches: typeof microBatches === 'number' ? microBatches : null,
    schedule,
    freezing: freezingRule(freezing),
    mechanisms: { pipe: true, replicas: true, cache: cache.enabled && epochs.some((epoch) => epoch.cache.state !== 'none') },
    cacheBytes: maximum(epochs.map((epoch) => epoch.cache.hostBytes)),
    cacheDiskBytes: maximum(epochs.map((epoch) => epoch.cache.diskBytes)),
    planned: epochs.map(plannedEpoch),
  });
}

function plannedEpoch(epoch: ElasticEpoch): object {
  const { frozenLayers, pipelineLength, replicas, microBatches, slices, isFrozenInside, epochMs } = epoch;
  return { epoch: epoch.epoch, frozenLayers, pipelineLength, replicas, microBatches, slices, isFrozenInside, epochMs };
}

/** A model as the runtime reads it, with what it takes for images. */
interface TrainedModel extends ModelSpec {
  readonly headBias?: boolean;
  readonly causal?: boolean;
  readonly patchWidth?: number;
}

/** With the classes of images as its vocabulary, and a position for each patch. */
function trainedModel({ model: { spec, ends }, training }: ElasticRequest): TrainedModel {
  const { patchWidth } = ends;
  const { sequenceLength } = training;
  if (patchWidth === null)
    return { ...spec, maxPositions: spec.positions === 'learned' ? Math.max(sequenceLength, spec.maxPositions ?? 0) : spec.maxPositions };
  return {
    ...spec,
    vocab: ends.headProducts[0]?.columns ?? 0,
    positions: 'learned',
    maxPositions: sequenceLength,
    tiedEmbeddings: false,
    headBias: true,
    causal: false,
    patchWidth,
  };
}

function freezingRule(freezing: Freezing): object {
  const { kind: rule } = freezing;
  if (freezing.kind === 'given') return { rule, alpha: 0, frozenLayers: freezing.frozenLayers };
  return { rule, alpha: freezing.kind === 'changes' ? 0 : freezing.alpha, frozenLayers: [] };
}

/** Of a node: its first pipelines may leave some idle. */
function usedGpus({ cluster, firstLength }: ElasticRequest): number {
  return Math.floor(cluster.gpusPerNode / firstLength) * firstLength;
}

function firstReplicas(request: ElasticRequest): number {
  return (request.cluster.nodes * usedGpus(request)) / request.firstLength;
}

/** @throws ExpectedError `export-torchrun` for an epoch with fewer layers left than stages. */
function requireWholeLayers({ epoch, frozenLayers, pipelineLength, isFrozenInside }: ElasticEpoch, layers: number): void {
  const left = isFrozenInside ? layers : layers - Math.min(frozenLayers, layers - 1);
  if (pipelineLength <= left) return;
  throw new ExpectedError(
    'export-torchrun',
    sentence`The PyTorch runtime cuts between whole layers, and epoch ${epoch} has ${left} of them on ${pipelineLength} GPUs`,
    sentence`plan with a smaller elastic.pipelineLength, or with --set elastic.shrink=fastest`,
  );
}

function trainingGaps({ training }: ElasticRequest): readonly Remark[] {
  const { optimizer, dropout } = training;
  return [
    ...(adamNames.has(optimizer)
      ? []
      : [{ what: sentence`the optimizer ${optimizer}`, reason: sentence`the PyTorch runtime trains with AdamW, which keeps more memory` }]),
    ...(dropout ? [{ what: sentence`dropout`, reason: sentence`the PyTorch runtime trains without it` }] : []),
  ];
}

function dataName({ model }: ElasticRequest): string {
  return model.ends.patchWidth === null ? 'tokens.bin' : 'images.pt';
}

function readmeText({ request, epochs, totalMs, speedup }: ElasticPlan, gaps: readonly Remark[]): string {
  const { title, firstLength, cluster } = request;
  const processes = firstReplicas(request) * firstLength;
  const data = dataName(request);
  const of =
    data === 'images.pt'
      ? 'torch.save of {"images": [count, channels, height, width], "labels": int64 [count]}'
      : '.bin or .npy of token ids; random tokens without it';
  return `# ${printable(title)}

A run that freezes layers: ${plural(epochs.length, 'epoch')} on ${plural(processes, 'process', 'processes')}, at first in pipelines of ${firstLength}.
Planned: ${formatDuration(totalMs)}, ${formatNumber(speedup)}x as fast as without freezing. Stages are cut between whole layers, so that they may be less even than planned.
${gaps.map((gap) => `\n${capitalised(printable(say(remarkLine(gap))))}.\n`).join('')}
| file            | what it is                                                          |
| --------------- | ------------------------------------------------------------------- |
| elastic.json    | the model, the first pipelines, the rule, what is planned by epoch  |
| terapipe_torch/ | the runtime: PyTorch 2.6 or newer, nothing else                     |
| train.py        | what torchrun starts                                                |
| run.sh          | starts it here or under Slurm                                       |

On this machine, with ${plural(processes, 'GPU')}, or without any on the CPU:

    python train.py elastic.json --data ${data}

Under Slurm, from this folder:

    sbatch run.sh --data ${data} --save checkpoints --epochs-log epochs.jsonl
${
  cluster.nodes === 1
    ? ''
    : `
On ${plural(cluster.nodes, 'node')} without Slurm, start run.sh on each of them with \`NODE_RANK\` (0 to ${cluster.nodes - 1}) and \`MASTER_ADDR\` set.
`
}
Options of train.py (\`--help\` lists all):

- \`--data FILE\`: ${of}.
- \`--by-rule\`: freezes by the rule on the norms of the run itself, not as planned.
- \`--save DIR\`, \`--save-every N\`, \`--resume DIR\`, \`--evaluate FILE\`, \`--epochs-log FILE\`, \`--cache DIR\`.

Learning rate and other settings of AdamW are in elastic.json.
`;
}

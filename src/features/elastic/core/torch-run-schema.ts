import * as v from 'valibot';
import { described, torchModel, torchTraining } from '../../../core/export/torch/schema';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const size = v.pipe(v.number(), v.integer(), v.minValue(1));

const freezing = v.object({
  rule: described('As `elastic.freezing` of terapipe.json.', v.picklist(['alpha', 'gradients', 'changes', 'given'])),
  alpha: described('Part of the layers left that freezes; of `alpha` and `gradients`.', v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  frozenLayers: described('Of each epoch, the last for all later ones; of `given`.', v.array(count)),
});

const mechanisms = v.object({
  pipe: described('Shorter pipelines when layers freeze.', v.boolean()),
  replicas: described('More of them on the ranks that this frees.', v.boolean()),
  cache: described('Outputs of frozen layers are kept.', v.boolean()),
});

const plannedEpoch = v.object({
  epoch: described('From 0.', count),
  frozenLayers: count,
  pipelineLength: described('Ranks of a pipeline.', size),
  replicas: described('Pipelines.', size),
  microBatches: described('Of a step of one pipeline.', size),
  slices: described('Tokens of the slices of every sequence.', v.array(size)),
  isFrozenInside: described('Frozen layers run through all stages, not before the first.', v.boolean()),
  epochMs: described('What the epoch is planned to take.', v.pipe(v.number(), v.minValue(0))),
});

/** The file of a run that freezes layers (docs/runtime.md). */
export const elasticRunSchema = v.pipe(
  v.object({
    kind: described('Distinguishes this file from others.', v.literal('terapipe-torch-elastic')),
    version: described('Version of this format.', v.literal(1)),
    title: v.string(),
    model: torchModel,
    training: torchTraining,
    epochs: size,
    samples: described('Of an epoch.', size),
    pipelineLength: described('Ranks of a pipeline of the first epoch.', size),
    replicas: described('Pipelines of the first epoch.', size),
    batch: described('Samples of a step of one pipeline in the first epoch.', size),
    batchScaling: described(
      'With more pipelines `batch` stays (`scaled`), or the samples of a step stay and are divided (`kept`).',
      v.picklist(['scaled', 'kept']),
    ),
    microBatches: described("Of a step of one pipeline; null: PipeTransformer's table.", v.nullable(size)),
    schedule: v.picklist(['GPipe', '1F1B']),
    freezing: described('The rule, where nothing is planned or with `--by-rule`.', freezing),
    mechanisms,
    cacheBytes: described("Of a machine's memory.", count),
    cacheDiskBytes: described("Of a machine's disk.", count),
    planned: described('Every epoch, as `terapipe elastic` planned it; none: by the rule.', v.array(plannedEpoch)),
  }),
  v.title('TeraPipe run that freezes layers, for PyTorch'),
  v.description('Written by `terapipe export --to torchrun` of a file with an `elastic` section. Times in ms, memory in bytes.'),
);

/** `elastic.json` of the PyTorch runtime. */
export type ElasticRunFile = v.InferOutput<typeof elasticRunSchema>;

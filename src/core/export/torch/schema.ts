import * as v from 'valibot';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const size = v.pipe(v.number(), v.integer(), v.minValue(1));
const nonNegative = v.pipe(v.number(), v.minValue(0));

/** A value with its description in the JSON schema. */
export const described = <const S extends v.GenericSchema>(description: string, schema: S) => v.pipe(schema, v.description(description));

/** What both kinds of files of the PyTorch runtime have of the model. */
export const torchModel = described(
  'Sizes of the model as it was planned, with what its config gives beyond them (rotary, normEpsilon, details). A decoder whose layers all attend.',
  v.looseObject({
    modelType: described('As the config calls it, or `custom`.', v.string()),
    layers: size,
    hidden: size,
    heads: size,
    kvHeads: size,
    headDim: size,
    ffn: described('Feed-forward width; of one expert where there are experts.', size),
    gatedMlp: v.boolean(),
    vocab: size,
    tiedEmbeddings: v.boolean(),
    maxPositions: v.nullable(size),
    positions: v.picklist(['learned', 'rotary', 'none']),
    norm: v.picklist(['layernorm', 'rmsnorm']),
    qkvBias: v.boolean(),
    attentionOutputBias: v.boolean(),
    mlpBias: v.boolean(),
    qkNorm: v.boolean(),
    experts: v.nullable(v.looseObject({ count: size, active: size })),
  }),
);

const layout = described(
  'Sizes of the parallel groups. Their product, without `expert`, is the number of processes.',
  v.object({
    pipeline: size,
    tensor: size,
    context: size,
    data: size,
    expert: size,
    sequenceParallel: v.boolean(),
    zeroStage: described('What data-parallel ranks shard: 1 optimizer state, 2 also gradients, 3 also weights.', v.picklist([0, 1, 2, 3])),
    rankOrder: described(
      'How processes are numbered: the group whose ranks are next to each other first.',
      v.array(v.picklist(['tensor', 'context', 'data', 'pipeline'])),
    ),
  }),
);

const stage = v.object({
  rank: described('Pipeline rank that has it.', count),
  firstLayer: described('From 0.', count),
  layers: count,
  embedding: v.boolean(),
  head: described('Final norm, head and loss.', v.boolean()),
});

const unit = v.object({
  microBatch: count,
  slice: described('Token slice of the micro-batch.', count),
  batch: described('Sequences.', size),
  tokens: described('Of each sequence.', size),
  context: described('Earlier tokens of each sequence.', count),
});

const action = v.pipe(v.string(), v.regex(/^\d+[FBIW]\d+$/));

/** How the learning rate falls. */
export const rateSchedules = ['constant', 'linear', 'cosine'] as const;

/** What both have of the training. */
export const torchTraining = v.object({
  sequenceLength: size,
  globalBatch: described('Sequences of a step, of all data-parallel ranks.', size),
  precision: v.picklist(['fp32', 'fp16', 'bf16']),
  recompute: described('`selective`: the attention core; `full`: whole layers.', v.picklist(['none', 'selective', 'full'])),
  optimizer: described('AdamW.', v.literal('adam')),
  learningRate: v.pipe(v.number(), v.gtValue(0)),
  learningRateSchedule: v.picklist(rateSchedules),
  warmupSteps: described('Steps in which the rate rises to `learningRate`.', count),
  decaySteps: described('Steps at whose end it has fallen to `minLearningRate`; null: those of the run.', v.nullable(size)),
  minLearningRate: nonNegative,
  weightDecay: nonNegative,
  beta1: v.pipe(v.number(), v.minValue(0), v.ltValue(1)),
  beta2: v.pipe(v.number(), v.minValue(0), v.ltValue(1)),
  epsilon: v.pipe(v.number(), v.gtValue(0)),
  gradientClip: described('Largest norm of the gradient; 0: it is not clipped.', nonNegative),
  seed: count,
});

const rows = <const S extends v.GenericSchema>(item: S) => v.pipe(v.array(v.array(item)), v.minLength(1));

/** The file that the PyTorch runtime trains from (docs/runtime.md). */
export const torchPlanSchema = v.pipe(
  v.object({
    kind: described('Distinguishes this file from others.', v.literal('terapipe-torch-plan')),
    version: described('Version of this format.', v.literal(1)),
    title: v.string(),
    schedule: described('Name of the order of operations. The runtime reads only the order itself.', v.string()),
    model: torchModel,
    layout,
    stages: described('A stage for each model chunk, in the order of the layers.', v.pipe(v.array(stage), v.minLength(1))),
    units: described(
      'What passes through the stages as one piece: token slices of the micro-batches of one data-parallel rank.',
      v.pipe(v.array(unit), v.minLength(1)),
    ),
    actions: described(
      'Operations of each pipeline rank in their order: the stage, then F forward, B backward, I backward of the input or W of the weights, then the unit.',
      rows(action),
    ),
    training: torchTraining,
    predicted: described(
      'What the plan expects of a step.',
      v.object({
        iterationMs: nonNegative,
        startMs: described('Of each action, from the start of the step.', rows(nonNegative)),
        endMs: rows(nonNegative),
        peakBytes: described('Of each pipeline rank.', v.array(nonNegative)),
      }),
    ),
  }),
  v.title('TeraPipe plan for PyTorch'),
  v.description('A planned training step, written by `terapipe export --to torchrun`. Lengths in tokens, times in ms, memory in bytes.'),
);

/** `plan.json` of the PyTorch runtime. */
export type TorchPlan = v.InferOutput<typeof torchPlanSchema>;

import { byDefault, type Located, type Place } from '../../../core/domain/located';
import { ExpectedError, placed } from '../../../core/errors';
import { datasets, type WrittenElastic } from '../../../core/run/elastic';
import type { Run } from '../../../core/run/run';
import type { LocatedPartial } from '../../../core/run/given';
import { toModelSpec } from '../../../core/run/written-model';
import { bytesPerGiB, formatCount, formatNumber } from '../../../core/format';
import { decoderEnds, encoderEnds, type ModelEnds } from '../../../core/model/ends';
import { reasonOfFace, type ResolveDefaults } from '../../../core/plan-request/scenario';
import { resolveRun } from '../../../core/plan-request/resolve';
import type { Assumption } from '../../../core/domain/request';
import { placePipelines } from './auto-dp';
import type { NormTable } from './norm-table';
import { givenPolicy } from './freeze';
import { greedyBalance } from './balance';
import type { BalanceName, ElasticRequest, Freezing, Throughput } from './request';
import { elasticUnits, type ElasticModel } from './units';
import { sentence, type Sentence } from '../../../core/sentence';

type FoundProfiles = Parameters<typeof resolveRun>[2];

/** Values taken when no file sets them, each with the reason that is shown. */
const defaults = {
  alpha: [1 / 3, sentence`PipeTransformer's conservative choice`],
  batchScaling: ['scaled', sentence`as PipeTransformer does: every pipeline keeps its batch`],
  microBatches: ['search', sentence`the fastest from K to 6 K, as PipeTransformer profiles them`],
  schedule: ['GPipe', sentence`as torch's Pipe, on which PipeTransformer runs`],
  tokenSlices: [1, sentence`whole sequences`],
  shrink: ['halve', sentence`as PipeTransformer does`],
  cache: [true, sentence`where it pays`],
  hostMemoryGB: [256, sentence`usual for a node of 8 GPUs`],
  diskGB: [1000, sentence`a usual local disk`],
  diskGBps: [2, sentence`a usual local disk`],
  hostLinkGBps: [12, sentence`PCIe 3.0 x16, of which about three quarters are reached`],
  hostMemoryGBps: [40, sentence`copies in a node of two sockets of DDR4`],
  transitionSeconds: [12, sentence`the CIFAR-10 log of PipeTransformer: 11, 14 and 11 s`],
  loaderWorkers: [4, sentence`PipeTransformer's own`],
  evaluationEvery: [1, sentence`after every epoch, as PipeTransformer does`],
  trainingEvaluationEvery: [0, sentence`never`],
  epochs: [10, sentence`as PipeTransformer's CIFAR-10 runs`],
  datasetSize: [50_000, sentence`that of CIFAR-10: give yours`],
} as const satisfies { readonly [K in keyof WrittenElastic]?: readonly [WrittenElastic[K], Sentence] };

/** Beyond any model, and what is planned in seconds. */
const mostLayers = 1000;
const mostStages = 256;

/** Samples a pipeline takes in one step when no file sets them: images as in PipeTransformer's CIFAR-10 runs, and texts. */
const defaultBatches = { images: 320, texts: 32 } as const;

/**
 * Fills in what the files leave open of a run that freezes layers, and reports what was filled.
 * @param found profiles near the config, one of which is used if it matches.
 * @param norms the log that `elastic.gradientNorms` names, read; null when it names none.
 * @throws ExpectedError, placed where a file sets it: `elastic-model` for models whose layers differ or have experts, `elastic-training`,
 * `elastic-pipeline-length`, `elastic-throughputs`, `elastic-frozen-layers`, `elastic-norms` (asked for and not given), and those of
 * `resolveRun`.
 */
export function resolveElastic(run: Run, face: ResolveDefaults, norms: NormTable | null, found: FoundProfiles = []): ElasticRequest {
  const elastic: LocatedPartial<WrittenElastic> = run.elastic ?? {};
  const dataset = elastic.dataset === undefined ? null : datasets[elastic.dataset.value];
  const model = resolveElasticModel(run, elastic.classes?.value ?? dataset?.classes ?? undefined);
  refuseOtherParallelism(run);
  refuseGroups(run);
  const assumptions: Assumption[] = [];
  const valueOrDefault = <K extends keyof typeof defaults>(key: K): WrittenElastic[K] => {
    const given: Located<WrittenElastic[K]> | undefined = elastic[key];
    if (given !== undefined) return given.value;
    const [value, reason] = defaults[key];
    assumptions.push({ key: `elastic.${key}`, value: typeof value === 'number' ? formatNumber(value) : String(value), reason });
    return value as WrittenElastic[K];
  };
  const resolved = resolvedRun(run, model.ends, face, found);
  const { cluster, training } = resolved;
  const firstLength = resolvePipelineLength(run, cluster.gpusPerNode, assumptions);
  const batch = resolveBatch(run, model, placePipelines(cluster, firstLength, firstLength).replicas, assumptions);
  const freezing = resolveFreezing(elastic, model.spec.layers, norms, () => valueOrDefault('alpha'));
  const check = (rates: Located<WrittenElastic['throughputs']> | undefined) => resolveThroughputs(rates, model.spec.layers, firstLength);
  const request = {
    title: run.title,
    dataset: elastic.dataset?.value ?? null,
    model,
    cluster,
    freezing,
    firstLength,
    batch,
    constants: resolved.constants,
    profile: resolved.profile,
    training: { ...training, microBatch: 1, globalBatch: batch, sequenceParallel: false },
    epochs: resolveEpochs(elastic, freezing) ?? valueOrDefault('epochs'),
    datasetSize: elastic.datasetSize === undefined && dataset !== null ? dataset.training : valueOrDefault('datasetSize'),
    batchScaling: valueOrDefault('batchScaling'),
    microBatches: valueOrDefault('microBatches'),
    schedule: valueOrDefault('schedule'),
    tokenSlices: resolveSlices(elastic, model, () => valueOrDefault('tokenSlices')),
    shrink: valueOrDefault('shrink'),
    balance: resolveBalance(elastic, model, firstLength, assumptions),
    transitionMs: 1e3 * valueOrDefault('transitionSeconds'),
    cache: {
      enabled: valueOrDefault('cache'),
      hostMemoryBytes: bytesPerGiB * valueOrDefault('hostMemoryGB'),
      diskBytes: bytesPerGiB * valueOrDefault('diskGB'),
      diskBytesPerSecond: 1e9 * valueOrDefault('diskGBps'),
      hostLinkBytesPerSecond: 1e9 * valueOrDefault('hostLinkGBps'),
      hostMemoryBytesPerSecond: 1e9 * valueOrDefault('hostMemoryGBps'),
      advances: true,
    },
    loader: resolveLoader(elastic, () => valueOrDefault('loaderWorkers')),
    evaluation: resolveEvaluation(elastic, dataset?.evaluation ?? 0, valueOrDefault),
    frozenSamplesPerSecond: elastic.frozenSamplesPerSecond?.value ?? null,
    throughputs: check(elastic.throughputs),
    fillingThroughputs: check(elastic.fillingThroughputs),
  };
  return { ...request, assumptions: [...resolved.assumptions, ...assumptions] };
}

/** Slices need causal attention: a token of an encoder attends to those of later slices. @throws ExpectedError `elastic-slices`. */
function resolveSlices(
  { tokenSlices }: LocatedPartial<WrittenElastic>,
  { ends, spec }: ElasticModel,
  whole: () => 'search' | number,
): 'search' | number {
  if (!ends.causal && tokenSlices === undefined) return 1;
  if (tokenSlices === undefined || tokenSlices.value === 1 || ends.causal) return whole();
  throw new ExpectedError(
    'elastic-slices',
    sentence`The tokens of ${spec.modelType} attend to later ones, so that its sequences cannot be cut in slices`,
    sentence`leave tokenSlices out; "schedule": "1F1B" holds for any model`,
    filePlace(tokenSlices),
  );
}

/** Without a rate samples are always present. */
function resolveLoader({ loaderSamplesPerSecond }: LocatedPartial<WrittenElastic>, workers: () => number): ElasticRequest['loader'] {
  return loaderSamplesPerSecond === undefined ? null : { samplesPerSecond: loaderSamplesPerSecond.value, workers: workers() };
}

/** Nothing is evaluated unless the files set how many samples, or which data set. */
function resolveEvaluation(
  { evaluationSamples, trainingEvaluationEvery }: LocatedPartial<WrittenElastic>,
  known: number,
  valueOrDefault: (key: 'evaluationEvery' | 'trainingEvaluationEvery') => number,
): ElasticRequest['evaluation'] {
  const samples = evaluationSamples?.value ?? known;
  return {
    samples,
    every: samples === 0 ? 0 : valueOrDefault('evaluationEvery'),
    trainingEvery: samples === 0 && trainingEvaluationEvery === undefined ? 0 : valueOrDefault('trainingEvaluationEvery'),
  };
}

/** As many epochs as the list of frozen layers or the log of norms has, unless the files set them. */
function resolveEpochs({ epochs }: LocatedPartial<WrittenElastic>, freezing: Freezing): number | null {
  if (epochs !== undefined || freezing.kind === 'alpha') return null;
  return freezing.kind === 'given' ? freezing.frozenLayers.length : freezing.norms.places.size + 1;
}

/** A decoder or an encoder of equal dense layers. */
function resolveElasticModel(run: Run, classes: number | undefined): ElasticModel {
  const spec = toModelSpec(run.model);
  if (spec.experts !== null)
    throw new ExpectedError(
      'elastic-model',
      sentence`Layers with experts are not planned to freeze`,
      sentence`plan a dense model`,
      run.place,
    );
  if (run.traits?.state !== undefined)
    throw new ExpectedError(
      'elastic-model',
      sentence`SSM and linear-attention layers cannot be planned to freeze`,
      sentence`plan a model that attends`,
      run.place,
    );
  if (spec.layers > mostLayers)
    throw new ExpectedError(
      'elastic-model',
      sentence`The model has more than ${formatCount(mostLayers)} layers`,
      sentence`plan a model of fewer layers`,
      run.place,
    );
  if (run.encoder !== undefined) return { spec, ends: encoderEnds(spec, { ...run.encoder, classes: classes ?? run.encoder.classes }) };
  if (run.unplanned === undefined && spec.stacks !== undefined)
    throw new ExpectedError(
      'elastic-model',
      sentence`Encoder-decoder models are not planned to freeze`,
      sentence`name a ViT, a BERT or a dense decoder`,
      run.place,
    );
  if (run.unplanned === undefined) return { spec, ends: decoderEnds(spec) };
  throw new ExpectedError('elastic-model', run.unplanned.message, sentence`name a ViT, a BERT or a dense decoder`, run.unplanned.place);
}

/** Pipelines shrink and multiply onto any GPU, so all are alike. */
function refuseGroups({ groups }: Run): void {
  if (groups === undefined) return;
  throw new ExpectedError(
    'elastic-groups',
    sentence`Freezing is planned on nodes of one kind, and cluster.groups has several`,
    sentence`name one kind of nodes in cluster`,
    groups.source.kind === 'file' ? groups.source.place : undefined,
  );
}

/** Cluster and training as every plan resolves them, for one GPU a stage; what a plan assumes of its layout is left out. */
function resolvedRun(run: Run, ends: ModelEnds, face: ResolveDefaults, found: FoundProfiles) {
  const one: Located<number> = { value: 1, source: { kind: 'default', reason: sentence`one GPU a stage` } };
  const nodes = run.nodes ?? byDefault(face.nodes ?? 1, face.nodes === null ? sentence`one node unless set` : reasonOfFace(face, 'nodes'));
  const tokens =
    ends.tokens === null ? run.training.sequenceLength : byDefault(ends.tokens, sentence`the patches of an image and the class token`);
  const training = {
    zeroStage: byDefault(0 as const, sentence`replicas are whole`),
    ...run.training,
    ...(tokens === undefined ? {} : { sequenceLength: tokens }),
    globalBatch: one,
  };
  const layout = { tensor: one, pipeline: one, data: one, context: one };
  // Profiles are of layers that attend to earlier tokens only.
  const profile = ends.causal ? {} : { profile: byDefault(null, sentence`profiles are of causal layers`) };
  const request = resolveRun({ ...asDecoder(run), nodes, training, layout, ...profile }, face, found);
  return { ...request, assumptions: request.assumptions.filter(({ key }) => !key.startsWith('layout.') && !ignored.has(key)) };
}

/** Without the reason why it cannot be cut in token slices, which no elastic run does. */
function asDecoder(run: Run): Run {
  return Object.fromEntries(Object.entries(run).filter(([key]) => key !== 'unplanned')) as unknown as Run;
}

/** Settings of a plan that an elastic run has no use for. */
const ignored = new Set(['training.sequenceParallel', 'training.microBatch', 'training.zeroStage']);

function refuseOtherParallelism({ layout, training, place }: Run): void {
  for (const size of ['tensor', 'context', 'virtualStages'] as const) {
    const given = layout[size];
    if (given === undefined || given.value === 1) continue;
    throw new ExpectedError(
      'elastic-training',
      sentence`Elastic pipelines have one GPU a stage, but layout.${size} is ${given.value}`,
      sentence`leave it out`,
      filePlace(given) ?? place,
    );
  }
  const { recompute } = training;
  if (recompute?.value === 'selective')
    throw new ExpectedError(
      'elastic-training',
      sentence`Selective recompute is not planned for elastic pipelines`,
      sentence`set recompute to "none" or "full"`,
      filePlace(recompute) ?? place,
    );
}

function filePlace({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

/** GPUs of a pipeline at the start; pipelines never span machines. */
function resolvePipelineLength({ elastic, layout, place }: Run, gpusPerNode: number, assumptions: Assumption[]): number {
  const given = elastic?.pipelineLength ?? layout.pipeline;
  if (given === undefined)
    assumptions.push({
      key: 'elastic.pipelineLength',
      value: String(Math.min(gpusPerNode, mostStages)),
      reason: sentence`all GPUs of a node`,
    });
  const length = given?.value ?? Math.min(gpusPerNode, mostStages);
  if (length > mostStages)
    throw new ExpectedError(
      'elastic-pipeline-length',
      sentence`Pipelines of ${formatCount(length)} GPUs are not planned`,
      sentence`give elastic.pipelineLength 1 to ${formatCount(mostStages)}`,
      (given === undefined ? undefined : filePlace(given)) ?? place,
    );
  if (length <= gpusPerNode) return length;
  throw new ExpectedError(
    'elastic-pipeline-length',
    sentence`Pipelines do not span machines, but ${formatCount(length)} GPUs of a pipeline are more than the ${formatCount(gpusPerNode)} of a node`,
    sentence`give elastic.pipelineLength 1 to ${formatCount(gpusPerNode)}, or more cluster.gpusPerNode`,
    (given === undefined ? undefined : filePlace(given)) ?? place,
  );
}

function resolveBatch({ elastic, training }: Run, { ends }: ElasticModel, replicas: number, assumptions: Assumption[]): number {
  if (elastic?.batch !== undefined) return elastic.batch.value;
  if (training.globalBatch !== undefined) return Math.max(1, Math.floor(training.globalBatch.value / replicas));
  const images = ends.patchWidth !== null;
  const batch = images ? defaultBatches.images : defaultBatches.texts;
  const reason = images
    ? sentence`as PipeTransformer's CIFAR-10 runs, on every pipeline`
    : sentence`a usual number of texts on every pipeline; set it`;
  assumptions.push({ key: 'elastic.batch', value: String(batch), reason });
  return batch;
}

/** PipeTransformer's rule, where it uses all GPUs: it adds a variance in squared millions to millions, which large layers inflate. */
function resolveBalance(
  { balance }: LocatedPartial<WrittenElastic>,
  model: ElasticModel,
  stages: number,
  assumptions: Assumption[],
): BalanceName {
  if (balance !== undefined) return balance.value;
  const parameters = elasticUnits(model).map((unit) => unit.parameters);
  const wastes = parameters.length >= stages && greedyBalance(parameters, stages).includes(0);
  const value = wastes ? 'parameters' : 'greedy';
  assumptions.push({
    key: 'elastic.balance',
    value,
    reason: wastes ? sentence`PipeTransformer's greedy rule would leave GPUs without layers` : sentence`PipeTransformer's own`,
  });
  return value;
}

function resolveFreezing(elastic: LocatedPartial<WrittenElastic>, layers: number, norms: NormTable | null, alpha: () => number): Freezing {
  const { freezing, frozenLayers, gradientNorms } = elastic;
  const kind = freezing?.value ?? (gradientNorms !== undefined ? 'gradients' : frozenLayers !== undefined ? 'given' : 'alpha');
  const place = freezing === undefined ? undefined : filePlace(freezing);
  switch (kind) {
    case 'alpha':
      return { kind, alpha: alpha() };
    case 'gradients':
    case 'changes':
      if (norms !== null) return kind === 'changes' ? { kind, norms } : { kind, alpha: alpha(), norms };
      throw new ExpectedError(
        'elastic-norms',
        sentence`Freezing by gradients needs a log of gradient norms`,
        sentence`name one with elastic.gradientNorms`,
        place,
      );
    case 'given':
      if (frozenLayers === undefined)
        throw new ExpectedError(
          'elastic-frozen-layers',
          sentence`No frozen layers are given`,
          sentence`list them, one number an epoch, as elastic.frozenLayers`,
          place,
        );
      return placed(filePlace(frozenLayers), () => {
        givenPolicy(layers, frozenLayers.value);
        return { kind, frozenLayers: frozenLayers.value };
      });
  }
}

function resolveThroughputs(rates: Located<WrittenElastic['throughputs']> | undefined, layers: number, firstLength: number): Throughput[] {
  return (rates?.value ?? []).map(([frozenLayers, pipelineLength, samplesPerSecond]) => {
    if (rates !== undefined && (frozenLayers > layers || pipelineLength > firstLength))
      throw new ExpectedError(
        'elastic-throughputs',
        sentence`A rate is given for ${frozenLayers} frozen layers and pipelines of ${pipelineLength} GPUs, which the run never has`,
        sentence`give at most ${layers} frozen layers and ${firstLength} GPUs`,
        filePlace(rates),
      );
    return { frozenLayers, pipelineLength, samplesPerSecond };
  });
}

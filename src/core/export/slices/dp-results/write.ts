import { ExpectedError } from '../../../errors';
import { scheduleOn } from '../../../schedules/on-layout';
import { formatBytes, plural } from '../../../format';
import { buildPipeline } from '../../../planner/predict/pipeline';
import { chosenCandidate, type Candidate, type Plan } from '../../../planner/plan';
import { measure, predict, type CandidateSpec } from '../../../planner/predict/predict';
import { withOpenStages } from '../../../planner/candidates/virtual-stages';
import { solvedAlike } from '../../../planner/candidates/terapipe-slices';
import { say, sentence } from '../../../sentence';
import type { PlanRequest } from '../../../domain/request';
import { chunksPerRound, type Scheme } from '../../../domain/scheme';
import { quoted } from '../../../text';
import type { Remark } from '../../../launchers/writing/remarks';
import type { WrittenSlices } from '../slice-export';
import { without } from '../../../records';
import { refused, replacedBy, requireUnbroken } from '../runs';
import { readDpResults, schemeOfEntry, type DpResult } from './entries';
import { estimatedPeakGiB, skippedAboveGiB } from './peak-memory';
import type { ModelSpec } from '../../../domain/model';

const name = "TeraPipe's own runtime";

/** A plan's slices as an entry of `dp_results.json`. @throws ExpectedError `export-slices`. */
export function writeDpResults(planned: Plan): WrittenSlices {
  const plan = { ...planned, request: withOpenStages(planned.request) };
  requireRunnable(plan.request);
  const { runs, replaced } = runnable(plan);
  const entry = toDpResult(runs);
  const text = `${JSON.stringify([entry], null, 4)}\n`;
  requireSame(text, chosenCandidate(runs).scheme);
  return {
    text,
    fileName: 'dp_results.json',
    gaps: [...(replaced === null ? [] : [replaced]), ...dpResultGaps(plan.request, entry)],
    runs,
  };
}

/** One scheme for all chunks: the plan's where it is one, else the best of those solved for chunks of one size. */
function runnable(plan: Plan): { readonly runs: Plan; readonly replaced: Remark | null } {
  const chosen = chosenCandidate(plan);
  const request = asRun(plan.request);
  const pipeline = buildPipeline(request);
  const own =
    chosen.schedule === request.schedule && isOneScheme(chosen.scheme) ? givenSchemeSpec(request, chosen.scheme, say(chosen.name)) : null;
  const spec = own ?? bestSliceableSpec(request);
  if (spec === null) throw refused(name, sentence`no chunks of one size make up its batch`, sentence`plan another global batch`);
  const candidate = predict(pipeline, spec);
  const asked = { ...request, slicing: { unit: request.slicing.unit, scheme: spec.scheme } };
  const runs: Plan = { ...plan, request: asked, chosen: candidate.id, candidates: [candidate], analytic: null };
  const why =
    chosen.schedule === request.schedule
      ? sentence`${name} cuts all chunks alike, in one round`
      : sentence`${name} runs slices only in TeraPipe's order`;
  return { runs, replaced: own === null ? replacedBy(chosen, candidate, why) : null };
}

function isOneScheme(scheme: Scheme): boolean {
  return new Set(scheme.map(({ tokens }) => tokens.join())).size === 1 && chunksPerRound(scheme).length === 1;
}

function givenSchemeSpec({ layout }: PlanRequest, scheme: Scheme, called: string): CandidateSpec {
  return { id: 'given', name: called, kind: scheduleOn('TeraPipe', layout), scheme, certificate: null };
}

/** Chunks of more sequences are not tried. */
const largestChunk = 8;

function bestSliceableSpec(request: PlanRequest): CandidateSpec | null {
  const batch = request.training.globalBatch / request.layout.data;
  let best: (Pick<Candidate, 'iterationMs' | 'fits'> & { readonly spec: CandidateSpec }) | null = null;
  for (let microBatch = 1; microBatch <= Math.min(batch, largestChunk); microBatch++) {
    if (batch % microBatch !== 0 || (request.costTable !== null && microBatch > 1)) continue;
    const sized = { ...request, training: { ...request.training, microBatch } };
    const pipeline = buildPipeline(sized);
    for (const tokens of [...solvedAlike(sized, pipeline, 1, {}), [request.training.sequenceLength]]) {
      const scheme = Array.from({ length: batch / microBatch }, () => ({ batch: microBatch, tokens }));
      const spec = givenSchemeSpec(sized, scheme, `TeraPipe, one scheme of ${plural(tokens.length, 'slice')}`);
      const { iterationMs, fits } = measure(pipeline, spec);
      if (best === null || (fits && !best.fits) || (fits === best.fits && iterationMs < best.iterationMs))
        best = { iterationMs, fits, spec };
    }
  }
  return best?.spec ?? null;
}

/** As this runtime trains: fp16, no embedding nor head, whole optimizer. */
function asRun({ model, training, ...request }: PlanRequest): PlanRequest {
  return {
    ...request,
    model: { ...model, vocab: 0 },
    training: { ...without(training, 'gemmPrecision'), runtime: 'terapipe', precision: 'fp16', zeroStage: 0, sequenceParallel: false },
    schedule: 'TeraPipe',
  };
}

function toDpResult(runs: Plan): DpResult {
  const { model, training, layout, cluster, title } = runs.request;
  const { scheme, iterationMs } = chosenCandidate(runs);
  const world = layout.tensor * layout.pipeline * layout.data;
  const gpusPerNode = Math.min(cluster.gpusPerNode, world);
  return {
    model_name: findModelName(model, training.sequenceLength) ?? ownName(title),
    batch_size: scheme.reduce((sum, { batch }) => sum + batch, 0),
    model_parallel_size: layout.tensor,
    pipeline_length: layout.pipeline,
    data_parallel_size: layout.data,
    n_nodes: Math.ceil(world / gpusPerNode),
    gpus_per_node: gpusPerNode,
    latency: iterationMs / 1e3,
    batch_slices: scheme.map(({ batch }) => batch),
    input_slices: [...(scheme[0]?.tokens ?? [])],
  };
}

/** A name that a file and a command line can have. */
function ownName(title: string): string {
  const plain = title
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, 60);
  return plain === '' ? 'planned' : plain;
}

function dpResultGaps({ model, training, layout }: PlanRequest, entry: DpResult): Remark[] {
  const { layers, hidden, heads } = model;
  const tokens = training.sequenceLength;
  const isFull = training.recompute === 'full';
  const peak = estimatedPeakGiB({
    batch: entry.batch_size,
    tokens,
    hidden,
    heads,
    tensor: layout.tensor,
    layers: layers / layout.pipeline,
  });
  const limit = isFull ? 2 * skippedAboveGiB : skippedAboveGiB;
  return [
    ...(findModelName(model, tokens) === null
      ? [
          {
            what: sentence`the model`,
            reason: sentence`add ${quoted(entry.model_name)}: (${layers}, ${hidden}, ${tokens}, ${heads}) to MODEL_CONFIGS of transformer_models.py`,
          },
        ]
      : []),
    ...(model.vocab > 0
      ? [{ what: sentence`embedding and head`, reason: sentence`this runtime has neither; what is predicted has neither` }]
      : []),
    ...(training.precision !== 'fp16'
      ? [{ what: sentence`precision ${training.precision}`, reason: sentence`it trains in fp16, as predicted` }]
      : []),
    ...(training.zeroStage > 0
      ? [{ what: sentence`ZeRO ${training.zeroStage}`, reason: sentence`each replica keeps the whole optimizer, as predicted` }]
      : []),
    ...(isFull ? [{ what: sentence`recompute full`, reason: sentence`start it with --checkpoint-gradients` }] : []),
    ...(peak > limit
      ? [
          {
            what: sentence`more than ${limit} GiB`,
            reason: sentence`by its own estimate of ${formatBytes(peak * 2 ** 30)} it skips the setting; raise MEMORY_LIMIT in dp_slices_evaluation.py`,
          },
        ]
      : []),
  ];
}

/** @throws ExpectedError `export-slices`. */
function requireRunnable({ model, training, layout, cluster }: PlanRequest): void {
  const { layers, hidden, heads, kvHeads, headDim, ffn } = model;
  const otherwise = sentence`plan a model with GPT-3's architecture, or for another runtime`;
  requireUnbroken(name, [
    [model.experts !== null, sentence`its model has experts`, otherwise],
    [
      model.stacks !== undefined || model.state !== undefined || (model.latent ?? null) !== null,
      sentence`its model is not a plain decoder`,
      otherwise,
    ],
    [model.gatedMlp || ffn !== 4 * hidden, sentence`its feed-forward is not 4 times as wide as the model, without a gate`, otherwise],
    [
      kvHeads !== heads || headDim * heads !== hidden,
      sentence`its heads share keys and values, or its head size is not hidden size / heads`,
      otherwise,
    ],
    [layout.context > 1, sentence`it has context parallelism`, sentence`set layout.context to 1`],
    [layout.virtualStages > 1, sentence`it has virtual stages`, sentence`set layout.virtualStages to 1`],
    [
      layers % layout.pipeline !== 0,
      sentence`its layers are not divisible by the number of stages`,
      sentence`use a number of stages that divides the layers`,
    ],
    [
      layout.stageLayers !== undefined && new Set(layout.stageLayers).size > 1,
      sentence`its stages have different numbers of layers`,
      sentence`remove layout.stageLayers`,
    ],
    [
      training.recompute !== 'none' && training.recompute !== 'full',
      sentence`it recomputes parts of layers`,
      sentence`set training.recompute to "none" or "full"`,
    ],
    [cluster.groups !== undefined, sentence`it needs several kinds of nodes`, sentence`plan one kind of nodes`],
  ]);
}

/** @throws ExpectedError `export-unsound` where the file read back is another scheme: a bug. */
function requireSame(text: string, scheme: Scheme): void {
  const [entry] = readDpResults(text);
  if (
    entry !== undefined &&
    JSON.stringify(schemeOfEntry(entry)) === JSON.stringify(scheme.map(({ batch, tokens }) => ({ batch, tokens })))
  )
    return;
  throw new ExpectedError(
    'export-unsound',
    sentence`The file would not run as planned: its slices differ from the plan's`,
    sentence`report this as a bug; nothing was written`,
  );
}

/** Layers, hidden size, tokens and heads of the models that TeraPipe knows by name (`MODEL_CONFIGS` of transformer_models.py). */
const models: Readonly<Record<string, readonly [layers: number, hidden: number, tokens: number, heads: number]>> = {
  'gpt2-1hm': [12, 768, 1024, 12],
  'gpt2-3hm': [24, 1024, 1024, 16],
  'gpt2-7hm': [36, 1280, 1024, 20],
  'gpt2-1b': [48, 1600, 1024, 25],
  'megatron-1b': [40, 1536, 1024, 16],
  'megatron-2b': [54, 1920, 1024, 20],
  'megatron-4b': [64, 2304, 1024, 24],
  'megatron-8b': [72, 3072, 1024, 32],
  'gpt3-1hm': [12, 768, 2048, 12],
  'gpt3-3hm': [24, 1024, 2048, 16],
  'gpt3-7hm': [24, 1536, 2048, 16],
  'gpt3-1b': [24, 2048, 2048, 16],
  'gpt3-2b': [32, 2560, 2048, 32],
  'gpt3-6b': [32, 4096, 2048, 32],
  'gpt3-13b': [40, 5120, 2048, 40],
  'gpt3-44b': [96, 6144, 2048, 48],
  'gpt3-175b': [96, 12288, 2048, 96],
  'gpt3-13b-4096': [40, 5120, 4096, 40],
  'gpt3-13b-6144': [40, 5120, 6144, 40],
  'gpt3-13b-8192': [40, 5120, 8192, 40],
};

/** The name of a model of these sizes; null: it has to be added. */
function findModelName({ layers, hidden, heads }: ModelSpec, tokens: number): string | null {
  const sizes = [layers, hidden, tokens, heads].join();
  return Object.entries(models).find(([, own]) => own.join() === sizes)?.[0] ?? null;
}

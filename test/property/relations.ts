import { scheduleKind } from '../../src/core/schedules/registry';
import type { ClusterSpec, GpuSpec, LinkSpec, Precision } from '../../src/core/domain/cluster';
import { hostGBps } from '../../src/core/cluster/links';
import type { ModelSpec } from '../../src/core/domain/model';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { measure, type CandidateSpec, type Prediction } from '../../src/core/planner/predict/predict';
import { usualCut } from '../../src/core/partition/stages';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import { uniformLengths } from '../../src/core/slicing/baselines';
import { ExpectedError } from '../../src/core/errors';
import { fewestLayers } from '../../src/core/partition/chunks';
import { scheduleOn, runsVirtualStages } from '../../src/core/schedules/on-layout';
import { namedSchedules } from '../../src/core/domain/schedule-names';
import type { Scheme } from '../../src/core/domain/scheme';
import { toText } from '../unit/sentence-text';

/** A change whose direction is known. */
export interface Relation {
  readonly name: string;
  /** The changed run; null where there is nothing to change. */
  readonly changed: (request: PlanRequest) => PlanRequest | null;
  /**
   * What the change must do to the time of a step, to tokens per second and to the peak memory of the fullest stage, each schedule and
   * slices kept: never more, never less, or nothing.
   */
  readonly time: Direction;
  readonly throughput?: Direction;
  readonly memory: Direction;
  /** Ways to run for which it is not so, and why. */
  readonly except?: Exception;
}

export interface Exception {
  readonly why: string;
  readonly of: (request: PlanRequest, way: Pick<Prediction, 'schedule' | 'chunksPerStage' | 'scheme'>) => boolean;
}

export type Direction = 'not more' | 'not less' | 'same' | 'any';

const withGpu = (request: PlanRequest, changed: (gpu: GpuSpec) => Partial<GpuSpec>): PlanRequest => {
  const { gpu } = request.cluster;
  return withCluster(request, { gpu: { ...gpu, ...changed(gpu) } });
};
const withLinks = (request: PlanRequest, changed: (links: LinkSpec) => Partial<LinkSpec>): PlanRequest => {
  const { links } = request.cluster;
  return withCluster(request, { links: { ...links, ...changed(links) } });
};
const withCluster = (request: PlanRequest, changed: Partial<ClusterSpec>): PlanRequest => ({
  ...request,
  cluster: { ...request.cluster, ...changed },
});
const withTraining = (request: PlanRequest, changed: Partial<TrainingSpec>): PlanRequest => ({
  ...request,
  training: { ...request.training, ...changed },
});
const withModel = (request: PlanRequest, changed: Partial<ModelSpec>): PlanRequest => ({
  ...request,
  model: { ...request.model, ...changed },
});

const peaks = (gpu: GpuSpec, precisions: readonly Precision[], times: number): Partial<GpuSpec> => ({
  peakTflops: { ...gpu.peakTflops, ...Object.fromEntries(precisions.map((precision) => [precision, times * gpu.peakTflops[precision]])) },
});

const moreRecompute = ['none', 'selective', 'full'] as const;

/**
 * Interleaved schedules whose changed run has more of what goes in rounds, which did not fill them: micro-batches, or sequences of sliced
 * schedules, of which a larger micro-batch is more.
 */
const rounds: Exception = {
  why: 'interleaved schedules go in rounds of as many micro-batches as stages, sliced ones of as many sequences as have a slice for every stage, longer ones where they are not a multiple',
  of: ({ training, layout }, { schedule, chunksPerStage: chunks, scheme }) => {
    const before = training.globalBatch / layout.data / (scheduleKind(schedule).sliced ? 1 : training.microBatch);
    const slices = scheme[0]?.tokens.length ?? 1;
    return chunks > 1 && scheme.length > before && before % Math.ceil(layout.pipeline / slices) !== 0;
  },
};

const copied: Exception = {
  why: 'activations that are not recomputed are copied to the host or to another stage',
  of: ({ training }, { schedule }) => (training.activationOffloadLayers ?? 0) > 0 || scheduleKind(schedule).copies !== undefined,
};

/**
 * Of more micro-batches, and of larger ones where each sequence is one: with Seq1F1B-ZB-I and copies to the host the first took 155 ms,
 * each further one 162; with Seq1F1B-ZB and chunks of 1 and 2 layers 42.3 and 43.0 ms.
 */
const roundsOrHeld: Exception = {
  why: `${rounds.why}; an order with weight passes between the others knows neither copies to the host nor chunks that differ`,
  of: (run, after) =>
    rounds.of(run, after) || (scheduleKind(after.schedule).splitsBackward && (hasCopies(run) || hasUnequalChunks(run, after))),
};

function hasCopies({ training }: PlanRequest): boolean {
  return (training.activationOffloadLayers ?? 0) > 0;
}

function hasUnequalChunks({ model, layout }: PlanRequest, { chunksPerStage: chunks }: Pick<Prediction, 'chunksPerStage'>): boolean {
  return chunks > 1 && (model.layerKinds !== undefined || model.layers % (layout.pipeline * chunks) !== 0);
}

const exchanged: Exception = {
  why: 'SlimPipe exchanges attention where the slowest pass of a time gets faster, so faster links or passes move it elsewhere',
  of: (_, { schedule, scheme }) => schedule.startsWith('SlimPipe') && scheme.some(({ tokens }) => tokens.length > 1),
};

/** All relations; `times` is how many times faster or larger what is changed becomes. */
export function relations(times: number): readonly Relation[] {
  const faster = { time: 'not more', throughput: 'not less', memory: 'same' } as const;
  return [
    { name: 'faster arithmetic', ...faster, changed: (run) => withGpu(run, (gpu) => peaks(gpu, ['fp16', 'bf16', 'fp32'], times)) },
    {
      name: 'faster arithmetic in the precision of the run',
      ...faster,
      changed: (run) => withGpu(run, (gpu) => peaks(gpu, [run.training.precision], times)),
    },
    {
      name: 'faster arithmetic of another precision',
      time: 'same',
      memory: 'same',
      changed: (run) => {
        const others = (['fp16', 'bf16'] as const).filter((precision) => precision !== run.training.precision);
        return withGpu(run, (gpu) => peaks(gpu, others, times));
      },
    },
    {
      name: 'higher efficiency of products',
      ...faster,
      changed: (run) => withGpu(run, (gpu) => ({ gemmEfficiency: Math.min(1, times * gpu.gemmEfficiency) })),
    },
    { name: 'faster device memory', ...faster, changed: (run) => withGpu(run, (gpu) => ({ memoryTBps: times * gpu.memoryTBps })) },
    {
      name: 'faster links inside a node',
      ...faster,
      except: exchanged,
      changed: (run) =>
        withLinks(run, ({ intraNodeBusGBps: { 2: two, 4: four, 8: eight } }) => ({
          intraNodeBusGBps: { 2: times * two, 4: times * four, 8: times * eight },
        })),
    },
    {
      name: 'faster network',
      ...faster,
      except: exchanged,
      changed: (run) => withLinks(run, ({ nicGBps }) => ({ nicGBps: times * nicGBps })),
    },
    {
      name: 'lower latency of collectives',
      ...faster,
      changed: (run) =>
        withLinks(run, ({ allReduceLatencyUs: { base, perDoubling } }) => ({
          allReduceLatencyUs: { base: base / times, perDoubling: perDoubling / times },
        })),
    },
    {
      name: 'faster link to the host',
      ...faster,
      changed: (run) => withLinks(run, () => ({ hostGBps: times * hostGBps(run.cluster) })),
    },
    {
      name: 'operations issued faster',
      ...faster,
      changed: (run) => ({ ...run, constants: { ...run.constants, issueFloorUs: run.constants.issueFloorUs / times } }),
    },
    {
      name: 'more memory',
      time: 'same',
      memory: 'same',
      changed: (run) => withGpu(run, ({ memoryBytes }) => ({ memoryBytes: Math.round(times * memoryBytes) })),
    },
    {
      name: 'less recompute',
      time: 'not more',
      memory: 'not less',
      except: copied,
      changed: (run) => {
        const { recompute } = run.training;
        const less = moreRecompute[moreRecompute.findIndex((mode) => mode === recompute) - 1];
        return less === undefined ? null : withTraining(run, { recompute: less });
      },
    },
    {
      name: 'fewer layers recomputed',
      time: 'not more',
      memory: 'not less',
      except: copied,
      changed: (run) => (run.training.recompute === 'full' ? withTraining(run, { recomputeLayers: 1 }) : null),
    },
    {
      name: 'more micro-batches',
      time: 'not less',
      throughput: 'not less',
      memory: 'not less',
      except: roundsOrHeld,
      changed: (run) => withTraining(run, { globalBatch: 2 * run.training.globalBatch }),
    },
    {
      name: 'larger micro-batches',
      time: 'not less',
      throughput: 'not less',
      memory: 'not less',
      except: { ...roundsOrHeld, of: (run, after) => (scheduleKind(after.schedule).sliced ? roundsOrHeld : rounds).of(run, after) },
      changed: (run) => withTraining(run, { globalBatch: 2 * run.training.globalBatch, microBatch: 2 * run.training.microBatch }),
    },
    {
      name: 'fewer layers',
      time: 'not more',
      memory: 'not more',
      except: {
        why: `layers that differ are divided again among several chunks on a stage, which puts others together; ${exchanged.why}`,
        of: (run, way) => (way.chunksPerStage > 1 && run.model.layerKinds !== undefined) || exchanged.of(run, way),
      },
      changed: (run) => fewerLayers(run),
    },
    {
      name: 'narrower feed-forward network',
      time: 'not more',
      memory: 'not more',
      changed: (run) => withModel(run, { ffn: run.model.ffn / 2 }),
    },
    { name: 'narrower layers', time: 'not more', memory: 'not more', changed: (run) => narrower(run) },
    {
      name: 'fewer words',
      time: 'not more',
      memory: 'not more',
      changed: (run) => (run.model.vocab < 2 ? null : withModel(run, { vocab: Math.floor(run.model.vocab / 2) })),
    },
    {
      name: 'shorter sequences',
      time: 'not more',
      memory: 'not more',
      changed: (run) => withTraining(run, { sequenceLength: run.training.sequenceLength / 2 }),
    },
  ];
}

/** One layer less; where layers differ, the last one of a cut that stays, as another cut would put other layers together. */
function fewerLayers(run: PlanRequest): PlanRequest | null {
  const { layers, layerKinds } = run.model;
  const { pipeline, virtualStages } = run.layout;
  if (layerKinds === undefined) return layers <= pipeline * virtualStages ? null : withModel(run, { layers: layers - 1 });
  if (layers <= fewestLayers(run.model, scheduleOn(run.schedule ?? '1F1B', run.layout), run.layout)) return null;
  const cut = usualCut(run.model, run.training, pipeline);
  const last = cut.at(-1) ?? 1;
  if (last < 2 || virtualStages > 1) return null;
  return {
    ...withModel(run, { layers: layers - 1, layerKinds: layerKinds.slice(0, -1) }),
    layout: { ...run.layout, stageLayers: [...cut.slice(0, -1), last - 1] },
  };
}

function narrower(run: PlanRequest): PlanRequest | null {
  const { hidden, heads, kvHeads, ffn, denseFfn, state, experts } = run.model;
  if (state !== undefined || heads / 2 < run.layout.tensor || heads % 2 > 0) return null;
  return withModel(run, {
    hidden: hidden / 2,
    heads: heads / 2,
    kvHeads: Math.min(kvHeads, heads / 2),
    ffn: ffn / 2,
    ...(denseFfn === undefined ? {} : { denseFfn: denseFfn / 2 }),
    ...(experts?.sharedFfn === undefined ? {} : { experts: { ...experts, sharedFfn: experts.sharedFfn / 2 } }),
  });
}

/** Every way to run a request whose order does not depend on times: whole micro-batches, and equal token slices. */
export function fixedSpecs({ training, layout, slicing }: PlanRequest): CandidateSpec[] {
  const batch = training.globalBatch / layout.data;
  const { sequenceLength: tokens, microBatch } = training;
  const unit = slicing.unit ?? tokens;
  const whole: Scheme = Array.from({ length: batch / microBatch }, () => ({ batch: microBatch, tokens: [tokens] }));
  const uniformScheme = (slices: number): Scheme =>
    Array.from({ length: batch }, () => ({ batch: 1, tokens: uniformLengths(tokens, unit, slices) }));
  return namedSchedules.flatMap((schedule) => {
    const kind = scheduleOn(schedule, layout);
    const isPiped = layout.pipeline > 1 || schedule === '1F1B';
    if (!isPiped || scheduleKind(schedule).planned || !runsVirtualStages(kind, layout.virtualStages)) return [];
    const spec = (name: string, scheme: Scheme): CandidateSpec => ({ id: '1f1b', name, kind, scheme, certificate: null });
    if (!kind.slices) return [spec(schedule, whole)];
    return [spec(`${schedule}, whole`, uniformScheme(1)), spec(`${schedule}, 4 slices`, uniformScheme(4))];
  });
}

/** What each of them takes; those left out that cannot run. */
export function predictAll(request: PlanRequest): Map<string, Prediction> {
  const pipeline = buildPipeline(request);
  const all = new Map<string, Prediction>();
  for (const spec of fixedSpecs(request)) {
    try {
      all.set(toText(spec.name), measure(pipeline, spec));
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  }
  return all;
}

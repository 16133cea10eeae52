import * as ort from 'onnxruntime-node';
import { gradientError, type GradientError } from '../../../../../src/features/rehearsal/core/gradient-error';
import { generateSchedule, toScheduleProblem, scheduleKind } from '../../../../../src/core/schedules/registry';
import type { Schedule } from '../../../../../src/core/schedules/schedule';
import type { LayerShape } from '../../../../../src/core/domain/profile';
import type { Scheme } from '../../../../../src/core/domain/scheme';
import type { AttentionOperator } from '../../../../../src/profiler/graph/emit';
import { oneAfterAnother } from '../../../../../src/features/rehearsal/core/clock';
import { createStageRunner, type StageRunner } from '../../../../../src/features/rehearsal/profiler/stage';
import type { RehearsedStep } from '../../../../../src/features/rehearsal/protocol';
import { openStepSessions, type StepSessions } from '../../../../../src/features/rehearsal/profiler/step-sessions';
import type { InitialWeights } from '../../../../../src/features/rehearsal/profiler/tensors';
import { jobOf } from '../../../profiler/graph/run-graph';

/** A model of a few tiny layers, and the sessions that run it. */
export interface TinyModel {
  readonly step: (chunks: number, batch: number) => RehearsedStep;
  readonly sessions: StepSessions;
  readonly tokens: number;
  /** The same of this many layers, in the same sessions. @param recomputed this many of each chunk keep only their input. */
  readonly withLayers: (layers: number, recomputed?: number) => TinyModel;
}

export interface Ran {
  readonly gradients: ReadonlyMap<string, Float32Array>;
  readonly loss: number;
  readonly left: readonly string[];
}

export async function tinyModel(
  shape: LayerShape,
  {
    attention = 'plain',
    tokens = 12,
    layers = 4,
  }: { readonly attention?: AttentionOperator; readonly tokens?: number; readonly layers?: number } = {},
): Promise<TinyModel> {
  const job = jobOf(shape, { limits: { batch: 2, tokens, sequence: tokens }, attention: attention === 'plain' ? 'plain' : 'fused' });
  const sessions = await openStepSessions(ort, 'cpu', job, attention, {
    parts: ['embedding', 'layer', 'head'],
    split: true,
    forwardOnly: false,
  });
  const withLayers = (count: number, recomputed = 0): TinyModel => ({
    sessions,
    tokens,
    withLayers,
    step: (chunks, batch) => ({
      job,
      tokens,
      batch,
      tied: false,
      chunks: evenChunks(count, chunks).map((chunk) => ({ ...chunk, recomputed: Math.min(recomputed, chunk.count) })),
    }),
  });
  return withLayers(layers);
}

function evenChunks(layers: number, chunks: number): RehearsedStep['chunks'] {
  const end = (chunk: number) => Math.floor(((chunk + 1) * layers) / chunks);
  return Array.from({ length: chunks }, (_, chunk) => ({ first: end(chunk - 1), count: end(chunk) - end(chunk - 1), recomputed: 0 }));
}

/** Chunks of a schedule on this many stages. */
export function chunksOf(name: string, stages: number): number {
  const { chunksPerStage } = scheduleKind(name);
  return stages * (chunksPerStage === 'several' ? 2 : chunksPerStage);
}

export function scheduleOf(name: string, stages: number, scheme: Scheme): Schedule {
  return generateSchedule(name, toScheduleProblem(scheme, stages, chunksOf(name, stages) / stages));
}

export const batchOf = (scheme: Scheme): number => scheme.reduce((sum, { batch }) => sum + batch, 0);

/** Runs a step of a schedule, a runner for each stage. @param between what each stage's runner is replaced by. */
export async function runTiny(
  model: TinyModel,
  schedule: Schedule,
  batch: number,
  {
    between = (runner) => runner,
    initial,
  }: { readonly between?: (runner: StageRunner) => StageRunner; readonly initial?: InitialWeights } = {},
): Promise<Ran> {
  const step = model.step(schedule.stageOfChunk.length, batch);
  const runners = Array.from({ length: schedule.stages }, () => createStageRunner(ort, step, model.sessions, initial));
  const stages = runners.map(between);
  const runnerOf = (chunk: number) => stages[schedule.stageOfChunk[chunk]!]!;
  for (const row of oneAfterAnother(schedule)) {
    const made = await runnerOf(schedule.chunk[row]!).run(schedule, row);
    if (made !== null) runnerOf(made.item.chunk).give(made);
  }
  return {
    gradients: new Map(runners.flatMap((runner) => [...runner.gradients()])),
    loss: runners.reduce((sum, runner) => sum + runner.loss(), 0),
    left: runners.flatMap((runner) => runner.left()),
  };
}

/** Runs the rows of a schedule of one stage as they are, right or wrong. */
export async function runAsWritten(model: TinyModel, schedule: Schedule): Promise<void> {
  const runner = createStageRunner(ort, model.step(1, 2), model.sessions);
  for (const row of schedule.kind.keys()) await runner.run(schedule, row);
}

/** The whole batch in one piece on one stage. */
export function runWhole(model: TinyModel, batch: number, initial?: InitialWeights): Promise<Ran> {
  const schedule = scheduleOf('GPipe', 1, [{ batch, tokens: [model.tokens] }]);
  return runTiny(model, schedule, batch, initial === undefined ? {} : { initial });
}

export function errorsOf(ran: Ran, whole: Ran): GradientError & { readonly lossError: number } {
  return { ...gradientError(ran.gradients, whole.gradients), lossError: Math.abs(ran.loss - whole.loss) / Math.abs(whole.loss) };
}

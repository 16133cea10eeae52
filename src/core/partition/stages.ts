import { ExpectedError } from '../errors';
import { formatCount, plural } from '../format';
import type { Place } from '../domain/located';
import type { SequenceLengths } from '../model/flops';
import { partOfModel } from '../model/layers';
import { withMtpLayers } from '../model/multi-token-prediction';
import type { ModelSpec } from '../domain/model';
import type { StageContents } from '../memory-model/activation-memory';
import type { Layout } from '../domain/request';
import type { Runtime } from '../domain/runtime';
import { stackCut } from './stack-cut';
import { counted, type Sentence, sentence } from '../sentence';

/**
 * Layers per stage: equal where `pipeline` divides `layers`, otherwise one more on the stages in the middle, so that the ends, which also
 * carry embedding and head, stay light.
 *
 * @param model where its layers differ, to say which kinds each stage has.
 */
export function evenStageContents(layers: number, pipeline: number, model?: ModelSpec): StageContents[] {
  const each = Math.floor(layers / pipeline);
  const extra = layers - each * pipeline;
  const firstExtra = Math.floor((pipeline - extra) / 2);
  const stageLayers = Array.from({ length: pipeline }, (_, stage) => each + (stage >= firstExtra && stage < firstExtra + extra ? 1 : 0));
  return cutContents(stageLayers, model);
}

/** Layers of each stage, or chunk, by default: as `evenStageContents` has them, or by the arithmetic of encoder and decoder. */
export function usualCut(model: ModelSpec, training: SequenceLengths, stages: number): readonly number[] {
  return model.stacks === undefined
    ? evenStageContents(model.layers, stages).map(({ layers }) => layers)
    : stackCut(model, training, stages);
}

/**
 * Stages that `partition_balanced` of DeepSpeed before 0.12 leaves without a layer: it fills each stage up to the largest load,
 * ceil(layers / stages), so the last ones may stay empty. Seen with 5 layers on 4 stages (pull request 4312) and 42 on 16 (issue 5078).
 * @param balanced whether it cuts so; a uniform partition has empty stages only with fewer layers than stages.
 */
export function deepSpeedEmptyStages(layers: number, stages: number, balanced = true): number {
  if (layers <= stages || !balanced) return Math.max(0, stages - layers);
  return stages - Math.ceil(layers / Math.ceil(layers / stages));
}

/** Whether every stage has a layer by what the runtime's own partition may do; see `deepSpeedEmptyStages`. */
export function fillsStages(runtime: Runtime | undefined, layers: number, stages: number): boolean {
  return runtime !== 'deepspeed' || deepSpeedEmptyStages(layers, stages) === 0;
}

/**
 * Stages, or chunks, of this many layers each, in order of the layers; of a `model` the last one also has those that predict further
 * tokens.
 */
export function cutContents(stageLayers: readonly number[], model?: ModelSpec): StageContents[] {
  let from = 0;
  return stageLayers.map((layers, stage) => {
    const part = model === undefined ? {} : partOfModel(model, from, from + layers);
    from += layers;
    const shape = { layers, first: stage === 0, last: stage === stageLayers.length - 1, ...part };
    return model === undefined ? shape : withMtpLayers(model, shape);
  });
}

/** Layers of each chunk by a cut that has one entry for each chunk, or one for each stage. */
export function chunkLayers(stageLayers: readonly number[], stageOfChunk: Uint32Array): readonly number[] {
  return stageLayers.length === stageOfChunk.length ? stageLayers : layersOfChunks(stageLayers, stageOfChunk);
}

/**
 * Refuses a cut of another number of stages or layers than there are. A stage may be empty: Megatron runs `E||t*8|L`.
 * @throws ExpectedError `plan-stage-layers` at `place`.
 */
export function requireCut(
  { pipeline, virtualStages, stageLayers }: Pick<Layout, 'pipeline' | 'virtualStages' | 'stageLayers'>,
  { layers }: ModelSpec,
  place?: Place,
): void {
  if (stageLayers === undefined) return;
  const stages = pipeline * virtualStages;
  const total = stageLayers.reduce((sum, count) => sum + count, 0);
  const virtual = virtualStages > 1 ? ` of ${plural(virtualStages, 'virtual stage')}` : '';
  const refuse = (message: Sentence, remedy: Sentence): never => {
    throw new ExpectedError('plan-stage-layers', message, remedy, place);
  };
  if (stageLayers.length !== stages)
    refuse(
      sentence`layout.stageLayers has ${counted(stageLayers.length, 'entry', 'entries')} for ${counted(pipeline, 'stage')}${virtual}`,
      sentence`give it ${counted(stages, 'entry', 'entries')}, or leave it out`,
    );
  if (total !== layers)
    refuse(
      sentence`layout.stageLayers adds up to ${counted(total, 'layer')}, and the model has ${formatCount(layers)}`,
      sentence`make it add up to the layers of the model`,
    );
}

/**
 * Layers of each chunk where the layers of each stage are decided: equal numbers; where they do not divide evenly, chunks with the
 * embedding or the head are the first to have one fewer.
 */
export function layersOfChunks(stageLayers: readonly number[], stageOfChunk: Uint32Array): number[] {
  const chunks = new Uint32Array(stageLayers.length);
  for (const stage of stageOfChunk) chunks[stage] = (chunks[stage] ?? 0) + 1;
  const assigned = new Uint32Array(stageLayers.length);
  const layers = Array.from(stageOfChunk, () => 0);
  const assign = (chunk: number): void => {
    const stage = stageOfChunk[chunk] ?? 0;
    const [all = 0, count = 1, index = 0] = [stageLayers[stage], chunks[stage], assigned[stage]];
    const each = Math.floor(all / count);
    layers[chunk] = each + (index < all - each * count ? 1 : 0);
    assigned[stage] = index + 1;
  };
  const last = layers.length - 1;
  for (let chunk = 1; chunk < last; chunk++) assign(chunk);
  assign(0);
  if (last > 0) assign(last);
  return layers;
}

import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Layout, MemoryInputs } from '../domain/request';
import type { ModelSpec } from '../domain/model';
import type { ScheduleName } from '../domain/schedule-names';
import type { StageContents } from '../memory-model/activation-memory';
import { joinStageContents } from '../memory-model/count';
import { scheduleOn, type ScheduleOnLayout } from '../schedules/on-layout';
import { placeChunks } from '../schedules/registry';
import { counted, sentence } from '../sentence';
import { chunkLayers, cutContents, usualCut } from './stages';

/** The layers of a model as the chunks of a schedule hold them. */
export interface Chunks {
  readonly kind: ScheduleOnLayout;
  /** What memory is counted of: the layout's virtual stages are those that the schedule has. */
  readonly inputs: MemoryInputs;
  readonly stageOfChunk: Uint32Array;
  /** Of each chunk, in the order of the model. */
  readonly chunkContents: readonly StageContents[];
  /** Of each stage: all its chunks together. */
  readonly stageContents: readonly StageContents[];
}

/**
 * Layers of each stage, or of each virtual stage in the order of the model, as a schedule places them on a layout: the value of
 * `layout.stageLayers`.
 */
export function scheduledStageLayers({ model, training, layout }: MemoryInputs, schedule: ScheduleName): readonly number[] {
  const { pipeline, virtualStages, stageLayers } = layout;
  if (stageLayers !== undefined) return stageLayers;
  if (virtualStages > 1) return usualCut(model, training, pipeline * virtualStages);
  return scheduleChunks({ model, training, layout }, scheduleOn(schedule, layout)).stageContents.map(({ layers }) => layers);
}

/**
 * The fewest layers that a schedule's chunks need: one each. Where a file sets the number of chunks, the embedding and the head can each be
 * a chunk without layers, as in Megatron-LM and TorchTitan; where they share a stage, only if a file sets the layers of each chunk.
 */
export function fewestLayers(
  { vocab }: Pick<ModelSpec, 'vocab'>,
  kind: ScheduleOnLayout,
  layout: Pick<Layout, 'pipeline' | 'virtualStages' | 'stageLayers'>,
): number {
  const { pipeline, virtualStages, stageLayers } = layout;
  const areApart = kind.placement !== 'v' && pipeline > 1;
  const endsMayLackLayers = areApart || stageLayers?.length === pipeline * kind.chunks;
  return pipeline * kind.chunks - (virtualStages > 1 && vocab > 0 && endsMayLackLayers ? 2 : 0);
}

/**
 * The chunks of a schedule on a layout's stages.
 *
 * @param stageLayers layers of each stage or chunk; null: as equal as chunks allow, one more on those in the middle.
 * @throws ExpectedError `schedule-unmet` when there are fewer layers than chunks.
 */
export function scheduleChunks(
  inputs: MemoryInputs,
  kind: ScheduleOnLayout,
  stageLayers: readonly number[] | null = inputs.layout.stageLayers ?? null,
): Chunks {
  const { model, training, layout } = inputs;
  const { pipeline } = layout;
  const { name, placement, chunks } = kind;
  const stageOfChunk = placeChunks(placement, pipeline, chunks);
  const least = fewestLayers(model, kind, layout);
  if (chunks > 1 && stageLayers === null && model.layers < least)
    throw new ExpectedError(
      'schedule-unmet',
      sentence`${name} with ${counted(chunks, 'virtual stage')} on each of ${counted(pipeline, 'stage')} needs ${formatCount(least)} layers or more, but there are ${formatCount(model.layers)}`,
      sentence`use at most ${counted(Math.floor((model.layers + pipeline * chunks - least) / chunks), 'stage')}, or another schedule`,
    );
  const cut = stageLayers === null ? usualCut(model, training, pipeline * chunks) : chunkLayers(stageLayers, stageOfChunk);
  const contents = cutContents(cut, model);
  const chunkContents = kind.exchangesAttention === true ? spreadHead(contents, pipeline) : contents;
  const own = layout.virtualStages === chunks ? inputs : { model, training, layout: { ...layout, virtualStages: chunks } };
  return { kind, inputs: own, stageOfChunk, chunkContents, stageContents: joinStageContents(pipeline, stageOfChunk, chunkContents) };
}

/** The head and the loss on the last chunk of every stage, an equal part each. */
function spreadHead(contents: readonly StageContents[], stages: number): readonly StageContents[] {
  const first = contents.length - stages;
  return contents.map((own, chunk) => ({ ...own, headShare: chunk < first ? 0 : 1 / stages }));
}

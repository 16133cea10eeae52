import type { Placement } from '../schedules/kind';
import { scheduleOn } from '../schedules/on-layout';
import { stackCuts } from '../partition/stack-cut';
import { evenStageContents, usualCut } from '../partition/stages';
import { balancedCut } from './balanced-cut';
import type { CandidateGroup } from './candidate-group';
import type { SearchProblem } from './search-problem';

/** Layers of each stage, in order. */
export type StageLayers = readonly number[];

/** Stages in the middle may have this many layers more than an equal share, rounded up. */
const mostExtraLayers = 1;
/** With two stages, the last may have this many layers fewer than half. */
const mostShiftedLayers = 8;

/** The cut that a problem fixes, one entry for each stage or virtual stage; null where pipeline or virtual stages are free. */
export function fixedCut({ request, fixed }: SearchProblem): StageLayers | null {
  return fixed.has('pipeline') && fixed.has('virtualStages') ? (request.layout.stageLayers ?? null) : null;
}

/**
 * The cuts that are tried on a layout: the one that the problem fixes, or all of `stageCuts` and, where some layers have a state, the one
 * that is balanced by what each layer takes; where there is none of these, chunk by chunk as equal as can be. Of an encoder-decoder model
 * all of `stackCuts`.
 */
export function cutsFor(problem: SearchProblem, { layout, schedule }: Pick<CandidateGroup, 'layout' | 'schedule'>): readonly StageLayers[] {
  const { pipeline, virtualStages } = layout;
  const decided = fixedCut(problem);
  if (decided?.length === pipeline * virtualStages) return [decided];
  const { model, training, capabilities } = problem.request;
  const { placement, chunks } = scheduleOn(schedule, layout);
  if (capabilities?.hasFixedStageLayers === true) return [usualCut(model, training, pipeline * chunks)];
  if (model.stacks !== undefined) return stackCuts(model.stacks.encoderLayers, model.layers - model.stacks.encoderLayers, pipeline);
  const cuts = stageCuts(model.layers, pipeline, chunks, placement);
  const balanced = chunks === 1 ? balancedCut(problem.request, layout) : null;
  const isNew = balanced !== null && !cuts.some((cut) => cut.join() === balanced.join());
  const all = isNew ? [...cuts, balanced] : cuts;
  return all.length > 0 ? all : [evenStageContents(model.layers, pipeline * chunks).map(({ layers }) => layers)];
}

/**
 * The ways to cut `layers` layers into `stages` stages that are tried: equal where that divides, and ends that are lighter than the stages
 * between them, which are all alike (as Megatron-LM's `--decoder-first-pipeline-num-layers` and `--decoder-last-pipeline-num-layers` take
 * it). Where none of these exists, ends one layer lighter than most. With virtual stages all chunks are alike, but that the first, the last
 * or both may have one layer less (`--account-for-embedding-in-pipeline-split`, `--account-for-loss-in-pipeline-split`): chunks of the
 * first and of the last stage, or in a V both of the first.
 */
export function stageCuts(layers: number, stages: number, chunks = 1, placement: Placement = 'loop'): StageLayers[] {
  if (stages > layers) return [];
  if (chunks > 1) return likeChunks(layers, stages, chunks, placement);
  if (stages === 1) return [[layers]];
  const cuts = stages === 2 ? halves(layers) : lighterEnds(layers, stages);
  return cuts.length > 0 ? cuts : [middleHeavyCut(layers, stages)];
}

/** Whether there is any such cut. */
export function canCut(layers: number, stages: number, chunks: number, placement: Placement = 'loop'): boolean {
  if (stages > layers) return false;
  if (chunks === 1) return true;
  return endPlacements(stages, placement).some((ends) => isChunked(layers, stages, chunks, ends));
}

/** Layers fewer on the first and on the last stage. */
type Ends = readonly [first: number, last: number];

/** What is tried of it: where embedding and head are. */
function endPlacements(stages: number, placement: Placement): readonly Ends[] {
  if (stages === 1) return [[0, 0]];
  return placement === 'v'
    ? [
        [0, 0],
        [1, 0],
        [2, 0],
      ]
    : [
        [0, 0],
        [1, 0],
        [0, 1],
        [1, 1],
      ];
}

/**
 * Whether all chunks on stages of this many layers have equally many layers, except for the ends, which may hold only the embedding or the
 * head. Every stage has a layer.
 */
function isChunked(layers: number, stages: number, chunks: number, [first, last]: Ends): boolean {
  const each = (layers + first + last) / stages;
  return each % chunks === 0 && each > Math.max(first, last);
}

function likeChunks(layers: number, stages: number, chunks: number, placement: Placement): StageLayers[] {
  return endPlacements(stages, placement)
    .filter((ends) => isChunked(layers, stages, chunks, ends))
    .map(([first, last]) => {
      const each = (layers + first + last) / stages;
      return Array.from({ length: stages }, (_, stage) => each - (stage === 0 ? first : 0) - (stage === stages - 1 ? last : 0));
    });
}

function halves(layers: number): StageLayers[] {
  const cuts: StageLayers[] = [];
  const half = Math.floor(layers / 2);
  for (let last = Math.max(1, half - mostShiftedLayers); last <= Math.min(layers - 1, half + mostExtraLayers); last++)
    cuts.push([layers - last, last]);
  return cuts;
}

function lighterEnds(layers: number, stages: number): StageLayers[] {
  const share = Math.ceil(layers / stages);
  const cuts: StageLayers[] = [];
  for (let middle = share; middle <= share + mostExtraLayers; middle++) {
    const ends = layers - middle * (stages - 2);
    for (let first = Math.max(1, ends - middle); first <= Math.min(middle, ends - 1); first++)
      cuts.push(Array.from({ length: stages }, (_, stage) => (stage === 0 ? first : stage === stages - 1 ? ends - first : middle)));
  }
  return cuts;
}

/** As equal as possible, one more on the stages in the middle. */
function middleHeavyCut(layers: number, stages: number): StageLayers {
  const each = Math.floor(layers / stages);
  const extra = layers - each * stages;
  const from = Math.floor((stages - extra) / 2);
  return Array.from({ length: stages }, (_, stage) => each + (stage >= from && stage < from + extra ? 1 : 0));
}

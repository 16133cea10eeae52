import type { StageShape } from '../memory/runtime';

/**
 * Layers per stage: equal where `pipeline` divides `layers`, otherwise one more on the stages in the middle, so that the ends, which also carry embedding and head, stay light.
 */
export function stageShapes(layers: number, pipeline: number): StageShape[] {
  const each = Math.floor(layers / pipeline);
  const extra = layers - each * pipeline;
  const firstExtra = Math.floor((pipeline - extra) / 2);
  return Array.from({ length: pipeline }, (_, stage) => ({
    layers: each + (stage >= firstExtra && stage < firstExtra + extra ? 1 : 0),
    first: stage === 0,
    last: stage === pipeline - 1,
  }));
}

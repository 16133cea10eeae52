import { layerGroups } from '../model/layers';
import type { ModelSpec } from '../model/spec';
import type { StageShape } from '../memory/runtime';

/**
 * Layers per stage: equal where `pipeline` divides `layers`, otherwise one more on the stages in the middle, so that the ends, which also carry embedding and head, stay light.
 *
 * @param model where its layers differ, to say which kinds each stage has.
 */
export function stageShapes(layers: number, pipeline: number, model?: ModelSpec): StageShape[] {
  const each = Math.floor(layers / pipeline);
  const extra = layers - each * pipeline;
  const firstExtra = Math.floor((pipeline - extra) / 2);
  let from = 0;
  return Array.from({ length: pipeline }, (_, stage) => {
    const count = each + (stage >= firstExtra && stage < firstExtra + extra ? 1 : 0);
    const groups = model?.layerKinds === undefined ? {} : { groups: layerGroups(model, from, from + count) };
    from += count;
    return { layers: count, first: stage === 0, last: stage === pipeline - 1, ...groups };
  });
}

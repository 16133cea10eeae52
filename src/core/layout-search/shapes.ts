import { contentsKey, type StageContents } from '../memory-model/layer-tensors';
import { partOfModel } from '../model/layers';
import { withMtpLayers } from '../model/multi-token-prediction';
import type { PlanRequest } from '../domain/request';
import type { StageLayers } from './cuts';

/** Gives the one object for all shapes equal to one. */
export function interning(): (contents: StageContents) => StageContents {
  const known = new Map<string, StageContents>();
  return (contents) => {
    const key = contentsKey(contents);
    const same = known.get(key);
    if (same === undefined) known.set(key, contents);
    return same ?? contents;
  };
}

/** The stages, or chunks, of a cut; equal ones are one object. */
export function shapesFor({ model }: PlanRequest): (stageLayers: StageLayers) => StageContents[] {
  const known = new Map<number, StageContents>();
  const byName = new Map<string, StageContents>();
  return (stageLayers) => {
    let from = 0;
    return stageLayers.map((layers, stage) => {
      const [first, last] = [stage === 0, stage === stageLayers.length - 1];
      const start = model.layerKinds === undefined ? 0 : from;
      const key = ((start * (model.layers + 1) + layers) * 2 + (first ? 1 : 0)) * 2 + (last ? 1 : 0);
      let shape = known.get(key);
      if (shape === undefined) {
        const made = withMtpLayers(model, { layers, first, last, ...partOfModel(model, from, from + layers) });
        const name = contentsKey(made);
        shape = byName.get(name) ?? made;
        byName.set(name, shape);
        known.set(key, shape);
      }
      from += layers;
      return shape;
    });
  };
}

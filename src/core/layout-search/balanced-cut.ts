import { memoized } from '../records';
import { stageCost } from '../time-model/stage-cost';
import type { StageEnds } from '../time-model/end-time';
import { layerGroups } from '../model/layers';
import { cutLayers } from '../partition/cut-layers';
import type { Layout, PlanRequest } from '../domain/request';

/** More stages times squared layers than this are not weighed: launchers divide such models evenly. */
const mostWork = 4e6;

const known = new WeakMap<PlanRequest, Map<string, readonly number[] | null>>();

/**
 * The cut whose slowest stage is fastest for one micro-batch, for models some of whose layers hand on a state: what a layer takes differs
 * by its kind, embedding and head included. Null for other models, for one stage and with virtual stages, which launchers divide alike.
 */
export function balancedCut(request: PlanRequest, layout: Layout): readonly number[] | null {
  const { model } = request;
  const { pipeline, virtualStages } = layout;
  if (model.state === undefined || pipeline === 1 || virtualStages > 1 || pipeline > model.layers) return null;
  if (pipeline * model.layers ** 2 > mostWork) return null;
  const cuts = memoized(known, request, () => new Map<string, readonly number[] | null>());
  const key = [pipeline, layout.tensor, layout.context, layout.expert, layout.expertTensor].join();
  return memoized(cuts, key, () => computeCut(request, layout));
}

function computeCut({ model, training, cluster, constants }: PlanRequest, layout: Layout): readonly number[] | null {
  const inputs = { model, training, layout, cluster, constants };
  const layersMs = (layers: number, ends: StageEnds): number => {
    const { forwardMs, backwardMs } = stageCost(inputs, layers, ends)(training.microBatch, training.sequenceLength, 0);
    return forwardMs + backwardMs;
  };
  const first = layersMs(0, { first: true, last: false, groups: [] });
  const last = layersMs(0, { first: false, last: true, groups: [] });
  const before = [0];
  for (const { kind, layers } of layerGroups(model)) {
    const one = layersMs(1, { first: false, last: false, groups: [{ kind, layers: 1 }] });
    for (let layer = 0; layer < layers; layer++) before.push((before.at(-1) ?? 0) + one);
  }
  const cut = cutLayers({
    layers: model.layers,
    stages: layout.pipeline,
    timeMs: (stage, from, to) =>
      (before[to] ?? 0) - (before[from] ?? 0) + (stage === 0 ? first : 0) + (stage === layout.pipeline - 1 ? last : 0),
    mayBeEmpty: () => false,
  });
  return cut?.stageLayers ?? null;
}

import { runtimeProfile } from '../domain/runtime';
import { wholeLayers } from '../domain/recompute';
import type { SliceCost, SliceTime } from '../domain/slice-cost';
import { layerGroups, layersByKind, usualKind } from '../model/layers';
import { headTokens } from '../model/stacks';
import { embeddingSeconds, spreadTail, startSeconds, tailSeconds, type EndSeconds, type StageEnds } from './end-time';
import { cachedBySlice, cachedByTokens, layerTime } from './layer-time';
import { fusedAttentionKernel, type CostInputs } from './rates';
import { shardedWaits } from './sharding';

/**
 * Cost of a slice on one stage: its layers, the embedding on the first and the head on the last. Recompute `full` adds the layers' forward
 * to backward, `selective` the forward of the named modules. Weight gradients are their GEMMs and their accumulation; recompute,
 * collectives and everything else of backward comes before the input's gradient.
 *
 * @param layers layers of the stage; may be fractional where a schedule divides evenly only on average.
 */
export function stageCost(inputs: CostInputs, layers: number, ends: StageEnds): SliceCost {
  const kinds = layersByKind(ends.groups ?? [{ kind: usualKind(inputs.model), layers }]).map((group) => ({
    layers: group.layers,
    time: layerTime(inputs, group.kind),
  }));
  /** Share of the layers that are recomputed whole. */
  const whole = layers === 0 ? 0 : wholeLayers(inputs.training, { ...ends, layers }) / layers;
  const none: EndSeconds = { forward: 0, backward: 0, weight: 0 };
  const atEnds = (batch: number, tokens: number): EndSeconds => {
    const localTokens = (batch * tokens) / inputs.layout.context;
    const targetTokens = (batch * headTokens(inputs.model, inputs.training, tokens)) / inputs.layout.context;
    const first = ends.first ? startSeconds(inputs, localTokens) : none;
    const turn = ends.decoderStart === true ? embeddingSeconds(inputs, targetTokens) / 2 : 0;
    const last =
      ends.headShare !== undefined ? spreadTail(inputs, targetTokens, ends) : ends.last ? tailSeconds(inputs, targetTokens) : none;
    return {
      forward: first.forward + turn + last.forward,
      backward: first.backward + turn + last.backward,
      weight: first.weight + last.weight,
    };
  };
  const isInner = !ends.first && !ends.last && ends.decoderStart !== true && (ends.headShare ?? 0) === 0;
  const endSeconds = isInner
    ? () => none
    : inputs.model.stacks === undefined
      ? cachedByTokens((tokens) => atEnds(1, tokens))
      : cachedBySlice(atEnds);
  const { sends, awaitedMessages } = runtimeProfile(inputs.training);
  // a host that waits for messages issues nothing meanwhile
  const issuesMeanwhile = sends === 'blocking' && awaitedMessages === undefined;
  const waits = shardedWaits(inputs, ends.groups ?? [{ kind: usualKind(inputs.model), layers }], ends);
  return (batch, tokens, context, documents): SliceTime => {
    const end = endSeconds(batch, tokens);
    let { forward, backward, weight } = end;
    let issueWait = 0;
    for (const kind of kinds) {
      const one = kind.time(batch, tokens, context, documents);
      const again = one.forward * whole + one.selective * (1 - whole);
      forward += kind.layers * one.forward;
      backward += kind.layers * (one.backward + again);
      weight += kind.layers * one.weight;
      issueWait += kind.layers * one.idleOnFloor;
    }
    const wait = waits?.(forward, backward);
    return {
      forwardMs: 1e3 * (forward + (wait?.forward ?? 0)),
      backwardMs: 1e3 * (backward + (wait?.backward ?? 0)),
      backwardWeightMs: 1e3 * weight,
      ...(issuesMeanwhile ? { issueWaitMs: 1e3 * issueWait } : {}),
    };
  };
}

/** Share of a layer's time, 0..1, that fused attention takes in whole sequences of `batch`: what a layer would save if it took no time. */
export function attentionShare(inputs: CostInputs, batch: number, tokens: number): number {
  const kernel = fusedAttentionKernel(inputs.cluster, inputs.training);
  if (kernel === null) return 0;
  const { cluster } = inputs;
  const free = { ...inputs, cluster: { ...cluster, gpu: { ...cluster.gpu, attentionEfficiency: { [kernel]: 1e6 } } } };
  const [all, others] = [inputs, free].map((own) => {
    const { forward, backward } = layerTime(own)(batch, tokens, 0);
    return forward + backward;
  });
  return all === undefined || others === undefined ? 0 : Math.max(0, 1 - others / all);
}

/**
 * Share of a layer's time that the issue floor adds, 0..1, for whole sequences of `batch`: of the usual layer, or of all where some have a
 * state.
 */
export function floorShare(inputs: CostInputs, batch: number, tokens: number): number {
  const { model } = inputs;
  const groups = model.state === undefined ? [{ kind: usualKind(model), layers: 1 }] : layersByKind(layerGroups(model));
  let idle = 0;
  let all = 0;
  for (const { kind, layers } of groups) {
    const one = layerTime(inputs, kind)(batch, tokens, 0);
    idle += layers * one.idleOnFloor;
    all += layers * (one.forward + one.backward);
  }
  return idle / all;
}

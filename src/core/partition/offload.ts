import { hostGBps } from '../cluster/links';
import type { CostInputs } from '../time-model/rates';
import type { SliceCost } from '../domain/slice-cost';
import { stageCost } from '../time-model/stage-cost';
import { formatBytes, formatDuration, formatNumber } from '../format';
import { activationGroups, layerWaitingBytes, type StageContents } from '../memory-model/layer-tensors';
import { counted, sentence, type Sentence } from '../sentence';
import { maximum } from '../numbers';

/*
 * Activations that wait in the host's memory between forward and backward. Transformer Engine copies them during compute, one layer's after
 * the other's, spread evenly over the layers of a chunk, and at the end of each share compute waits for the copy
 * (`AsyncDoubleBufferGroupOffloadHandler`, 1.x): a pass takes as long as the layers' work or all of its copies, whichever is longer.
 */

/** Bytes that leave in the forward of this many tokens of `batch` sequences, and come back in its backward. */
function offloadedBytes(inputs: CostInputs, contents: StageContents, batch: number, tokens: number, context: number): number {
  const unit = { microBatch: 0, slice: 0, batch, tokens, context };
  return activationGroups(inputs, contents).reduce(
    (sum, group) => sum + (group.offloaded ? group.layers * layerWaitingBytes(inputs, unit, group) : 0),
    0,
  );
}

/**
 * What forward and backward of a slice wait for copies to and from the host, ms; and what backward waits more where it leaves out the
 * gradients of weights.
 */
export function offloadWaits(
  inputs: CostInputs,
  contents: StageContents,
): (
  batch: number,
  tokens: number,
  context: number,
  documents?: readonly number[],
) => { forwardMs: number; backwardMs: number; splitWaitMs: number } {
  const layers = stageCost(inputs, contents.layers, { ...contents, first: false, last: false });
  const bytesPerMs = 1e6 * hostGBps(inputs.cluster);
  return (batch, tokens, context, documents) => {
    const copyMs = offloadedBytes(inputs, contents, batch, tokens, context) / bytesPerMs;
    const { forwardMs, backwardMs, backwardWeightMs } = layers(batch, tokens, context, documents);
    const waitMs = Math.max(0, copyMs - backwardMs);
    return {
      forwardMs: Math.max(0, copyMs - forwardMs),
      backwardMs: waitMs,
      splitWaitMs: Math.max(0, copyMs - (backwardMs - backwardWeightMs)) - waitMs,
    };
  };
}

/** The cost of a chunk with what its passes wait for copies to and from the host. */
export function chunkCost(inputs: CostInputs, contents: StageContents): SliceCost {
  const cost = stageCost(inputs, contents.layers, contents);
  if ((inputs.training.activationOffloadLayers ?? 0) === 0) return cost;
  const waits = offloadWaits(inputs, contents);
  return (batch, tokens, context, documents) => {
    const { forwardMs, backwardMs, backwardWeightMs } = cost(batch, tokens, context, documents);
    const wait = waits(batch, tokens, context, documents);
    return {
      forwardMs: forwardMs + wait.forwardMs,
      backwardMs: backwardMs + wait.backwardMs,
      backwardWeightMs,
      ...(wait.splitWaitMs > 0 ? { splitWaitMs: wait.splitWaitMs } : {}),
    };
  };
}

/** One line on what is offloaded on the stage that moves most, and whether its passes wait for it; none without. */
export function offloadReason(
  stages: readonly { readonly inputs: CostInputs; readonly contents: StageContents }[],
  { batch, tokens }: { readonly batch: number; readonly tokens: readonly number[] },
): Sentence[] {
  const asked = stages[0]?.inputs.training.activationOffloadLayers ?? 0;
  if (asked === 0) return [];
  let [most, waitMs, rate] = [0, 0, Infinity];
  for (const { inputs, contents } of stages) {
    rate = Math.min(rate, hostGBps(inputs.cluster));
    const waits = offloadWaits(inputs, contents);
    let [bytes, ms, context] = [0, 0, 0];
    for (const length of tokens) {
      const { forwardMs, backwardMs } = waits(batch, length, context);
      bytes += offloadedBytes(inputs, contents, batch, length, context);
      ms += forwardMs + backwardMs;
      context += length;
    }
    most = Math.max(most, bytes);
    waitMs = Math.max(waitMs, ms);
  }
  const held = waitMs > 0 ? sentence`which holds its passes up by ${formatDuration(waitMs)}` : sentence`overlapped with compute`;
  const layers = Math.min(asked, maximum(stages.map(({ contents }) => contents.layers)));
  return [
    sentence`activations of ${counted(layers, 'layer')} wait on the host: ${formatBytes(most)} of a micro-batch each way at ${formatNumber(rate)} GB/s, ${held}`,
  ];
}

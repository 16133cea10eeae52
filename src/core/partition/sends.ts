import { someStagesJoined, stagesJoined } from '../cluster/boundaries';
import { paysForChunks, resolveRankOrder, runtimeProfile } from '../domain/runtime';
import { memoized } from '../records';
import type { StageContents } from '../memory-model/layer-tensors';
import { headTokens } from '../model/stacks';
import { boundaryBetween, boundaryMs } from '../time-model/boundary';
import { cachedBySlice, cachedByTokens } from '../time-model/layer-time';
import type { CostInputs } from '../time-model/rates';

/** Time to send this many tokens of each of `batch` sequences, ms. */
export type SendMs = (batch: number, tokens: number) => number;

/** What sends between the stages of a pipeline take: all schedules of a comparison send as its runtime does. */
export interface Sends {
  /** Whether a stage waits until it has sent. */
  readonly isBlocking: boolean;
  /** Whether every send is timed, and takes its link, instead of only those of warm-up and drain. */
  readonly areTimed: boolean;
  /** Whether sends take the same time at all boundaries: one kind of node, all stages on one node or none, one stack of layers. */
  readonly areAlike: boolean;
  /** Whether exchanges of the further chunks of a stage hold its passes. */
  readonly holdChunks: boolean;
  /** From one stage to another, which may lie beyond an end. */
  readonly between: (from: number, to: number) => SendMs;
  /**
   * The stage that stands for the one beyond an end, so that stages are alike (docs/model/schedules.md, Transfers): on nodes of one kind
   * that which the GPUs after the end would hold, else the other neighbour.
   */
  readonly beyondEnd: (stage: number, step: 1 | -1) => number;
}

interface SendingStage {
  readonly inputs: CostInputs;
  readonly contents: StageContents;
}

/**
 * The sends of a pipeline.
 *
 * @param nodeKinds the inputs of `stages` that differ.
 * @param measured times come from a table that already holds them.
 */
export function pipelineSends(stages: readonly SendingStage[], nodeKinds: readonly CostInputs[], measured: boolean): Sends {
  const [first] = nodeKinds;
  const isOneKind = nodeKinds.length < 2;
  const isPlain = isOneKind && first?.model.stacks === undefined;
  const known = new Map<string, SendMs>();
  const byPlace = new Map<string, SendMs>();
  const isBlocking = runtimeProfile(first?.training ?? {}).sends === 'blocking';
  return {
    isBlocking,
    areTimed: !isBlocking && first?.training.timeSends === true,
    areAlike: isPlain && first !== undefined && areBoundariesAlike(first),
    holdChunks: !measured && stages.length > 1 && nodeKinds.every(({ training, cluster }) => paysForChunks(training, cluster.gpu)),
    between: (from, to) =>
      memoized(known, `${from} ${to}`, () => (measured ? () => 0 : sendBetween(stages, from, to, isOneKind ? byPlace : null))),
    beyondEnd: (stage, step) => (isPlain ? stage + step : stages[stage - step] === undefined ? stage : stage - step),
  };
}

function areBoundariesAlike(inputs: CostInputs): boolean {
  const { layout, cluster } = inputs;
  const order = resolveRankOrder(inputs);
  return !someStagesJoined(layout, cluster, order) || stagesJoined(layout, cluster, order, 0, layout.pipeline - 1);
}

/** @param byPlace known sends by where their boundary is, if all stages are on nodes of one kind; else null. */
function sendBetween(stages: readonly SendingStage[], from: number, to: number, byPlace: Map<string, SendMs> | null): SendMs {
  const [sender, receiver] = [stages[from]?.inputs, stages[to]?.inputs];
  if (sender === undefined) return () => 0;
  const place = byPlace !== null ? boundaryBetween(sender, from, to) : receiver === undefined ? {} : { to: receiver };
  if (sender.model.stacks === undefined) {
    const send = (): SendMs => cachedByTokens((tokens) => boundaryMs(sender, 1, tokens, place));
    return byPlace === null ? send() : memoized(byPlace, JSON.stringify(place), send);
  }
  const inDecoder = stages[Math.min(from, to)]?.contents.groups?.at(-1)?.kind.stack === 'decoder';
  return cachedBySlice((batch, tokens) => boundaryMs(sender, batch, inDecoder ? withEncoderOutput(sender, tokens) : tokens, place));
}

/**
 * Tokens whose hidden states cross a boundary inside the decoder of an encoder-decoder model: those of the target with the encoder's output
 * (Megatron-LM core 0.9, `get_tensor_shapes`).
 */
function withEncoderOutput({ model, training }: CostInputs, tokens: number): number {
  return tokens + headTokens(model, training, tokens);
}

import { layersByKind, usualKind } from '../../model/layers';
import { hasAttention } from '../../model/mixers';
import { attentionWidths } from '../../model/parameters';
import { evenedOut, type ExchangeMs } from '../../schedules/attention-exchange';
import type { Schedule } from '../../schedules/schedule';
import { wholeBackward } from '../../schedules/simulate/simulate';
import type { Durations } from '../../schedules/simulate/transfers';
import type { StageContents } from '../../memory-model/layer-tensors';
import { elementBytes } from '../../domain/number-formats';
import { wholeLayers } from '../../domain/recompute';
import type { CostInputs } from '../../time-model/rates';
import { pipelineLinkSeconds, sendLatencySeconds } from '../../time-model/boundary';
import type { Pipeline, PipelineChunks } from './pipeline';

/**
 * Durations with the attention of slices that are under way at one time evened over the stages, and with what they wait for the exchange
 * (docs/model/schedules.md, Attention exchanged). What a slice takes longer than the first of its sequence is what moves.
 */
export function withExchange(pipeline: Pipeline, chunks: PipelineChunks, schedule: Schedule, own: Durations): Durations {
  // Copies to the host hide behind what a stage computes itself.
  if ((pipeline.inputs.training.activationOffloadLayers ?? 0) > 0) return own;
  const { costs, chunkContents, stageOfChunk } = chunks;
  const inputs = Array.from(stageOfChunk, (stage) => pipeline.stages[stage]?.inputs ?? pipeline.inputs);
  const { units } = schedule;
  const count = units.length;
  const [forward, backward] = [new Float64Array(own.forwardMs.length), new Float64Array(own.forwardMs.length)];
  costs.forEach((cost, chunk) => {
    units.forEach(({ batch, tokens }, unit) => {
      const withoutContext = cost(batch, tokens, 0);
      const cell = chunk * count + unit;
      forward[cell] = Math.max(0, (own.forwardMs[cell] ?? 0) - withoutContext.forwardMs);
      backward[cell] = Math.max(0, (own.backwardInputMs[cell] ?? 0) - withoutContext.backwardMs);
    });
  });
  const exchangeWait = (pass: 'forward' | 'backward'): ExchangeMs => {
    const movable = pass === 'forward' ? forward : backward;
    const perToken = costs.map((_, chunk) =>
      units.reduce((most, { context }, unit) => (context === 0 ? most : Math.max(most, (movable[chunk * count + unit] ?? 0) / context)), 0),
    );
    const bytes = chunkContents.map((contents, chunk) => exchangedBytes(inputs[chunk] ?? pipeline.inputs, contents));
    return (cell, ownMs, evenedMs) => {
      const chunk = Math.floor(cell / count);
      const [unit, one, rate] = [units[cell % count], bytes[chunk], perToken[chunk] ?? 0];
      const movedMs = Math.abs(ownMs - evenedMs);
      if (unit === undefined || one === undefined || rate === 0 || movedMs <= rounding * evenedMs) return 0;
      const moved = unit.batch * (movedMs / rate);
      return exchangeMs(inputs[chunk] ?? pipeline.inputs, one, { tokens: unit.batch * unit.tokens, moved, attentionMs: evenedMs }, pass);
    };
  };
  const added = (column: Float64Array, from: Float64Array, to: Float64Array): Float64Array =>
    column.map((ms, cell) => ms + (to[cell] ?? 0) - (from[cell] ?? 0));
  return wholeBackward(
    added(own.forwardMs, forward, evenedOut(schedule, forward, exchangeWait('forward'), 'forward')),
    added(own.backwardInputMs, backward, evenedOut(schedule, backward, exchangeWait('backward'), 'backward')),
  );
}

/** Differences of times by less than this share are rounding. */
const rounding = 1e-9;

/** Bytes a token in all layers of a chunk that attend, over all tensor-parallel ranks. */
interface ExchangedBytes {
  readonly layers: number;
  /** Of its layers, those whose forward runs again in backward. */
  readonly again: number;
  readonly query: number;
  readonly output: number;
  readonly keysValues: number;
}

function exchangedBytes({ model, training, layout }: CostInputs, contents: StageContents): ExchangedBytes {
  const groups = layersByKind(contents.groups ?? [{ kind: usualKind(model), layers: contents.layers }]);
  const layers = groups.reduce((sum, { kind, layers: own }) => sum + (hasAttention(kind) ? own : 0), 0);
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const each = (elementBytes(training) * layout.tensor * layers) / layout.context;
  const again = contents.layers === 0 ? 0 : wholeLayers(training, contents) / contents.layers;
  return { layers, again, query: each * query, output: each * output, keysValues: each * (key + value) };
}

/**
 * What a pass waits, ms. Queries go to the stage that helps and its outputs come back, `tokens` of them; keys and values of `moved` earlier
 * tokens leave ahead, overlapped with attention of `attentionMs`. Backward sends all of these ahead, the outputs' gradients when they are
 * there, and gradients of queries, keys and values come back (kwai/Megatron-Kwai, megatron/core/kv_cache/attention.py).
 */
function exchangeMs(
  inputs: CostInputs,
  { layers, again, query, output, keysValues }: ExchangedBytes,
  { tokens, moved, attentionMs }: { readonly tokens: number; readonly moved: number; readonly attentionMs: number },
  pass: 'forward' | 'backward',
): number {
  const linkMs = (bytes: number): number => 1e3 * pipelineLinkSeconds(inputs, bytes);
  const latencyMs = 2e3 * sendLatencySeconds * layers;
  const ends = linkMs(tokens * (query + output)) + latencyMs;
  const keysMs = linkMs(moved * keysValues);
  if (pass === 'forward') return ends + Math.max(0, keysMs - attentionMs);
  const ahead = linkMs(tokens * (query + output)) + keysMs;
  return ends + keysMs + Math.max(0, ahead - attentionMs) + again * ends;
}

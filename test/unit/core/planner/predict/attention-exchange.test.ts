import assert from 'node:assert/strict';
import { buildPipeline, type Pipeline } from '../../../../../src/core/planner/predict/pipeline';
import { measure, type Prediction } from '../../../../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { llama3, request } from '../../../../golden/requests';

const long = request('H100-80GB', llama3('70b', 16), {
  training: {
    sequenceLength: 65536,
    globalBatch: 2,
    attention: 'flash',
    dropout: false,
    precision: 'bf16',
    fusedCrossEntropy: true,
    sequenceParallel: true,
  },
  layout: { tensor: 8, pipeline: 4 },
});

function on(wanted: PlanRequest, nicGBps: number): Pipeline {
  const { cluster } = wanted;
  return buildPipeline({ ...wanted, cluster: { ...cluster, links: { ...cluster.links, nicGBps } } });
}

function slimPipe(pipeline: Pipeline, slices: number): Prediction {
  const scheme = [1, 2].map(() => ({ batch: 1, tokens: Array<number>(slices).fill(65536 / slices) }));
  return measure(pipeline, { id: 'SlimPipe', name: 'SlimPipe', kind: pipeline.schedules.SlimPipe, scheme, certificate: null });
}

/** The same pipeline, on which SlimPipe spreads the head as it does and every stage computes its own attention. */
function withoutExchange(pipeline: Pipeline): Pipeline {
  const made = pipeline.chunksOn(pipeline.schedules.SlimPipe);
  const { exchangesAttention, ...kind } = made.kind;
  assert.ok(exchangesAttention);
  return { ...pipeline, schedules: { ...pipeline.schedules, SlimPipe: kind }, chunksOn: () => ({ ...made, kind }) };
}

describe('SlimPipe', () => {
  it('is never slower than without its exchange where links are fast, and never faster with slower links', () => {
    for (const slices of [4, 8, 16]) {
      const [fast, usual, slow] = [1e6, 400, 10].map((nicGBps) => slimPipe(on(long, nicGBps), slices).pipelineMs);
      const without = slimPipe(withoutExchange(on(long, 1e6)), slices).pipelineMs;
      assert.ok(fast! < without, `${fast} with, ${without} without, ${slices} slices`);
      assert.ok(fast! <= usual! && usual! < slow!, `${slices} slices: ${fast}, ${usual}, ${slow}`);
    }
  });

  it('keeps the work that there is', () => {
    const [even, own] = [slimPipe(on(long, 1e6), 8), slimPipe(withoutExchange(on(long, 1e6)), 8)].map(({ busyMs }) => [...busyMs]);
    const sum = (ms: readonly number[]): number => ms.reduce((total, each) => total + each, 0);
    // latencies of what is exchanged are all that comes on top
    assert.ok(sum(even!) >= sum(own!) * (1 - 1e-9) && sum(even!) < 1.02 * sum(own!), `${sum(even!)} of ${sum(own!)}`);
  });

  it('holds the head once over all stages, and its logits', () => {
    const pipeline = on(long, 400);
    const weights = (schedule: 'SlimPipe' | 'Seq1F1B'): number[] => {
      const scheme = [1, 2].map(() => ({ batch: 1, tokens: Array<number>(8).fill(8192) }));
      return measure(pipeline, {
        id: schedule,
        name: schedule,
        kind: pipeline.schedules[schedule],
        scheme,
        certificate: null,
      }).memory.stages.map(({ parts }) => parts.weights);
    };
    const [spread, last] = [weights('SlimPipe'), weights('Seq1F1B')];
    const sum = (bytes: readonly number[]): number => bytes.reduce((total, each) => total + each, 0);
    assert.ok(Math.abs(sum(spread) / sum(last) - 1) < 1e-9);
    assert.ok(Math.max(...spread.slice(1)) - Math.min(...spread.slice(1)) < 1e6 && last.at(-1)! > last.at(1)!);
    const logits = slimPipe(pipeline, 8).memory.chunks.map(({ alike }) => alike[0]!.logits);
    assert.ok(logits.every((bytes) => bytes > 0));
  });
});

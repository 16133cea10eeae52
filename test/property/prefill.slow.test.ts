import assert from 'node:assert/strict';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { scheduleTransfers } from '../../src/core/planner/predict/transfers';
import { planPrefill } from '../../src/features/prefill/core/prefill';
import { unlikeCut } from '../../src/features/prefill/core/unlike-stages';
import type { ChunkMs, Judge, UnlikeStages } from '../../src/features/prefill/core/serving';
import { llama3, request } from '../golden/requests';
import { drawn } from './random-makespans';

/** All ways to cut `units` units of `unit` tokens, the last of which ends at `tokens`. */
function everyCut(units: number, unit: number, tokens: number): number[][] {
  return Array.from({ length: 2 ** (units - 1) }, (_, mask) => {
    const ends = Array.from({ length: units }, (__, index) => index + 1).filter((end) => end === units || ((mask >> (end - 1)) & 1) === 1);
    return ends.map((end, index) => Math.min(tokens, end * unit) - (ends[index - 1] ?? 0) * unit);
  });
}

/** When the last stage is done, chunk by chunk: each begins when its stage is free and the stage before has handed it on. */
function simulatedMs(stages: readonly ChunkMs[], chunks: readonly number[]): number {
  const free = new Float64Array(stages.length);
  let context = 0;
  for (const tokens of chunks) {
    let ready = 0;
    stages.forEach((ms, stage) => {
      ready = Math.max(ready, free[stage]!) + ms(tokens, context);
      free[stage] = ready;
    });
    context += tokens;
  }
  return free.at(-1)!;
}

function smallJudge(seed: number): {
  readonly judge: Judge & { readonly unlike: UnlikeStages };
  readonly tokens: number;
  readonly units: number;
} {
  const next = drawn(seed);
  for (let index = 0; index < 3; index++) next();
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const units = int(1, 10);
  const tokens = units * 64 - int(0, 63);
  const distinct = Array.from({ length: int(2, 3) }, (): ChunkMs => {
    const [fixed, perToken, perPair, salt] = [3 * next(), 0.05 * next(), 3e-4 * next(), next()];
    return (length, context) => fixed + perToken * length + perPair * length * (context + length / 2) + salt * ((length % 7) / 7);
  });
  const kindOfStage = Array.from({ length: int(2, 6) }, (_, stage) => (stage < distinct.length ? stage : int(0, distinct.length - 1)));
  const chunkMs: ChunkMs = (length, context) => Math.max(...distinct.map((ms) => ms(length, context)));
  const capMs = next() < 0.3 ? chunkMs(Math.min(tokens, 128), Math.max(0, tokens - 128)) * (1 + next()) : Infinity;
  return { tokens, units, judge: { chunkMs, stages: kindOfStage.length, unlike: { distinct, kindOfStage }, capMs } };
}

describe('prefill over stages that differ', () => {
  it('is the best of all ways to cut 500 small prompts, within the cap on a chunk', () => {
    let capped = 0;
    for (let seed = 0; seed < 500; seed++) {
      const { judge, tokens, units } = smallJudge(seed);
      const stages = judge.unlike.kindOfStage.map((kind) => judge.unlike.distinct[kind]!);
      const fits = (chunks: readonly number[]): boolean => {
        let context = 0;
        return chunks.every((length) => {
          const ms = judge.chunkMs(length, context);
          context += length;
          return ms <= judge.capMs;
        });
      };
      const allowed = everyCut(units, 64, tokens).filter(fits);
      if (allowed.length === 0) continue;
      if (judge.capMs < Infinity) capped++;
      const bestMs = Math.min(...allowed.map((chunks) => simulatedMs(stages, chunks)));
      const known = [allowed.at(-1)!];
      const { chunks, timeToFirstTokenMs, lowerBoundMs, exact } = unlikeCut({ tokens, unit: 64, judge, known }, undefined);
      assert.ok(Math.abs(timeToFirstTokenMs - bestMs) <= 1e-9 * bestMs, `${seed}: ${timeToFirstTokenMs}, by trying all ${bestMs}`);
      assert.ok(Math.abs(simulatedMs(stages, chunks) - bestMs) <= 1e-9 * bestMs && fits(chunks), `${seed}: ${chunks.join()}`);
      assert.ok(lowerBoundMs <= bestMs * (1 + 1e-9), `${seed}: bound ${lowerBoundMs} above ${bestMs}`);
      if (judge.capMs === Infinity) assert.ok(exact, `${seed}: not proved`);
    }
    assert.ok(capped > 50, `${capped} with a cap`);
  });

  it('of a model whose layers do not divide is faster than what all stages as slow as the slowest would need', () => {
    const wanted = {
      ...request('H100-80GB', llama3('70b', 15), {
        training: { sequenceLength: 8192, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true },
        layout: { tensor: 8, pipeline: 4 },
      }),
      slicing: { unit: 1024, scheme: null },
    };
    const found = planPrefill({ ...wanted, layout: { ...wanted.layout, stageLayers: [6, 4, 3, 2] } }, Infinity);
    const pipeline = buildPipeline({
      ...wanted,
      layout: { ...wanted.layout, stageLayers: [6, 4, 3, 2] },
      model: { ...wanted.model, vocab: 0 },
    });
    const stages = pipeline.stages.map(({ cost }, stage): ChunkMs => (length, context) => {
      const units = [{ microBatch: 0, slice: 0, batch: 1, tokens: length, context: 0 }];
      const { forwardMs, perChunk } = scheduleTransfers(pipeline, { units, stageOfChunk: Uint32Array.of(0, 1, 2, 3) });
      return cost(1, length, context).forwardMs + forwardMs[perChunk === true ? stage : 0]!;
    });
    const bestMs = Math.min(...everyCut(8, 1024, 8192).map((chunks) => simulatedMs(stages, chunks)));
    assert.ok(found.exact && Math.abs(found.timeToFirstTokenMs - bestMs) <= 1e-9 * bestMs, `${found.timeToFirstTokenMs} for ${bestMs}`);
    assert.equal(found.stageMs?.length, 4);
    const slowest = Math.max(...found.chunkMs);
    assert.ok(bestMs < found.chunkMs.reduce((sum, ms) => sum + ms, 0) + 3 * slowest);
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../src/core/errors';
import { pipelineOf } from '../../../src/core/planner/pipeline';
import { transfersOf } from '../../../src/core/planner/transfers';
import { prefillOf, timesOfLengths } from '../../../src/core/planner/prefill';
import { readLengths } from '../../../src/cli/problems/lengths';
import { llama3, request } from '../../golden/requests';
import { openCommandLine } from './command-line';

const served = (tokens: number, unit: number) => ({
  ...request('H100-80GB', llama3('70b', 16), {
    training: { sequenceLength: tokens, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true },
    layout: { tensor: 8, pipeline: 4 },
  }),
  slicing: { unit, scheme: null },
});

/** Every way to cut `units` units. */
function compositions(units: number): number[][] {
  if (units === 0) return [[]];
  return Array.from({ length: units }, (_, first) => compositions(units - first - 1).map((rest) => [first + 1, ...rest])).flat();
}

describe('terapipe prefill', () => {
  it('finds the best of all ways to cut a short prompt, and no rule is faster', () => {
    const wanted = served(8192, 1024);
    const found = prefillOf(wanted, Infinity);
    assert.ok(found.exact && found.stagesAlike);
    const pipeline = pipelineOf({ ...wanted, model: { ...wanted.model, vocab: 0 } });
    const timesOf = (cut: readonly number[]): number[] => {
      let context = 0;
      return cut.map((units) => {
        const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 1024 * units, context };
        context += unit.tokens;
        const [sendMs = 0] = transfersOf(pipeline, { units: [unit], stageOfChunk: Uint32Array.of(0, 1, 2, 3) }).forwardMs;
        return pipeline.stages[1]!.cost(1, unit.tokens, unit.context).forwardMs + sendMs;
      });
    };
    const all = compositions(8).map(timesOf);
    const bestMs = Math.min(...all.map((times) => times.reduce((sum, ms) => sum + ms, 3 * Math.max(...times))));
    assert.ok(Math.abs(found.timeToFirstTokenMs - bestMs) <= 1e-9 * bestMs, `${found.timeToFirstTokenMs}, by trying all ${bestMs}`);
    assert.ok(Math.abs(found.lowerBoundMs - bestMs) <= 1e-9 * bestMs);
    for (const { name, timeToFirstTokenMs } of found.rules) assert.ok(bestMs <= timeToFirstTokenMs * (1 + 1e-9), name);
  });

  it('makes chunks shorter where decoding may not wait long, and says where none is short enough', () => {
    const wanted = served(32768, 512);
    const free = prefillOf(wanted, Infinity);
    const capped = prefillOf(wanted, 12);
    assert.ok(Math.max(...capped.chunks) < Math.max(...free.chunks));
    assert.ok(capped.timeToFirstTokenMs > free.timeToFirstTokenMs);
    assert.throws(
      () => prefillOf(wanted, 0.01),
      (error: unknown) => error instanceof ExpectedError && error.code === 'slicing-infeasible',
    );
  });

  it('gives mean, median and 99 of 100 of many prompts', () => {
    const wanted = served(16384, 512);
    const { meanMs, p50Ms, p99Ms } = timesOfLengths(
      wanted,
      [
        { tokens: 1024, count: 98 },
        { tokens: 16384, count: 2 },
      ],
      Infinity,
    );
    assert.equal(p99Ms, prefillOf(wanted, Infinity).timeToFirstTokenMs);
    assert.ok(p50Ms < meanMs && meanMs < p99Ms);
  });

  it('reads lengths as lines, JSON lines and counts by length', () => {
    assert.deepEqual(readLengths('512\n1024\n'), [
      { tokens: 512, count: 1 },
      { tokens: 1024, count: 1 },
    ]);
    assert.deepEqual(readLengths('{"tokens": 512, "count": 3}\n{"prompt_tokens": 7}'), [
      { tokens: 512, count: 3 },
      { tokens: 7, count: 1 },
    ]);
    assert.deepEqual(readLengths('{"512": 3, "7": 1}'), [
      { tokens: 7, count: 1 },
      { tokens: 512, count: 3 },
    ]);
    for (const broken of ['', '512\nmany', '{"tokens": 0}', '{"a": 1}', '-5', '1.5'])
      assert.throws(
        () => readLengths(broken),
        (error: unknown) => error instanceof ExpectedError && error.code === 'prefill-lengths',
      );
  });

  it('prints chunks, rules and memory, and refuses what it cannot read', async () => {
    const line = openCommandLine();
    try {
      const config = {
        model_type: 'llama',
        hidden_size: 2048,
        num_hidden_layers: 8,
        num_attention_heads: 16,
        intermediate_size: 8192,
        vocab_size: 32000,
      };
      writeFileSync(
        path.join(line.folder, 'config.json'),
        JSON.stringify({ ...config, max_position_embeddings: 16384, torch_dtype: 'bfloat16' }),
      );
      writeFileSync(path.join(line.folder, 'lengths.txt'), '512\n4096\n4096\n');
      const shape = ['--gpu', 'H100-80GB', '--set', 'layout.pipeline=4'];
      const told = await line.run(['prefill', 'config.json', '--prompt', '16384', ...shape]);
      assert.equal(told.exitCode, 0, told.err);
      assert.match(told.out, /First token after .* proved optimal\n/);
      assert.match(told.out, /SGLang's dynamic chunks/);
      const many = await line.run(['prefill', 'config.json', '--lengths', 'lengths.txt', ...shape, '--json']);
      const { prefill } = JSON.parse(many.out) as {
        prefill: { chunks: number[]; p50Ms: number; p99Ms: number; timeToFirstTokenMs: number };
      };
      assert.equal(
        prefill.chunks.reduce((sum, chunk) => sum + chunk, 0),
        4096,
      );
      assert.equal(prefill.p99Ms, prefill.timeToFirstTokenMs);
      for (const [given, said] of [
        [['--prompt', '5', '--lengths', 'lengths.txt'], /different things/],
        [['--chunk-cap', 'soon'], /--chunk-cap is "soon"/],
      ] as const) {
        const refused = await line.run(['prefill', 'config.json', ...given]);
        assert.equal(refused.exitCode, 2);
        assert.match(refused.err, said);
      }
    } finally {
      line.dispose();
    }
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../../src/core/errors';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { scheduleTransfers } from '../../../../src/core/planner/predict/transfers';
import { planPrefill, prefillRemedy, servedPrefill, timesOfLengths } from '../../../../src/features/prefill/core/prefill';
import { servingCommand } from '../../../../src/features/prefill/core/serving-command';
import { say } from '../../../../src/core/sentence';
import { readLengths } from '../../../../src/cli/problems/lengths';
import { llama3, request } from '../../../golden/requests';
import { openCommandLine } from '../../cli/command-line';

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
  it('plans one replica with whole weights, whatever shards and divides sequences in training', async () => {
    const line = openCommandLine();
    try {
      const config = (training: object, layout: object) =>
        JSON.stringify({
          model: { layers: 4, hidden: 1024, heads: 8, ffn: 4096, vocab: 1024 },
          cluster: { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 },
          training: { sequenceLength: 131072, globalBatch: 8, attention: 'flash', precision: 'bf16', ...training },
          layout: { tensor: 1, pipeline: 1, data: 8, ...layout },
        });
      writeFileSync(path.join(line.folder, 'whole.json'), config({}, {}));
      writeFileSync(
        path.join(line.folder, 'sharded.json'),
        config({ zeroStage: 3, contextParallelComm: 'all-to-all' }, { context: 8, data: 1 }),
      );
      const [whole, sharded] = [await line.run(['prefill', 'whole.json', '--json']), await line.run(['prefill', 'sharded.json', '--json'])];
      const timeOf = (text: string) =>
        (JSON.parse(text) as { readonly prefill: { readonly timeToFirstTokenMs: number } }).prefill.timeToFirstTokenMs;
      assert.ok(timeOf(whole.out) > 0);
      assert.equal(timeOf(sharded.out), timeOf(whole.out));
    } finally {
      line.dispose();
    }
  });

  it('finds the best of all ways to cut a short prompt, and no rule is faster', () => {
    const wanted = served(8192, 1024);
    const found = planPrefill(wanted, Infinity);
    assert.ok(found.exact);
    const pipeline = buildPipeline({ ...wanted, model: { ...wanted.model, vocab: 0 } });
    const timesOf = (cut: readonly number[]): number[] => {
      let context = 0;
      return cut.map((units) => {
        const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 1024 * units, context };
        context += unit.tokens;
        const [sendMs = 0] = scheduleTransfers(pipeline, { units: [unit], stageOfChunk: Uint32Array.of(0, 1, 2, 3) }).forwardMs;
        return pipeline.stages[1]!.cost(1, unit.tokens, unit.context).forwardMs + sendMs;
      });
    };
    const all = compositions(8).map(timesOf);
    const bestMs = Math.min(...all.map((times) => times.reduce((sum, ms) => sum + ms, 3 * Math.max(...times))));
    assert.ok(Math.abs(found.timeToFirstTokenMs - bestMs) <= 1e-9 * bestMs, `${found.timeToFirstTokenMs}, by trying all ${bestMs}`);
    assert.ok(Math.abs(found.lowerBoundMs - bestMs) <= 1e-9 * bestMs);
    for (const { name, timeToFirstTokenMs } of found.rules) assert.ok(bestMs <= timeToFirstTokenMs * (1 + 1e-9), say(name));
  });

  it('makes chunks shorter where decoding may not wait long, and shows where none is short enough', () => {
    const wanted = served(32768, 512);
    const free = planPrefill(wanted, Infinity);
    const capped = planPrefill(wanted, 12);
    assert.ok(Math.max(...capped.chunks) < Math.max(...free.chunks));
    assert.ok(capped.timeToFirstTokenMs > free.timeToFirstTokenMs);
    assert.throws(
      () => planPrefill(wanted, 0.01),
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
    assert.equal(p99Ms, planPrefill(wanted, Infinity).timeToFirstTokenMs);
    assert.ok(p50Ms < meanMs && meanMs < p99Ms);
  });

  it("configures each engine with what brings its own rule's chunks nearest to the best, never faster than these", () => {
    const wanted = served(65536, 64);
    const { timeToFirstTokenMs: bestMs, rules } = planPrefill(wanted, Infinity);
    const cuts = servedPrefill(wanted, null, Infinity);
    const byRuntime = Object.fromEntries(cuts.map((cut) => [cut.runtime, cut]));
    assert.deepEqual(
      cuts.map(({ runtime }) => runtime),
      ['sglang', 'vllm', 'vllm-ascend'],
    );
    for (const { runtime, chunks, timeToFirstTokenMs, meanMs } of cuts) {
      assert.equal(
        chunks.reduce((sum, chunk) => sum + chunk, 0),
        65536,
        runtime,
      );
      assert.ok(timeToFirstTokenMs >= bestMs * (1 - 1e-9), runtime);
      assert.equal(meanMs, timeToFirstTokenMs, runtime);
    }
    // With the guide's own settings SGLang is not faster than with those found for it; vLLM's chunks are equal.
    const usual = rules.find(({ name }) => say(name) === "SGLang's dynamic chunks");
    assert.ok((byRuntime['sglang']?.timeToFirstTokenMs ?? Infinity) <= (usual?.timeToFirstTokenMs ?? 0));
    assert.equal(new Set(byRuntime['vllm']?.chunks.slice(0, -1)).size, 1);
    const [first = 0, second = 0] = byRuntime['sglang']?.chunks ?? [];
    assert.ok(second < first && first % 64 === 0);
    assert.ok(byRuntime['vllm-ascend']?.chunks.slice(0, -1).every((chunk) => chunk % 128 === 0));
  });

  it('keeps the chunks of engines to the cap, and chooses for all prompts together', () => {
    const wanted = served(32768, 512);
    const free = servedPrefill(wanted, null, Infinity);
    const capped = servedPrefill(wanted, null, 12);
    assert.equal(capped.length, free.length);
    capped.forEach((cut, index) => assert.ok(Math.max(...cut.chunks) < Math.max(...(free[index]?.chunks ?? [])), cut.runtime));
    assert.deepEqual(servedPrefill(wanted, null, 1e-3), []);
    const short = servedPrefill(
      wanted,
      [
        { tokens: 2048, count: 999 },
        { tokens: 32768, count: 1 },
      ],
      Infinity,
    );
    const firstOf = (cuts: typeof free): number => cuts.find(({ runtime }) => runtime === 'vllm')?.settings.firstChunk ?? 0;
    assert.ok(firstOf(short) < firstOf(free));
  });

  it('writes launches in the flags of each engine', () => {
    const shape = { model: "/models/it's 70b", tensor: 8, pipeline: 4, stageLayers: [21, 20, 20, 19] };
    const cut = { chunks: [20480, 512], chunkMs: [1, 1], timeToFirstTokenMs: 1, meanMs: 1 };
    const of = (runtime: 'sglang' | 'vllm' | 'vllm-ascend', smoothing: number) =>
      servingCommand({ ...cut, runtime, settings: { firstChunk: 20480, smoothing, leastChunk: 5120 } }, shape);
    const sglang = of('sglang', 0.75);
    assert.deepEqual(sglang.flags, [
      '--tp-size 8',
      '--pp-size 4',
      '--chunked-prefill-size 20480',
      '--max-prefill-tokens 20480',
      '--enable-dynamic-chunking',
    ]);
    assert.deepEqual(sglang.environment, {
      SGLANG_DYNAMIC_CHUNKING_SMOOTH_FACTOR: '0.75',
      SGLANG_PP_LAYER_PARTITION: '21,20,20,19',
    });
    assert.match(sglang.command, /^SGLANG_DYNAMIC\S+ SGLANG_PP\S+ python3 -m sglang\.launch_server --model-path "\/models\/it's 70b" \\\n/);
    assert.ok(!of('sglang', 0).flags.includes('--enable-dynamic-chunking'));
    assert.ok(of('vllm', 0).flags.includes('--max-num-batched-tokens 20480'));
    assert.deepEqual(of('vllm', 0).environment, { VLLM_PP_LAYER_PARTITION: '21,20,20,19' });
    assert.match(of('vllm-ascend', 1).command, /\\"smooth_factor\\":1,\\"min_chunk\\":5120/);
  });

  it('shows what to do where weights, keys and values do not fit, and that it is enough', () => {
    const wanted = served(131072, 1024);
    const tight = { ...wanted, model: { ...wanted.model, layers: 80 }, layout: { ...wanted.layout, tensor: 1, pipeline: 2 } };
    const { memory } = planPrefill(tight, Infinity);
    assert.ok(!memory.fits && memory.leastStages !== null && memory.mostTokens > 0);
    assert.match(say(prefillRemedy(memory) ?? ''), /use \d+ stages .* keep prompts to [\d,]+ tokens/);
    const fitting = [
      { ...tight, layout: { ...tight.layout, pipeline: memory.leastStages } },
      { ...tight, training: { ...tight.training, sequenceLength: memory.mostTokens } },
    ].map((each) => planPrefill({ ...each, slicing: { unit: 4096, scheme: null } }, Infinity).memory);
    for (const each of fitting) assert.ok(each.fits && prefillRemedy(each) === null);
    const longer = { ...tight, training: { ...tight.training, sequenceLength: memory.mostTokens + 1 } };
    assert.ok(!planPrefill({ ...longer, slicing: { unit: 4096, scheme: null } }, Infinity).memory.fits);
  });

  it('reads lengths as lines, JSON lines and counts by length', () => {
    assert.deepEqual(readLengths({ file: 'l', text: '512\n1024\n' }), [
      { tokens: 512, count: 1 },
      { tokens: 1024, count: 1 },
    ]);
    assert.deepEqual(readLengths({ file: 'l', text: '{"tokens": 512, "count": 3}\n{"prompt_tokens": 7}' }), [
      { tokens: 512, count: 3 },
      { tokens: 7, count: 1 },
    ]);
    assert.deepEqual(readLengths({ file: 'l', text: '{"512": 3, "7": 1}' }), [
      { tokens: 7, count: 1 },
      { tokens: 512, count: 3 },
    ]);
    for (const [text, broken] of [
      ['', ''],
      ['512\n many\r\n7', 'many'],
      ['{"tokens": 0}', '{"tokens": 0}'],
      ['{"a": 1}', '"a"'],
      ['{"7": 1, "8": 0}', '"8"'],
      ['-5', '-5'],
      ['1.5', '1.5'],
      ['{"__proto__": {"tokens": 7}}', '"__proto__"'],
    ] as const)
      assert.throws(
        () => readLengths({ file: 'l', text }),
        ({ code, place }: ExpectedError) =>
          code === 'prefill-lengths' && place?.file === 'l' && text.slice(place.range.start, place.range.end) === broken,
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
      const mixed = { groups: ['V100-16GB', 'A100-40GB'].map((gpu) => ({ gpu, nodes: 1, gpusPerNode: 2 })) };
      writeFileSync(path.join(line.folder, 'terapipe.json'), JSON.stringify({ model: 'config.json', cluster: mixed }));
      const wanted = ['--prompt', '2048', '--set', 'layout.pipeline=4', '--set', 'layout.tensor=1', '--set', 'training.precision=fp16'];
      const unlike = await line.run(['prefill', 'terapipe.json', ...wanted]);
      assert.equal(unlike.exitCode, 0, unlike.err);
      assert.match(unlike.out, /4 stages of 1 x V100-16GB \+ A100-40GB/);
      const planned = await line.run(['prefill', 'config.json', '--prompt', '16384', ...shape]);
      assert.equal(planned.exitCode, 0, planned.err);
      assert.match(planned.out, /Time to first token .* proved optimal\n/);
      assert.match(planned.out, /SGLang's dynamic chunks/);
      const list = await line.run(['prefill', 'config.json', '--prompt', '16384', ...shape, '--to', 'list']);
      assert.match(list.out, /^\d+\n(\d+\n)+$/);
      const launch = await line.run(['prefill', 'config.json', '--prompt', '16384', ...shape, '--to', 'sglang']);
      assert.match(
        launch.out,
        /^# SGLang: .* (slower|faster than .*|as fast); best chunks: [\d, ]+\n(# .*\n)+(SGLANG\S+ )?python3 -m sglang/,
      );
      assert.match(launch.out, /--model-path \. /);
      writeFileSync(path.join(line.folder, 'terapipe.json'), JSON.stringify({ model: 'config.json', layout: { pipeline: 4 } }));
      const written = await line.run(['prefill', 'terapipe.json', '--prompt', '16384', '--gpu', 'H100-80GB', '--to', 'sglang']);
      assert.match(written.out, /--model-path \. /, 'an engine reads no terapipe.json');
      const sizes = { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, ffn: 14336, gatedMlp: true, vocab: 128256 };
      writeFileSync(path.join(line.folder, 'sizes.json'), JSON.stringify({ model: sizes, layout: { tensor: 2, pipeline: 4 } }));
      for (const [engine, start] of [
        ['sglang', /--model-path "\$\{MODEL:\?set it to the folder of the model\}" \\\n {2}--tp-size 2 \\\n {2}--pp-size 4 /],
        ['vllm', /serve "\$\{MODEL:\?[\w ]+\}" \\\n {2}--tensor-parallel-size 2 \\\n {2}--pipeline-parallel-size 4 /],
        ['vllm-ascend', /serve "\$\{MODEL:\?[\w ]+\}" \\\n {2}--tensor-parallel-size 2 \\\n {2}--pipeline-parallel-size 4 /],
      ] as const) {
        const inline = await line.run(['prefill', 'sizes.json', '--prompt', '8192', '--gpu', 'H100-80GB', '--to', engine]);
        assert.match(inline.out, start, 'no file names the folder of a model that is given by its sizes');
        assert.match(inline.out, /# No config\.json was read: set MODEL/);
      }
      const many = await line.run(['prefill', 'config.json', '--lengths', 'lengths.txt', ...shape, '--json']);
      const { prefill } = JSON.parse(many.out) as {
        prefill: { chunks: number[]; p50Ms: number; p99Ms: number; timeToFirstTokenMs: number };
      };
      assert.equal(
        prefill.chunks.reduce((sum, chunk) => sum + chunk, 0),
        4096,
      );
      assert.equal(prefill.p99Ms, prefill.timeToFirstTokenMs);
      for (const [given, message] of [
        [['--prompt', '5', '--lengths', 'lengths.txt'], /different things/],
        [['--chunk-cap', 'soon'], /--chunk-cap is "soon"/],
        [['--to', 'tensorrt'], /"tensorrt" is nothing that prefill is written for/],
      ] as const) {
        const refused = await line.run(['prefill', 'config.json', ...given]);
        assert.equal(refused.exitCode, 2);
        assert.match(refused.err, message);
      }
    } finally {
      line.dispose();
    }
  });
});

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fixtures } from '../core/config-files/files';
import { openCommandLine, type CommandLine } from './command-line';

type Json = Readonly<Record<string, unknown>>;

type StageJson = Readonly<Record<string, number>>;

describe('terapipe', () => {
  let cli: CommandLine;
  const plan = 'configs/pipeline/terapipe.json';
  before(() => {
    cli = openCommandLine();
    cpSync(fixtures, path.join(cli.folder, 'configs'), { recursive: true });
  });
  after(() => {
    cli.dispose();
  });

  const json = async (args: readonly string[], exitCode = 0, input = '') => {
    const outcome = await cli.run([...args, '--json'], input);
    assert.equal(outcome.exitCode, exitCode, outcome.err + outcome.out);
    assert.equal(outcome.err, '');
    assert.match(outcome.out, /^\{"version":1,[^\n]*\n$/);
    return JSON.parse(outcome.out) as Json;
  };
  const words = async (args: readonly string[], exitCode = 0) => {
    const outcome = await cli.run(args);
    assert.deepEqual([outcome.exitCode, outcome.err], [exitCode, '']);
    return outcome.out;
  };

  it('plans, with everything cli.md promises', async () => {
    const answer = (await json(['plan', plan]))['plan'] as Json;
    assert.deepEqual(answer['layout'], { tensor: 2, pipeline: 4, data: 1, context: 1, expert: 1, virtualStages: 2 });
    assert.equal(answer['schedule'], 'Interleaved1F1B');
    const comparisons = answer['comparisons'] as readonly Json[];
    assert.ok(comparisons.some(({ name }) => name === '1F1B') && comparisons.some(({ name }) => name === 'TeraPipe'));
    for (const key of ['iterationMs', 'bubbleRate', 'tokensPerSecond', 'mfu']) assert.equal(typeof answer[key], 'number', key);
    const scheme = answer['scheme'] as readonly { readonly batch: number; readonly tokens: readonly number[] }[];
    assert.equal(
      scheme.reduce((sum, { batch }) => sum + batch, 0),
      8,
    );
    for (const { tokens } of scheme) assert.equal(tokens.reduce((sum, length) => sum + length, 0), 1024); // prettier-ignore
    assert.equal((answer['cost'] as Json)['provenance'], 'roofline');
    assert.ok(Array.isArray(answer['reasons']) && Array.isArray(answer['assumptions']));
    assert.ok((answer['assumptions'] as readonly Json[]).some(({ key }) => key === 'training.microBatch'));
  });

  it('shows what experts are shared over, that there is no vocabulary, and which peaks are above what is usable', async () => {
    const model = { layers: 32, hidden: 4096, heads: 32, ffn: 14336, gatedMlp: true, experts: 8, activeExperts: 2 };
    const file = path.join(cli.folder, 'moe.terapipe.json');
    writeFileSync(
      file,
      JSON.stringify({
        model,
        layout: { tensor: 4, pipeline: 2, expert: 2, expertTensor: 4 },
        training: { globalBatch: 16, sequenceLength: 4096 },
      }),
    );
    const outcome = await cli.run(['plan', file, '--all']);
    assert.match(outcome.out, /^ {2}runs +TP4 PP2 DP2 EP2, micro-batch 1/m);
    assert.match(outcome.out, /^ +model\.vocab +0 +no vocabulary given/m);
    const rows = [...outcome.out.matchAll(/ ([\d.]+) (GiB|TiB)(?: {2}(does not fit))?$/gm)];
    const [, usable] = /\/ ([\d.]+) GiB on stage/.exec(outcome.out) ?? [];
    assert.ok(rows.length > 5);
    for (const [, peak, , unfit] of rows) assert.equal(unfit !== undefined, Number(peak) > Number(usable), peak);
  });

  it('plans in words: step, bubble, memory, comparison', async () => {
    const text = await words(['plan', plan, '--all']);
    for (const part of [
      /pipeline: 8 layers/,
      /step +[\d.]+ ms/,
      /bubble +[\d.]+ %/,
      /memory +[\d.]+ \/ 7?\d+(\.\d)? GiB/,
      /1F1B/,
      /Assumed/,
    ])
      assert.match(text, part);
    assert.ok(!/\d\.\d{4,}/.test(text), 'three significant digits');
  });

  it('predicts exactly the schedule that is set', async () => {
    const answer = (await json(['plan', plan, '--set', 'schedule=1F1B', '--set', 'training.microBatch=2']))['plan'] as Json;
    assert.equal(answer['schedule'], '1F1B');
    assert.deepEqual((answer['scheme'] as readonly Json[])[0], { batch: 2, tokens: [1024] });
  });

  it('plans a lone model config on the GPU named', async () => {
    const answer = (await json(['plan', 'configs/gpt2-tiny/config.json', '--gpu', 'h200', '--nodes', '2', '--gpus-per-node', '4']))[
      'plan'
    ] as Json;
    const cluster = answer['cluster'] as Json;
    assert.deepEqual([(cluster['gpu'] as Json)['name'], cluster['nodes'], cluster['gpusPerNode']], ['H200', 2, 4]);
  });

  it('exits 1 for a plan that does not fit', async () => {
    const args = ['plan', plan, '--set', 'cluster.gpu.memoryGB=1.1'];
    const answer = await json(args, 1);
    assert.equal(((answer['plan'] as Json)['memory'] as Json)['fits'], false);
    assert.ok((answer['findings'] as readonly Json[]).some(({ code }) => code === 'memory-over-capacity'));
    assert.match(await words(args, 1), /does not fit/);
  });

  it('counts memory in parts that add up to the peak', async () => {
    const answer = await json(['memory', plan]);
    const stages = answer['stages'] as readonly StageJson[];
    assert.equal(stages.length, 4);
    for (const stage of stages) {
      const { weightsBytes = 0, gradientsBytes = 0, optimizerBytes = 0, activationsBytes = 0, otherBytes = 0, peakBytes = 0 } = stage;
      const sum = weightsBytes + gradientsBytes + optimizerBytes + activationsBytes + otherBytes;
      assert.ok(Math.abs(sum - peakBytes) <= 1e-6 * peakBytes, JSON.stringify(stage));
      assert.ok(stage['capacityBytes']! > peakBytes);
    }
    assert.equal(typeof answer['parameters'], 'number');
    assert.match(await words(['memory', plan]), /stage +weights +gradients/);
  });

  it('takes a terapipe.json on standard input', async () => {
    const config = {
      model: { layers: 4, hidden: 256, heads: 4 },
      layout: { tensor: 1, pipeline: 2, data: 1 },
      training: { globalBatch: 4, sequenceLength: 512 },
    };
    const answer = await json(['memory', '-'], 0, JSON.stringify(config));
    assert.equal((answer['stages'] as readonly Json[]).length, 2);
    const referring = { ...config, model: 'configs/llama-tiny/config.json' };
    await json(['plan', '-'], 0, JSON.stringify(referring));
  });

  it('inspects a model without attention: no layer has heads', async () => {
    writeFileSync(path.join(cli.folder, 'mamba.json'), JSON.stringify({ model_type: 'mamba2', num_hidden_layers: 4 }));
    assert.match(await words(['inspect', 'mamba.json']), /heads +- +in no layer\n[^]*ffn +- +in no layer/);
  });

  it('inspects: what the file sets, null for the rest', async () => {
    const answer = await json(['inspect', 'configs/gpt2-tiny/config.json']);
    assert.equal(answer['format'], 'huggingface');
    const model = answer['model'] as Json;
    assert.deepEqual(
      [
        'modelType',
        'layers',
        'hidden',
        'heads',
        'kvHeads',
        'headDim',
        'ffn',
        'vocab',
        'maxPositions',
        'tiedEmbeddings',
        'experts',
        'activeExperts',
      ].map((key) => model[key]),
      ['gpt2', 6, 256, 4, 4, 64, 1024, 1000, 512, true, null, null],
    );
    assert.equal(model['parameters'], 5_126_144);
    const layout = {
      tensor: null,
      pipeline: null,
      data: null,
      context: null,
      expert: null,
      expertTensor: null,
      order: null,
      stageNodeGroups: null,
      stageLayers: null,
      virtualStages: null,
    };
    assert.deepEqual(answer['layout'], layout);
    assert.equal((answer['training'] as Json)['sequenceLength'], null);
    const given = await json(['inspect', plan]);
    assert.equal((given['layout'] as Json)['tensor'], 2);
    assert.deepEqual(given['cluster'], {
      instance: null,
      gpu: 'A100-80GB',
      memoryBytes: (given['cluster'] as Json)['memoryBytes'],
      nodes: 1,
      gpusPerNode: 8,
      groups: null,
    });
    assert.match(await words(['inspect', plan]), /kvHeads +2/);
  });

  it('checks folders: every config recognised, nothing else, places from 1', async () => {
    mkdirSync(path.join(cli.folder, 'many/node_modules/x'), { recursive: true });
    const write = (name: string, text: string) => {
      writeFileSync(path.join(cli.folder, 'many', name), text);
    };
    write('package.json', '{"name": "x", "model": "y"}');
    write('broken.terapipe.json', '{\n  "model":');
    write('terapipe.json', '{\n  "model": {"layers": 24, "hidden": 64, "heads": 4},\n  "layout": {"pipeline": 10},\n  "trainig": {}\n}');
    write('node_modules/x/terapipe.json', '{');
    write('a-clip.json', '{"model_type": "clip"}');
    const answer = await json(['check', 'many', 'configs'], 1);
    const findings = answer['findings'] as readonly Json[];
    const short = findings.map(({ file, code, severity, line, column }) => [file, code, severity, line, column].join(' '));
    assert.deepEqual(short, [
      'many/a-clip.json config-unknown-model-type information 1 16',
      'many/broken.terapipe.json config-json-syntax error 2 10',
      'many/terapipe.json pp-layers-not-divisible error 3 26',
      'many/terapipe.json unknown-key warning 4 3',
    ]);
    assert.deepEqual(findings[2]?.['fixes'], ['Set layout.pipeline to 12', 'Set layout.pipeline to 8']);
    assert.deepEqual([findings[2]['endLine'], findings[2]['endColumn']], [3, 28]);
    const text = await words(['check', 'many'], 1);
    assert.match(
      text,
      /^many\/terapipe\.json:3:26: error: 24 layers are not divisible by 10 pipeline stages; set layout\.pipeline to 12 or 8 \[pp-layers-not-divisible\]$/m,
    );
    assert.equal(await words(['check', 'configs']), 'No findings in 3 configs\n');
  });

  it('solves a raw problem', async () => {
    const problem = {
      batch: 1,
      tokens: 512,
      unit: 8,
      stages: 4,
      cost: { fixed: 0.9479, perToken: 0.0099, tile: 1, perTokenSquared: 0, perContext: 0, perTokenContext: 9.1e-7 },
    };
    const answer = await json(['solve', '-'], 0, JSON.stringify(problem));
    assert.ok(Math.abs((answer['latencyMs'] as number) - 15.7293416) < 1e-9 * 15.7);
    writeFileSync(path.join(cli.folder, 'problem.json'), JSON.stringify(problem));
    assert.match(await words(['solve', 'problem.json']), /\(1, \[128 x 4\]\)/);
  });

  it('explains itself', async () => {
    assert.match(await words(['--help']), /^Usage: terapipe COMMAND FILE/);
    assert.match(await words(['help']), /Exit status/);
  });
});

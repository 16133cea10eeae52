import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine } from './command-line';

/** A launch of a small model, in a layout that is far from the best. */
const script = (layers: number, hidden: number): string => `#!/bin/bash
# the first run
TP=4
PP=2
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \\
  --num-layers ${layers} --hidden-size ${hidden} --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \\
  --micro-batch-size 1 --global-batch-size 32 --bf16 --vocab-size 32000 --tokenizer-type NullTokenizer
`;

interface Exported {
  readonly written: string | null;
  readonly export: {
    readonly iterationMs: number;
    readonly plannedAgainMs: number;
    readonly gaps?: readonly { readonly what: string }[];
  } | null;
  readonly error?: { readonly code: string; readonly message: string };
}

/** What is judged of a checkpoint. */
interface Verdict {
  readonly verdict: string;
}

describe('export --search', () => {
  const cli = openCommandLine();
  after(cli.dispose);
  const at = (name: string): string => path.join(cli.folder, name);
  const search = async (...args: string[]): Promise<{ readonly exitCode: number | null; readonly answer: Exported }> => {
    const { exitCode, out } = await cli.run(['export', ...args, '--search', '--schedules', '1F1B', '--json']);
    return { exitCode, answer: JSON.parse(out) as Exported };
  };

  it("writes the best layout into the launcher's own file, which plans as the search found", async () => {
    writeFileSync(at('run.sh'), script(8, 1024));
    const { exitCode, answer } = await search('run.sh', '--out', 'best.sh');
    assert.equal(exitCode, 0);
    const text = readFileSync(at('best.sh'), 'utf8');
    assert.match(text, /^#!\/bin\/bash\n/);
    assert.match(text, /# the first run/);
    const planned = JSON.parse((await cli.run(['plan', 'best.sh', '--json'])).out) as { plan: { iterationMs: number } };
    const found = answer.export?.iterationMs ?? 0;
    assert.ok(Math.abs(planned.plan.iterationMs / found - 1) <= 0.005, `${planned.plan.iterationMs} against ${found}`);
    const before = JSON.parse((await cli.run(['plan', 'run.sh', '--json'])).out) as { plan: { iterationMs: number } };
    assert.ok(found < before.plan.iterationMs);
  });

  it('plans the written file on the constants that a measured step has corrected', async () => {
    const { exitCode, answer } = await search('run.sh', '--measured', '2s', '--out', 'measured.sh');
    assert.equal(exitCode, 0, JSON.stringify(answer.error));
    const { iterationMs, plannedAgainMs } = answer.export ?? { iterationMs: 0, plannedAgainMs: 0 };
    assert.ok(Math.abs(plannedAgainMs / iterationMs - 1) <= 0.005, `${plannedAgainMs} against ${iterationMs}`);
    const plain = await search('run.sh', '--out', 'plain.sh');
    assert.ok(iterationMs > 1.2 * (plain.answer.export?.iterationMs ?? Infinity));
  });

  it('reports whether the checkpoint that the file loads survives the new layout', async () => {
    writeFileSync(at('loads.sh'), script(8, 1024).replace('--bf16', '--bf16 --use-distributed-optimizer --load $CKPT'));
    const { exitCode, out, err } = await cli.run(['export', 'loads.sh', '--search', '--schedules', '1F1B', '--out', 'loaded.sh', '--json']);
    assert.equal(exitCode, 0, err);
    const { checkpoint } = (JSON.parse(out) as { export: { checkpoint?: { verdict: string; changed: string[]; command: string } } }).export;
    assert.equal(checkpoint?.verdict, 'loads-after-conversion');
    assert.ok(checkpoint.changed.includes('tensor') || checkpoint.changed.includes('pipeline'));
    assert.match(
      err,
      /^checkpoint: The optimizer state of a torch_dist checkpoint .* does not load .*--dist-ckpt-optim-fully-reshardable/m,
    );
    assert.match(readFileSync(at('loaded.sh'), 'utf8'), /--load \$CKPT/);
  });

  it('reports the same of a search that writes nothing, and of the best layout in a comparison', async () => {
    writeFileSync(at('loads.sh'), script(8, 1024).replace('--bf16', '--bf16 --use-distributed-optimizer --load $CKPT'));
    const text = /torch_dist checkpoint of this file's layout .* with (tensor|pipeline) /;
    const given = ['plan', 'loads.sh', '--schedules', '1F1B'];
    const searched = await cli.run([...given, '--search', '--quick']);
    assert.match(searched.out, /\n\nCheckpoint\n {2}\S/);
    assert.match(searched.out, text);
    const { checkpoint } = JSON.parse((await cli.run([...given, '--search', '--quick', '--json'])).out) as { checkpoint?: Verdict };
    assert.equal(checkpoint?.verdict, 'loads-after-conversion');
    const compared = await cli.run(['plan', 'loads.sh', '--compare', 'best', '--json']);
    const { otherCheckpoint, findings } = JSON.parse(compared.out) as { otherCheckpoint?: Verdict; findings: readonly { code: string }[] };
    assert.equal(otherCheckpoint?.verdict, 'loads-after-conversion');
    assert.ok(findings.some(({ code }) => code === 'checkpoint-layout'));
  });

  it('leaves an existing file unchanged unless --write is given', async () => {
    writeFileSync(at('there.sh'), 'mine');
    const { exitCode, answer } = await search('run.sh', '--out', 'there.sh');
    assert.deepEqual([exitCode, answer.error?.code, readFileSync(at('there.sh'), 'utf8')], [2, 'export-exists', 'mine']);
    assert.equal((await search('run.sh', '--out', 'there.sh', '--write')).exitCode, 0);
  });

  it('writes nothing where no layout fits', async () => {
    writeFileSync(at('large.sh'), script(96, 16384));
    const { exitCode, answer } = await search('large.sh', '--out', 'none.sh', '--gpu', 'L4');
    assert.deepEqual([exitCode, answer.written, existsSync(at('none.sh'))], [1, null, false]);
  });

  it("writes a new file of another launcher, and refuses a model's config without one", async () => {
    const config = { model_type: 'gpt2', n_layer: 4, n_embd: 256, n_head: 4, vocab_size: 1024, n_positions: 512 };
    writeFileSync(at('config.json'), JSON.stringify(config));
    const { exitCode, answer } = await search('config.json', '--out', 'no.sh');
    assert.deepEqual([exitCode, answer.error?.code, existsSync(at('no.sh'))], [2, 'apply-not-this-file', false]);
    assert.equal((await search('config.json', '--to', 'megatron', '--out', 'gpt.sh')).exitCode, 0);
    assert.match(readFileSync(at('gpt.sh'), 'utf8'), /--num-layers 4/);
  });

  it('refuses a file with lists of its kinds of devices once, before a search', async () => {
    const lines = [
      'system:',
      '  tensor_model_parallel_size: 2',
      '  pipeline_model_parallel_size: 2',
      '  disable_bias_linear: True',
      '  sequence_parallel: True',
      '  precision:',
      '    bf16: True',
      '  hetero:',
      '    enable_hetero: True',
      '    hetero_device_types: ["A800","BI150"]',
      '    hetero_pipeline_layer_split: [12, 12]',
      '    hetero_process_meshes: [2, 1, 1, 2, 1, 2, 1, 1, 2, 1]',
      'model:',
      '  num_layers: 24',
      '  hidden_size: 2048',
      '  num_attention_heads: 16',
      '  seq_length: 2048',
      '  max_position_embeddings: 2048',
      '  micro_batch_size: 1',
      '  global_batch_size: 64',
      'data:',
      '  tokenizer:',
      '    vocab_size: 32000',
    ];
    writeFileSync(at('hetero.yaml'), `${lines.join('\n')}\n`);
    const { exitCode, answer } = await search('hetero.yaml', '--out', 'other.yaml');
    assert.deepEqual([exitCode, answer.error?.code, existsSync(at('other.yaml'))], [2, 'apply-not-this-file', false]);
    assert.match(answer.error?.message ?? '', /Kinds of devices have lists of their own/);
  });

  it('searches a model for the launcher of the new file: what it cannot set is not found', async () => {
    const config = { model_type: 'llama', num_hidden_layers: 8, hidden_size: 4096, num_attention_heads: 32, vocab_size: 32_000 };
    writeFileSync(at('llama.json'), JSON.stringify({ ...config, intermediate_size: 11_008 }));
    const { answer } = await search('llama.json', '--gpus', '8', '--to', 'torchtitan', '--out', 'titan.toml');
    const gaps = answer.export?.gaps?.map(({ what }) => what) ?? [];
    assert.deepEqual(
      gaps.filter((what) => /ZeRO|recompute/.test(what)),
      [],
    );
    assert.match(readFileSync(at('titan.toml'), 'utf8'), /data_parallel_shard_degree/);
  });

  it('searches within what a runtime of token slices runs, and refuses a model that it cannot hold once', async () => {
    const searchSlices = (...args: string[]) => cli.run(['export', ...args, '--to', 'seq1f1b', '--gpus', '8', '--search', '--json']);
    const gpt = { model_type: 'gpt2', n_layer: 16, n_embd: 2048, n_head: 16, n_positions: 8192, vocab_size: 50_304 };
    writeFileSync(at('gpt.json'), JSON.stringify({ ...gpt, tie_word_embeddings: false }));
    const { exitCode, out } = await searchSlices('gpt.json', '--out', 'slices.sh');
    assert.equal(exitCode, 0, out);
    const text = readFileSync(at('slices.sh'), 'utf8');
    const [, splits = '1'] = /--pipe-sp-splits (\d+)/.exec(text) ?? [];
    assert.ok(Number(splits) > 1);
    const planned = JSON.parse((await cli.run(['plan', 'slices.sh', '--json'])).out) as { plan: { iterationMs: number } };
    const { export: written } = JSON.parse(out) as Exported;
    assert.ok(Math.abs(planned.plan.iterationMs / (written?.iterationMs ?? 0) - 1) <= 0.005);
    const moe = { model_type: 'mixtral', num_hidden_layers: 8, hidden_size: 1024, num_attention_heads: 16, vocab_size: 32_000 };
    writeFileSync(at('moe.json'), JSON.stringify({ ...moe, intermediate_size: 2816, num_local_experts: 8, num_experts_per_tok: 2 }));
    const { exitCode: refused, out: refusal, err } = await searchSlices('moe.json', '--out', 'moe.sh');
    assert.equal(refused, 2);
    assert.doesNotMatch(err, /%|layouts/, 'progress before the refusal');
    assert.match(refusal, /thunlp\/Seq1F1B does not run this plan: its model has experts \(megatron\/model\/transformer.py \d+: [^)]+\)/);
    const t5 = { model_type: 't5', num_layers: 4, d_model: 512, num_heads: 8, d_ff: 2048, d_kv: 64, vocab_size: 32_128, n_positions: 512 };
    writeFileSync(at('t5.json'), JSON.stringify({ ...t5, tie_word_embeddings: false }));
    const encoder = await searchSlices('t5.json', '--out', 't5.sh');
    assert.equal(encoder.exitCode, 2);
    assert.match(encoder.out, /thunlp\/Seq1F1B does not run this plan: its model has an encoder/);
  });

  it('writes and plans a row of the search or the best of a schedule, and lists what exists', async () => {
    writeFileSync(at('rows.sh'), script(8, 1024));
    const options = ['--search', '--schedules', '1F1B', '--json'];
    const { search: found } = JSON.parse((await cli.run(['plan', 'rows.sh', '--quick', ...options])).out) as {
      readonly search: { readonly paretoFront: readonly { readonly row: number; readonly iterationMs: number }[] };
    };
    const last = found.paretoFront.at(-1);
    assert.ok(last !== undefined && last.row > 1 && last.row === found.paretoFront.length);
    const planned = JSON.parse((await cli.run(['plan', 'rows.sh', '--row', String(last.row), ...options])).out) as {
      readonly plan: { readonly iterationMs: number };
    };
    assert.ok(Math.abs(planned.plan.iterationMs / last.iterationMs - 1) < 1e-9);
    const { exitCode, answer } = await search('rows.sh', '--row', String(last.row), '--out', 'row.sh');
    assert.deepEqual([exitCode, answer.export?.iterationMs], [0, last.iterationMs]);
    assert.equal((await search('rows.sh', '--candidate', '1f1b', '--out', 'candidate.sh')).exitCode, 0);
    const none = await search('rows.sh', '--row', '99', '--out', 'none.sh');
    assert.deepEqual([none.exitCode, none.answer.error?.code], [2, 'search-no-row']);
    const other = await search('rows.sh', '--candidate', 'ZBVZeroBubble', '--out', 'none.sh');
    assert.deepEqual([other.exitCode, other.answer.error?.code, existsSync(at('none.sh'))], [2, 'search-no-candidate', false]);
  });

  it('writes into a folder, and prints layout, step and memory in one line', async () => {
    writeFileSync(at('run.sh'), script(8, 1024));
    mkdirSync(at('folder'));
    const args = ['export', 'run.sh', '--search', '--schedules', '1F1B'];
    const { out, err } = await cli.run([...args, '--out', 'folder']);
    assert.match(out, /^Wrote folder\/run\.sh: TP\d+ .*, 1F1B, [\d.]+ m?s a step, [\d.]+ \/ [\d.]+ GiB, fits, [\d.]+ GiB free\n$/, err);
    await cli.run([...args, '--to', 'torchtitan', '--out', 'made/']);
    assert.deepEqual([readdirSync(at('folder')), readdirSync(at('made')).length], [['run.sh'], 1]);
  });

  it('needs a file to write', async () => {
    const { exitCode, err } = await cli.run(['export', 'run.sh', '--search']);
    assert.equal(exitCode, 2);
    assert.match(err, /give --out PATH/);
  });
});

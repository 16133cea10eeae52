import assert from 'node:assert/strict';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../../src/cli/run-command';
import type { LauncherReader } from '../../../src/core/run/facts';
import { readSlices } from '../../../src/core/export/slices/slices-file';
import { fixtures } from '../core/config-files/files';
import { shellReader } from '../core/launchers/shell/shell-reader';

interface Edit {
  readonly line: number;
  readonly newText: string;
}

const launchers = path.join(import.meta.dirname, '../../fixtures/launchers');

describe('terapipe export', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-export-'));
  const plan = path.join(folder, 'configs/pipeline/terapipe.json');
  const script = path.join(folder, 'train.sh');
  /** Progress of all commands so far. */
  const steps: string[] = [];
  let shell: LauncherReader;

  before(async () => {
    shell = await shellReader();
    cpSync(fixtures, path.join(folder, 'configs'), { recursive: true });
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** One command line; paths are absolute, the folder is left out of the output. */
  async function run(...args: readonly string[]): Promise<{ readonly out: string; readonly err: string; readonly exitCode: number }> {
    const [out, err]: [string[], string[]] = [[], []];
    const exitCode = await runCommand(args, {
      out: (text: string) => out.push(text),
      err: (text: string) => err.push(text),
      progress: () => undefined,
      status: (line: string) => steps.push(line),
      clock: () => 0,
      now: () => '2026-01-01T00:00:00Z',
      signal: new AbortController().signal,
      profilerFile: '',
      torchFolder: '',
      shell: () => Promise.resolve(shell),
      debug: false,
    });
    const withoutFolder = (lines: readonly string[]): string => lines.join('').replaceAll(`${folder}/`, '');
    return { out: withoutFolder(out), err: withoutFolder(err), exitCode };
  }

  const at = (name: string): string => path.join(folder, name);
  const original = readFileSync(path.join(launchers, 'shell/arrays.sh'), 'utf8');
  const fresh = (): void => {
    writeFileSync(script, original);
  };

  it('refuses what no plan of a run could be, before it makes one', async () => {
    const mixed = path.join(import.meta.dirname, '../../../media/samples/llama3-70b-mixed/terapipe.json');
    const from = steps.length;
    for (const runtime of ['seq1f1b', 'seq1f1b-core']) {
      const { err, exitCode } = await run(
        'export',
        mixed,
        '--to',
        runtime,
        '--set',
        'training.globalBatch=128000',
        '--set',
        'model.ffn=21824',
      );
      assert.deepEqual([exitCode, steps.slice(from)], [2, []]);
      assert.match(err, /does not run this plan: it needs several kinds of nodes; plan one kind of nodes/);
    }
    assert.equal((await run('export', plan, '--to', 'megatron')).exitCode, 0);
    assert.ok(steps.length > from);
  });

  it('prints a new file, and on standard error what it cannot express', async () => {
    const { out, err, exitCode } = await run('export', plan, '--to', 'megatron', '--set', 'schedule=TeraPipe');
    assert.equal(exitCode, 0);
    assert.match(out, /^#!\/usr\/bin\/env bash\n/);
    assert.match(out, /--tensor-model-parallel-size 2\n {2}--pipeline-model-parallel-size 4\n/);
    assert.match(
      err,
      /^warning: not written: token slices \(TeraPipe\): .* this file runs interleaved 1F1B instead, .* per step, the plan /,
    );
  });

  it('reports a launcher that computes something else than the model as an error, and writes the file', async () => {
    const alibi = at('alibi.json');
    const sizes = { hidden_size: 1024, n_layer: 24, n_head: 16, vocab_size: 50_304 };
    writeFileSync(alibi, JSON.stringify({ model_type: 'bloom', ...sizes }));
    const asked = ['export', alibi, '--to', 'megatron', '--gpus', '8'];
    const printed = await run(...asked);
    assert.equal(printed.exitCode, 1);
    assert.match(printed.err, /^error: Megatron-LM cannot express ALiBi: this file trains another model$/m);
    assert.match(printed.out, /^# Error: Megatron-LM cannot express ALiBi: this file trains another model\.$/m);
    const { gaps } = JSON.parse((await run(...asked, '--json')).out) as { gaps: { what: string; severity: string }[] };
    assert.deepEqual(
      gaps.filter(({ severity }) => severity === 'error').map(({ what }) => what),
      ['ALiBi', 'the norm of the embedding'],
    );
    const written = await run('export', alibi, '--to', 'megatron', '--gpus', '8', '--search', '--out', at('alibi.sh'));
    assert.deepEqual(
      [written.exitCode, readFileSync(at('alibi.sh'), 'utf8').includes('Error: Megatron-LM cannot express ALiBi')],
      [1, true],
    );
    assert.match(written.err, /^error: Megatron-LM cannot express ALiBi/m);
  });

  it('warns of what a config leaves open, which is not an error', async () => {
    const { err, exitCode } = await run('export', plan, '--to', 'deepspeed');
    assert.equal(exitCode, 0);
    assert.match(err, /^warning: DeepSpeed's JSON has no model/m);
    assert.doesNotMatch(err, /^error:/m);
  });

  it('lets what a launcher derives from a size follow the size that is set, and writes nothing that check refuses', async () => {
    const dense = at('dense.sh');
    const flags = '--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --bf16';
    const sizes = '--micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 2';
    writeFileSync(dense, `torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${flags} ${sizes}\n`);
    const sets = ['layout.tensor=2', 'layout.pipeline=8', 'layout.data=2'].flatMap((set) => ['--set', set]);
    assert.equal((await run('export', dense, '--into', dense, '--write', ...sets)).out, 'Wrote dense.sh\n');
    const changed = readFileSync(dense, 'utf8');
    assert.match(changed, /--tensor-model-parallel-size 2 --pipeline-model-parallel-size 8/);
    assert.doesNotMatch(changed, /expert/);
    assert.equal((await run('check', dense)).exitCode, 0);
  });

  it('refuses to change a file into one that would not run', async () => {
    const moe = at('moe.sh');
    const flags = '--num-layers 32 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --bf16';
    const sizes = '--micro-batch-size 1 --global-batch-size 128 --num-experts 8 --expert-model-parallel-size 2';
    const text = `torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py ${flags} ${sizes}\n`;
    writeFileSync(moe, text);
    const sets = ['layout.pipeline=8', 'layout.data=1'].flatMap((set) => ['--set', set]);
    const { err, exitCode } = await run('export', moe, '--into', moe, '--write', ...sets);
    assert.equal(exitCode, 2);
    assert.match(err, /would not run as planned: 8 GPUs are not divisible by .*\[expert-world-factor\]/);
    assert.equal(readFileSync(moe, 'utf8'), text);
  });

  it('never writes an overlapped exchange of experts on stages without virtual ones', async () => {
    const [moe, out] = [at('moe.json'), at('overlapped.sh')];
    writeFileSync(moe, JSON.stringify({ model: { layers: 8, hidden: 1024, heads: 16, experts: 8, activeExperts: 2 } }));
    const sets = (virtualStages: number): string[] =>
      ['layout.pipeline=2', 'layout.expert=4', 'training.overlapExpertComm=true', `layout.virtualStages=${virtualStages}`].flatMap(
        (set) => ['--set', set],
      );
    const { err, exitCode } = await run('export', moe, '--to', 'megatron', '--out', out, '--gpus', '8', ...sets(1));
    assert.equal(exitCode, 2);
    assert.match(err, /would not run as planned: .*2 pipeline stages have no virtual stages \[expert-overlap\]/);
    await run('export', moe, '--to', 'megatron', '--out', out, '--gpus', '8', ...sets(2));
    assert.match(readFileSync(out, 'utf8'), /--overlap-moe-expert-parallel-comm\n/);
  });

  it('writes a script of every kind of model that our own check takes', async () => {
    const models = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../witness/parsers/models.json'), 'utf8')) as object;
    for (const [model, config] of Object.entries(models)) {
      const [from, out] = [at(`${model}.json`), at(`${model}.sh`)];
      writeFileSync(from, JSON.stringify(config));
      const { err } = await run('export', from, '--to', 'megatron', '--out', out, '--gpus', '8', '--set', 'schedule=1F1B');
      assert.doesNotMatch(err, /nothing was written/, model);
      assert.match(readFileSync(out, 'utf8'), /For Megatron-LM core 0\.\d+ and newer/);
    }
  });

  it('writes what inspect reads back, and never over a file that exists', async () => {
    for (const [to, name, exitCode] of [
      ['megatron', 'a.sh', 0],
      ['nemo', 'a.yaml', 0],
      // without a flavor TorchTitan trains its smallest Llama
      ['torchtitan', 'a.toml', 1],
      ['deepspeed', 'a.json', 0],
    ] as const) {
      const args = ['export', plan, '--to', to, '--out', at(name), '--set', 'schedule=1F1B'];
      assert.equal((await run(...args)).out, `Wrote ${name}\n`);
      const read = JSON.parse((await run('inspect', at(name), '--json')).out) as {
        readonly layout: { readonly tensor: number; readonly pipeline: number };
      };
      assert.deepEqual([read.layout.tensor, read.layout.pipeline], [2, 4]);
      const again = await run(...args);
      assert.deepEqual(
        [again.exitCode, again.err],
        [2, `terapipe: ${name} exists already; name another file, or give --write to replace it\n`],
      );
      assert.equal((await run(...args, '--write')).exitCode, exitCode);
    }
  });

  it('shows the difference to a file, and writes it only with --write', async () => {
    fresh();
    const shown = await run('export', plan, '--into', script);
    assert.equal(shown.exitCode, 0, shown.err);
    assert.match(shown.out, /^--- train\.sh\n\+\+\+ train\.sh\n@@ /);
    assert.match(shown.out, /^-\t--tensor-model-parallel-size 8\n(?:[-+].*\n)*\+\t--tensor-model-parallel-size 2\n/m);
    assert.match(shown.err, /train\.sh: \d+ settings changed, \d+ as planned; nothing is written without --write or --out\n/);
    assert.equal(readFileSync(script, 'utf8'), original);

    chmodSync(script, 0o755);
    assert.equal((await run('export', plan, '--into', script, '--write')).out, 'Wrote train.sh\n');
    assert.notEqual(readFileSync(script, 'utf8'), original);
    assert.equal(statSync(script).mode & 0o777, 0o755);
    const again = await run('export', plan, '--into', script);
    assert.equal(again.out, '');
    assert.match(again.err, /nothing to change/);
  });

  it('changes files of launchers that no new file is written for', async () => {
    const changedLine = { 'nanotron.yaml': '+  micro_batch_size: 1', 'gpt-neox-plain.yml': '+train_micro_batch_size_per_gpu: 1' };
    for (const [name, line] of Object.entries(changedLine)) {
      const file = path.join(launchers, name);
      const { err, out } = await run('export', file, '--into', file, '--set', 'training.microBatch=1');
      assert.ok(out.split('\n').includes(line), `${out}${err}`);
      const other = await run('export', file, '--into', file, '--to', 'nemo');
      assert.match(other.err, /is a file of (?:nanotron|gpt-neox), not of nemo; leave --to out/);
    }
  });

  it('gives edits, gaps and the difference as JSON', async () => {
    fresh();
    const { out, err } = await run('export', plan, '--into', script, '--to', 'megatron', '--json');
    assert.equal(out.split('\n').length, 2, err);
    const answer = JSON.parse(out) as {
      readonly edits: readonly Edit[];
      readonly gaps: readonly unknown[];
      readonly written: null;
      readonly format: string;
    };
    assert.equal(answer.format, 'megatron-shell');
    assert.equal(answer.written, null);
    assert.ok(
      answer.edits.some(
        ({ line, newText }) => original.split('\n')[line - 1]?.includes('--tensor-model-parallel-size') === true && newText.startsWith('2'),
      ),
    );
  });

  it('edits a copy of a file of the same launcher, and keeps the rest of its run', async () => {
    const own = original.replace('NUM_NODES=1\n', 'NUM_NODES=16\n').replace(/^ *--step-batch-size-schedule.*\n/m, '');
    writeFileSync(script, own);
    const same = await run('export', script, '--to', 'megatron');
    assert.deepEqual([same.exitCode, same.out], [0, own], same.err);
    assert.match(same.err, /^train\.sh: nothing to change, \d+ settings as planned\n/);
    const args = ['export', script, '--to', 'megatron', '--set', 'layout.tensor=4', '--set', 'layout.pipeline=32'];
    const { exitCode, err } = await run(...args, '--out', at('tp4.sh'));
    assert.equal(exitCode, 0, err);
    const planned = own.replace('--tensor-model-parallel-size 8', '--tensor-model-parallel-size 4');
    assert.equal(
      readFileSync(at('tp4.sh'), 'utf8'),
      planned.replace('--pipeline-model-parallel-size 16', '--pipeline-model-parallel-size 32'),
    );
    assert.equal(readFileSync(script, 'utf8'), own);
    const { set, text } = JSON.parse((await run(...args, '--json')).out) as { readonly set: readonly string[]; readonly text: string };
    assert.deepEqual([set, text], [['tensor parallel size 4', 'pipeline parallel size 32'], readFileSync(at('tp4.sh'), 'utf8')]);
  });

  it('takes over in a new script what the file of another launcher sets, and lists the rest', async () => {
    mkdirSync(at('factory'));
    cpSync(path.join(folder, 'configs/llama-tiny/config.json'), at('factory/config.json'));
    const yaml = `model_name_or_path: ./factory
finetuning_type: full
template: llama3
cutoff_len: 64
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
max_steps: 700
lr_scheduler_type: cosine
bf16: true
`;
    writeFileSync(at('factory/run.yaml'), yaml);
    const { out, err, exitCode } = await run('export', at('factory/run.yaml'), '--to', 'megatron');
    assert.notEqual(exitCode, 2, err);
    assert.match(out, /^ {2}--lr 1\.0e-5\n {2}--train-iters 700\n {2}--lr-decay-style cosine\n/m);
    assert.match(out, /^ {2}--tokenizer-model \.\/factory$/m);
    assert.doesNotMatch(out, /TOKENIZER/);
    const listed = 'ot written: other settings of run.yaml: template llama3: this launcher has no counterpart that is written';
    assert.ok(err.includes(`n${listed}\n`), err);
    assert.ok(out.includes(`# N${listed}.\n`), out);
  });

  it('writes another candidate than the chosen one into a file, and its uneven stages', async () => {
    const same = original.replace('--num-layers 96', '--num-layers 8').replace('--hidden-size 12288', '--hidden-size 512');
    writeFileSync(script, same.replace('--num-attention-heads 96', '--num-attention-heads 8'));
    const args = ['export', plan, '--into', script, '--set', 'schedule=TeraPipe', '--set', 'layout.stageLayers=[1,3,3,1]'];
    const sliced = await run(...args);
    assert.match(sliced.err, /not written: token slices \(TeraPipe\)/);
    const { out, err, exitCode } = await run(...args, '--candidate', '1F1B', '--json');
    assert.equal(exitCode, 0, err);
    const answer = JSON.parse(out) as { readonly candidate: string; readonly schedule: string; readonly gaps: readonly unknown[] };
    assert.deepEqual([answer.candidate, answer.schedule, answer.gaps], ['1f1b', '1F1B', []]);
    assert.equal((await run(...args, '--candidate', '1F1B', '--write')).exitCode, 0);
    const written = readFileSync(script, 'utf8');
    assert.match(written, /--decoder-first-pipeline-num-layers 1\b/);
    assert.match(written, /--decoder-last-pipeline-num-layers 1\b/);
    const none = await run(...args, '--candidate', 'zb-h9');
    assert.deepEqual([none.exitCode, none.err.includes('has no candidate "zb-h9"')], [2, true]);
  });

  it('keeps a byte order mark, and the link that a file is reached by', async () => {
    mkdirSync(at('real'));
    const toml = readFileSync(path.join(launchers, 'torchtitan-2025.toml'), 'utf8');
    writeFileSync(at('real/run.toml'), `\uFEFF${toml}`);
    symlinkSync('real/run.toml', at('run.toml'));
    const { exitCode, err } = await run('export', plan, '--into', at('run.toml'), '--write');
    assert.equal(exitCode, 0, err);
    const written = readFileSync(at('real/run.toml'), 'utf8');
    assert.ok(written.startsWith('\uFEFF'));
    assert.match(written, /^tensor_parallel_degree = 2$/m);
    assert.equal(readFileSync(at('run.toml'), 'utf8'), written);
  });

  it('predicts in the header what the file runs, not the sliced plan', async () => {
    const { out, err } = await run('export', plan, '--to', 'megatron', '--set', 'schedule=TeraPipe');
    const whole = await run('export', plan, '--to', 'megatron', '--set', 'layout.virtualStages=2');
    const predicted = (text: string): string => /^# Predicted: (.*)$/m.exec(text)?.[1] ?? '';
    assert.equal(predicted(out), predicted(whole.out));
    assert.match(out, /^# Not written: token slices \(TeraPipe\): Megatron-LM runs whole micro-batches; this file runs interleaved 1F1B/m);
    assert.match(err, /not written: token slices/);
  });

  it('writes a file of slices next to the CSV of a sliced plan, and warns', async () => {
    const { err, exitCode } = await run(
      'export',
      plan,
      '--to',
      'pytorch-csv',
      '--set',
      'slicing.scheme=[[4,[512,512]],[4,[1024]]]',
      '--out',
      at('s.csv'),
    );
    assert.equal(exitCode, 0, err);
    assert.match(err, /not written: lengths of the \d+ slices: PyTorch has no token slices/);
    const place = { file: 's.csv.slices.json', range: { start: 0, end: 0 } };
    const units = readSlices(readFileSync(at('s.csv.slices.json'), 'utf8'), place);
    assert.match(readFileSync(at('s.csv'), 'utf8'), new RegExp(`0F${units.length - 1}\\b`));
    for (const scheme of ['[[1,[512,512]],[1,[512,512]]]', '[[1,[1024]],[1,[1024]]]']) {
      const slim = ['schedule=SlimPipe', 'training.microBatch=1', 'training.globalBatch=2', 'layout.data=1'].flatMap((set) => [
        '--set',
        set,
      ]);
      const name = `slim-${scheme.length}.csv`;
      const made = await run('export', plan, '--to', 'pytorch-csv', ...slim, '--set', `slicing.scheme=${scheme}`, '--out', at(name));
      assert.equal(made.exitCode, 0, made.err);
      const slices = readSlices(readFileSync(at(`${name}.slices.json`), 'utf8'), place);
      assert.deepEqual(JSON.stringify(slices.map(({ tokens }) => tokens)), JSON.stringify(scheme.match(/512|1024/g)?.map(Number)));
    }
    const whole = await run('export', plan, '--to', 'pytorch-csv', '--set', 'schedule=1F1B', '--out', at('w.csv'));
    assert.deepEqual([whole.err.includes('lengths of'), existsSync(at('w.csv.slices.json'))], [false, false]);
  });

  it('shows solved slices as a difference of a runtime, and writes them only with --write', async () => {
    const source =
      'def get_splits():\n    args = get_args()\n    if args.pipe_sp_strategy == "average":\n        return [args.pipe_sp_splits]\n';
    writeFileSync(at('sp_utils.py'), source);
    const long = ['schedule=Seq1F1B', 'training.sequenceLength=32768', 'training.globalBatch=2'].flatMap((set) => ['--set', set]);
    const shown = await run('export', plan, '--into', at('sp_utils.py'), ...long);
    assert.equal(shown.exitCode, 0, shown.err);
    assert.match(shown.out, /^--- sp_utils\.py\n\+\+\+ sp_utils\.py\n@@ [\s\S]*^\+ {8}return \[\d+(?:, \d+)+\]$/m);
    assert.equal(readFileSync(at('sp_utils.py'), 'utf8'), source);
    await run('export', plan, '--into', at('sp_utils.py'), ...long, '--write');
    assert.match(readFileSync(at('sp_utils.py'), 'utf8'), /# Token slices of a TeraPipe plan/);
  });

  it('reports a plan as a page, and draws it', async () => {
    const page = await run('export', plan, '--to', 'html');
    assert.match(page.out, /^<!doctype html>\n[\s\S]*<\/html>\n$/);
    const picture = await run('export', plan, '--to', 'svg', '--out', at('plan.svg'));
    assert.equal(picture.exitCode, 0);
    assert.ok(existsSync(at('plan.svg')));
  });

  it('refuses what it cannot do, with a remedy', async () => {
    fresh();
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['export', plan], /needs a format; give --to megatron, torchtitan, nemo/],
      [['export', plan, '--to', 'megatorn'], /did you mean megatron\?/],
      [['export', plan, '--into', script, '--to', 'torchtitan'], /is a file of megatron, not of torchtitan; give --to megatron/],
      [['export', plan, '--into', plan], /not a launcher that a plan can be written into/],
      [['export', plan, '--into', '-'], /not standard input/],
      [['export', plan, '--to', 'html', '--write'], /give --into or --out too/],
      [['export', plan, '--into', at('nowhere.sh')], /does not exist/],
      [['export', plan, '--to', 'html', '--out', at('nowhere/plan.html')], /could not be written: its folder does not exist/],
      [['plan', plan, '--into', script], /--into is an option of export, not of plan/],
    ];
    for (const [args, expected] of cases) {
      const { exitCode, err, out } = await run(...args);
      assert.deepEqual([exitCode, out], [2, ''], args.join(' '));
      assert.match(err, expected);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { configItems } from '../../../src/extension/views/explorer-items';
import { hoverAt } from '../../../src/extension/language/hover-text';
import { inlayTexts } from '../../../src/extension/language/inlay-text';
import { factRows } from '../../../src/extension/language/launcher-outline';
import { configLenses } from '../../../src/extension/language/lens-text';
import type { SessionState } from '../../../src/host/sessions/session-state';
import { english } from '../../../src/core/sentence';
import { shellReader } from '../core/launchers/shell/shell-reader';
import { nextTurn, smallModel, testHost, uri } from './test-host';

const shell = `#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=2
TP=2
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \\
  --tensor-model-parallel-size $TP \\
  --pipeline-model-parallel-size 4 \\
  --num-layers 8 --hidden-size 256 --num-attention-heads 4 \\
  --seq-length 256 --max-position-embeddings 256 \\
  --micro-batch-size 1 --global-batch-size 24 \\
  --vocab-size 50257 --untie-embeddings-and-output-weights --disable-bias-linear --bf16 --position-embedding-type "learned_absolute"
`;

const toml = `[model]
name = "ours"
flavor = "8B"
hf_assets_path = "./hf"

[training]
local_batch_size = 8
seq_len = 256

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
pipeline_parallel_microbatch_size = 2
pipeline_parallel_layers_per_stage = 2
`;

let reader: ReturnType<typeof shellReader> | undefined;
const sharedReader: typeof shellReader = () => (reader ??= shellReader());

async function read(name: string, text: string, more: Readonly<Record<string, string>> = {}, planned = true): Promise<SessionState> {
  const { sessions, finish } = testHost({ [name]: text, ...more }, 1, sharedReader);
  const state = sessions.ensure(uri(name), name.endsWith('.sh') ? 'megatron-shell' : 'torchtitan');
  if (planned) await finish();
  return state;
}

describe('lenses over a launcher', () => {
  it('show the totals of the run with its plan', async () => {
    const [statement, action] = configLenses(await read('pretrain.sh', shell), null, english);
    assert.match(statement?.title ?? '', /^Fits, .* · [\d.]+ (µs|ms|s) \/ step · 16 x A100-40GB, batch 24$/);
    assert.match(statement?.tooltip ?? '', /; 16 GPUs: TP2 PP4 DP2, 12 micro-batches; /);
    assert.equal(action?.title, 'Search layouts');
  });

  it('show the GPUs of a replica where those in all are not reported, and stay with the totals where the sizes of the model are not', async () => {
    const state = await read('train.toml', toml, {}, false);
    assert.equal(state.run, null);
    assert.equal(configLenses(state, null, english).at(-1)?.title, '4 GPUs a replica: TP2 PP2, 4 micro-batches');
  });
});

describe('a launcher whose model lies next to it', () => {
  const sizes = [
    '  --num-layers 8 --hidden-size 256 --num-attention-heads 4 \\\n',
    '  --seq-length 256 --max-position-embeddings 256 \\\n',
  ];

  it('is planned once that file appears', async () => {
    const { sessions, finish, files } = testHost({ 'pretrain.sh': shell }, 1, sharedReader);
    void sessions.ensure(uri('pretrain.sh'), 'megatron-shell');
    await finish();
    assert.ok(sessions.reads(uri('pretrain.sh')).has(uri('config.json')));
    files.set(uri('config.json'), smallModel);
    sessions.changed(uri('config.json'));
    assert.equal(sessions.get(uri('pretrain.sh'))?.staleEdits, 1);
  });

  it('has no stale plan once its sizes are gone', async () => {
    const { sessions, finish, files } = testHost({ 'pretrain.sh': shell }, 1, sharedReader);
    void sessions.ensure(uri('pretrain.sh'), 'megatron-shell');
    await finish();
    files.set(
      uri('pretrain.sh'),
      sizes.reduce((text, line) => text.replace(line, ''), shell),
    );
    sessions.changed(uri('pretrain.sh'));
    while (sessions.get(uri('pretrain.sh'))?.plan !== null) await nextTurn();
    assert.equal(sessions.get(uri('pretrain.sh'))?.run, null);
    assert.equal(sessions.get(uri('pretrain.sh'))?.staleEdits, 0);
  });
});

describe('inlay hints', () => {
  function withHints(state: SessionState, text: string): string {
    return [...inlayTexts(state, state.file, text, english)]
      .reverse()
      .reduce((all, { offset, text: hint }) => `${all.slice(0, offset)}<${hint}>${all.slice(offset)}`, text);
  }

  it('show what follows from a value, where the value is written', async () => {
    const text = withHints(await read('pretrain.sh', shell), shell);
    assert.match(text, /^TP=2<2 replicas>$/m);
    assert.match(text, /--pipeline-model-parallel-size 4<2 replicas> /);
    assert.match(text, /--num-layers 8<2 layers a stage> /);
    assert.match(text, /--micro-batch-size 1<12 micro-batches> --global-batch-size 24<12 micro-batches> /);
    assert.match(text, /--vocab-size 50257<padded to 50,432> /m);
  });

  it('count with the model config that a launcher names', async () => {
    const text = withHints(await read('train.toml', toml, { 'hf/config.json': smallModel }), toml);
    assert.match(text, /local_batch_size = 8<4 micro-batches>$/m);
    assert.match(text, /pipeline_parallel_layers_per_stage = 2<3 stages>$/m);
  });

  it('are silent while the text is newer than what was read', async () => {
    assert.deepEqual(inlayTexts(await read('pretrain.sh', shell), uri('pretrain.sh'), `${shell}#`, english), []);
  });
});

describe('hovers on a launcher', () => {
  function hoverOn(state: SessionState, text: string, words: string): { readonly title: string; readonly text: string } | null {
    const hover = hoverAt(state, state.file, text, text.indexOf(words) + words.length - 1, english);
    return hover === null ? null : { title: hover.title, text: hover.lines.join('\n') };
  }

  it('name the value as the file does, show what it means and what follows from it', async () => {
    const state = await read('pretrain.sh', shell);
    const hover = hoverOn(state, shell, '--pipeline-model-parallel-size 4');
    assert.match(hover?.title ?? '', /^Pipeline stages\..*bubble\.$/);
    assert.match(hover?.text ?? '', /^--pipeline-model-parallel-size: 4$/m);
    assert.ok(hover !== null);
    assert.match(hover.text, /^16 GPUs: 2 replicas of 8 GPUs\.$/m);
    assert.match(hover.text, /^2 layers on each of 4 stages\.$/m);
    assert.match(hover.text, /^Bubble [\d.]+ % of the step\.$/m);
    for (const flag of ['--disable-bias-linear', '--untie-embeddings-and-output-weights', '--bf16'])
      assert.equal(hoverOn(state, shell, flag)?.text.split('\n')[0], flag);
    assert.match(hoverOn(state, shell, '"learned_abs')?.text ?? '', /^--position-embedding-type: learned_absolute$/m);
    assert.equal(hoverOn(state, shell, 'NUM_NODES=2')?.text.match(/16 GPUs/g)?.length, 1);
    assert.match(hoverOn(state, shell, '--vocab-size 5')?.text ?? '', /^Padded to 50,432, a multiple of 256\.$/m);
    assert.match(hoverOn(state, shell, '--num-layers 8')?.text ?? '', /^32\.1M parameters\.$/m);
  });

  it('show where the value is written when that is elsewhere', async () => {
    const state = await read('pretrain.sh', shell);
    assert.match(hoverOn(state, shell, '--tensor-model')?.text ?? '', /^2 is set on line 4\.$/m);
    assert.doesNotMatch(hoverOn(state, shell, 'TP=2')?.text ?? '', /is written/);
    assert.match(hoverOn(state, shell, 'TP=2')?.text ?? '', /^--tensor-model-parallel-size: 2$/m);
  });

  it('show what the model config joined to the launcher has for the same, and what that config adds', async () => {
    const other = smallModel.replace('"n_layer":4', '"n_layer":6');
    const text = shell.replace('torchrun', 'cd .; torchrun');
    const joined = await read('pretrain.sh', text, { 'config.json': other });
    assert.match(hoverOn(joined, text, '--num-layers 8')?.text ?? '', /^config\.json has 6 \(n_layer\)\.$/m);
    const titan = hoverOn(await read('train.toml', toml, { 'hf/config.json': smallModel }), toml, '"./h');
    assert.match(titan?.text ?? '', /^n_layer: 4$/m);
    assert.match(titan?.text ?? '', /M parameters\.$/m);
  });

  it('work where the sizes of the model are not known, and are silent off the values', async () => {
    const state = await read('train.toml', toml, {}, false);
    assert.match(hoverOn(state, toml, 'flavor = "8')?.title ?? '', /lives in Python/);
    assert.equal(hoverOn(state, toml, '[train'), null);
    assert.equal(hoverAt(state, state.file, `${toml}#`, toml.indexOf('flavor'), english), null);
  });
});

describe("the outline of a launcher's run", () => {
  const rowsOf = (state: SessionState): Map<string, string> =>
    new Map(configItems(state, english).flatMap((item) => (item.kind === 'group' ? [[item.group, item.value] as const] : [])));

  it('follows the numbers of the plan and sums every part up', async () => {
    const state = await read('pretrain.sh', shell);
    assert.equal(
      configItems(state, english).findIndex(({ kind }) => kind === 'group'),
      9,
    );
    assert.deepEqual(
      [...rowsOf(state)],
      [
        ['model', '8 layers, hidden 256, 32.1M parameters'],
        ['layout', '16 GPUs: TP2 PP4 DP2'],
        ['training', '24 sequences, 256 tokens each, 12 micro-batches, bf16'],
        ['cluster', '2 nodes of 8 GPUs'],
      ],
    );
  });

  it('gives every value under its own name, in the order of the file, with the place that defines it', async () => {
    const rows = factRows(await read('pretrain.sh', shell), 'layout', english);
    assert.deepEqual(
      rows.map(({ label, value, place: { range } }) => [label, value, shell.slice(range.start - 3, range.end)]),
      [
        ['--tensor-model-parallel-size', '2', 'TP=2'],
        ['--pipeline-model-parallel-size', '4', 'ze 4'],
      ],
    );
  });

  it('names which values come from the model config, and leads there', async () => {
    const state = await read('train.toml', toml, { 'hf/config.json': smallModel });
    const layers = factRows(state, 'model', english).find(({ label }) => label === 'n_layer');
    assert.equal(layers?.value, '4, from config.json');
    assert.equal(layers.place.file, uri('hf/config.json'));
    assert.equal(smallModel.slice(layers.place.range.start, layers.place.range.end), '4');
  });

  it('exists without a plan, and only for launchers', async () => {
    const titan = await read('train.toml', toml, {}, false);
    assert.deepEqual([...rowsOf(titan).keys()], ['model', 'layout', 'training']);
    assert.equal(rowsOf(titan).get('model'), '8B');
    assert.equal(rowsOf({ ...titan, launcher: null }).size, 0);
  });
});

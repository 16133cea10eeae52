import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { sliceRuntimes } from '../../../../src/core/slice-runtimes/registry';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { bestSplit } from '../../../../src/core/planner/candidates/splits';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { ExpectedError } from '../../../../src/core/errors';
import { say, sentence } from '../../../../src/core/sentence';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { shellReader } from '../launchers/shell/shell-reader';

const fixtures = path.join(import.meta.dirname, '../../../fixtures/launchers/slices');
const sizes =
  '--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 32768 --max-position-embeddings 32768 --use-flash-attn ' +
  '--tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 16 --bf16';

describe('runtimes of token slices', () => {
  let read: LauncherReader;
  const script = (flags: string): string => `torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${sizes} ${flags}\n`;
  const factsOf = (flags: string) => {
    const { facts } = read('run.sh', script(flags));
    const { schedule, sliceRuntime, slices, sliceRule, sliceLengths, sliceNeeds } = facts;
    return [schedule, sliceRuntime, slices, sliceRule, sliceLengths, sliceNeeds].map((fact) => fact?.value ?? null);
  };
  async function requestOf(text: string): Promise<PlanRequest> {
    const missing = (): Promise<never> => Promise.reject(new ExpectedError('config-unreadable', sentence`missing`, sentence`none`));
    const { run } = await loadConfig('run.sh', text, { read: missing, shell: () => Promise.resolve(read) });
    return resolveRun(run!, { gpu: 'A100-80GB', nodes: null, gpusPerNode: null });
  }

  before(async () => {
    read = await shellReader();
  });

  it('are recognised by their flags, with the rule that they take unasked', () => {
    assert.deepEqual(factsOf('--pipe-sp-splits 8'), ['Seq1F1B', 'seq1f1b', 8, 'average', null, null]);
    assert.deepEqual(factsOf('--pipe-sp-splits 4 --pipe-sp-strategy uniform_comp'), ['Seq1F1B', 'seq1f1b', 4, 'equal-work', null, null]);
    assert.deepEqual(factsOf('--pipe-sp-splits 8 --schedule-method seq1f1b --transformer-impl local').slice(1, 4), [
      'hcu-megatron',
      8,
      'average',
    ]);
    assert.deepEqual(factsOf('--pipe-sp-splits 8 --schedule-method seq1f1b').at(-1), ['--transformer-impl local']);
    assert.deepEqual(factsOf('--enable-seq1f1b --reset-attention-mask').slice(0, 4), ['Seq1F1B', 'mindspeed', 4, 'average']);
    assert.deepEqual(factsOf('--enable-seq1f1b --seq1f1b-splits 6 --seq1f1b-balance-method uniform_comp').slice(1), [
      'mindspeed',
      6,
      'equal-work',
      null,
      ['--reset-attention-mask'],
    ]);
    assert.deepEqual(factsOf('--seq1f1b-splits 3').slice(1, 4), ['seq1f1b-core', 3, 'equal-work']);
    assert.deepEqual(factsOf('--pipe-sp-splits 3 --pipe-sp-strategy manual --pipe-sp-manual-splits 16384,8192,8192'), [
      'Seq1F1B',
      'seq1f1b-manual',
      3,
      'list',
      [16384, 8192, 8192],
      null,
    ]);
    assert.deepEqual(factsOf('--seq1f1b-splits 3 --seq1f1b-balance-method fix --seq1f1b-fix-splits 16384,8192,8192').slice(1, 5), [
      'seq1f1b-core',
      3,
      'list',
      [16384, 8192, 8192],
    ]);
    assert.deepEqual(factsOf('--num-seq-splits 4').slice(1), [
      'zero-bubble',
      4,
      'average',
      null,
      ['--transformer-impl local', '--use-legacy-models'],
    ]);
    assert.deepEqual(factsOf('--chunked-pipeline-model-parallel-splits 4').slice(1, 4), ['chunked-pipeline', 4, 'average']);
  });

  it('run no slices of one, none where another schedule is named, and refuse words that are not rule', () => {
    for (const flags of ['--pipe-sp-splits 1', '--enable-seq1f1b --seq1f1b-splits 1', '--pipe-sp-splits 8 --schedule-method dualpipe'])
      assert.deepEqual([factsOf(flags)[0], factsOf(flags)[1]], [null, null], flags);
    assert.equal(factsOf('--pipe-sp-splits 8 --schedule-method dualpipev')[0], 'DualPipeV');
    assert.deepEqual(
      read('run.sh', script('--pipe-sp-splits 8 --pipe-sp-strategy fix')).remarks.map(({ code, remedy }) => [code, say(remedy)]),
      [['flag-invalid-value', 'give it average, uniform_comp, manual or hybrid_comp']],
    );
  });

  it('are planned as their flags set', async () => {
    const equal = await requestOf(script('--schedule-method seq1f1b --pipe-sp-splits 8'));
    assert.equal(equal.schedule, 'Seq1F1B');
    assert.deepEqual(
      equal.slicing.scheme?.map(({ batch, tokens }) => [batch, tokens.join()]),
      Array(16).fill([1, Array(8).fill(4096).join()]),
    );
    // what the runtime's own solver gives for these sizes, without a vocabulary
    const work = await requestOf(script('--pipe-sp-splits 5 --pipe-sp-strategy uniform_comp'));
    assert.deepEqual(work.slicing.scheme?.[3]?.tokens, [9224, 7180, 6092, 5388, 4884]);
    const list = await requestOf(script('--seq1f1b-splits 2 --seq1f1b-balance-method fix --seq1f1b-fix-splits 20000,12768'));
    assert.deepEqual(list.slicing.scheme?.[0]?.tokens, [20000, 12768]);
    const one = await requestOf(script('--pipe-sp-splits 1'));
    assert.deepEqual([one.schedule, one.slicing.scheme], ['1F1B', null]);
  });

  it('are refused where they would stop', async () => {
    await assert.rejects(requestOf(script('--pipe-sp-splits 7')), { code: 'slices-not-cut' });
    await assert.rejects(requestOf(script('--seq1f1b-splits 2 --seq1f1b-balance-method fix --seq1f1b-fix-splits 20000,12767')), {
      code: 'slices-not-cut',
    });
  });

  it('that take lengths as they are stop at other lists, each with its reason', async () => {
    const manual = (splits: number, list: string): Promise<string> =>
      requestOf(script(`--pipe-sp-splits ${splits} --pipe-sp-strategy manual --pipe-sp-manual-splits ${list}`)).then(
        ({ slicing }) => slicing.scheme?.[0]?.tokens.join() ?? '',
        (error: unknown) => (error instanceof ExpectedError ? say(error.what) : String(error)),
      );
    // the example of its own help
    assert.equal(await manual(4, '8320,8192,8192,8064'), '8320,8192,8192,8064');
    assert.match(await manual(3, '8320,8192,8192,8064'), /cannot be cut into 3 slices: the list has 4 lengths for 3 slices$/);
    assert.match(await manual(4, '8320,8192,8192,8000'), /: the length 8,000 is not a multiple of 128$/);
    assert.match(await manual(4, '8320,8192,8192,8192'), /: the lengths add up to 32,896 of 32,768 tokens$/);
  });

  it('refuse a batch of too many sequences before they are cut', async () => {
    const text = readFileSync(path.join(fixtures, 'seq1f1b.sh'), 'utf8').replace(/(global-batch-size )\d+/, '$1100000000');
    await assert.rejects(requestOf(text), { code: 'plan-too-large' });
  });

  it('read scripts as people write them', async () => {
    const seq1f1b = readFileSync(path.join(fixtures, 'seq1f1b.sh'), 'utf8');
    const request = await requestOf(seq1f1b);
    assert.deepEqual([request.slicing.split?.slices, request.slicing.split?.rule], [8, 'equal-work']);
    const mindspeed = await requestOf(readFileSync(path.join(fixtures, 'mindspeed.sh'), 'utf8'));
    assert.deepEqual([mindspeed.slicing.split?.runtime, mindspeed.slicing.split?.slices], ['mindspeed', 4]);
    const best = bestSplit(
      mindspeed,
      buildPipeline(mindspeed),
      sliceRuntimes.find(({ id }) => id === 'mindspeed')!,
    );
    assert.ok(
      best!.split.lengths.every((tokens) => tokens >= 4096),
      'shorter ones gain nothing there',
    );
  });

  it('have ids and flags of their own, and show where these are', () => {
    assert.equal(new Set(sliceRuntimes.map(({ id }) => id)).size, sliceRuntimes.length);
    for (const { version, source, rule, lengths } of sliceRuntimes) {
      assert.match(version, /\S (?:at|of) \w+/);
      assert.match(source, /\.py|page/);
      assert.ok(lengths === null || rule !== null, 'a list is a rule of its own');
    }
  });
});

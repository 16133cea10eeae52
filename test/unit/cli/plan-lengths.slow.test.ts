import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine } from './command-line';

const tiny = path.join(import.meta.dirname, '../../fixtures/configs/llama-tiny/config.json');

interface LengthsJson {
  readonly plan: {
    readonly training: { readonly sequenceLength: number; readonly lengths: readonly (readonly number[])[] };
    readonly overLengths: {
      readonly best: string;
      readonly exact: boolean;
      readonly meanTokens: number;
      readonly ways: readonly { readonly way: string; readonly text: string; readonly expectedMs: number; readonly worstMs: number }[];
    };
  };
}

describe('terapipe plan --lengths', () => {
  it('shows what a step of documents of these lengths takes, in text and in JSON', async () => {
    const line = openCommandLine();
    try {
      writeFileSync(path.join(line.folder, 'lengths.jsonl'), '64\n{"tokens": 64, "count": 2}\n{"seq_len": 512}\n');
      const asked = ['plan', tiny, '--lengths', 'lengths.jsonl', '--gpu', 'H100-80GB', '--set', 'layout.pipeline=2'];
      const { out } = await line.run([...asked, '--set', 'training.globalBatch=2', '--json']);
      const { plan } = JSON.parse(out) as LengthsJson;
      assert.deepEqual(plan.training.lengths, [
        [64, 3],
        [512, 1],
      ]);
      assert.equal(plan.training.sequenceLength, 512);
      assert.ok(plan.overLengths.exact && plan.overLengths.meanTokens === 176);
      assert.deepEqual(
        plan.overLengths.ways.map(({ way }) => way),
        ['pad', 'pack', 'chunks'],
      );
      const best = Math.min(...plan.overLengths.ways.map(({ expectedMs }) => expectedMs));
      assert.equal(plan.overLengths.ways.find(({ way }) => way === plan.overLengths.best)?.expectedMs, best);
      const text = (await line.run([...asked, '--set', 'training.globalBatch=2', '--all'])).out;
      assert.match(text, /\n +by lengths +[\d.]+ m?s expected: (chunks|packed)/);
      assert.match(text, /Lengths\n +2 lengths of documents, 176 tokens on average, 512 tokens at most; over all 3 global batches/);
      assert.match(text, /a step over 2 lengths of documents takes .* on average, at most .* in 99 of 100 steps, with documents/);
      const broken = await line.run(['plan', tiny, '--set', 'training.lengths=[[0,1]]']);
      assert.match(broken.err, /training.lengths is/);
      assert.equal(broken.exitCode, 2);
      assert.equal((await line.run([...asked, '--search'])).exitCode, 2);
    } finally {
      line.dispose();
    }
  });

  it('takes more lengths than a call takes arguments, and names the line of one that is none', async () => {
    const line = openCommandLine();
    try {
      const lines = Array.from({ length: 200_000 }, (_, index) => String(1 + (index % 512)));
      writeFileSync(path.join(line.folder, 'many.txt'), lines.join('\n'));
      const asked = ['plan', tiny, '--gpu', 'H100-80GB', '--set', 'training.globalBatch=2', '--json', '--lengths'];
      const { out } = await line.run([...asked, 'many.txt']);
      assert.equal((JSON.parse(out) as LengthsJson).plan.training.lengths.length, 512);
      writeFileSync(path.join(line.folder, 'broken.txt'), ['64', '128', '', 'short', '256'].join('\n'));
      const broken = await line.run([...asked, 'broken.txt']);
      assert.match(broken.err, /^broken\.txt:4:1: .*"?short"? is not a length/);
      const { error } = JSON.parse(broken.out) as { readonly error: { readonly file: string; readonly line: number } };
      assert.deepEqual([broken.exitCode, error.file, error.line], [2, 'broken.txt', 4]);
    } finally {
      line.dispose();
    }
  });
});

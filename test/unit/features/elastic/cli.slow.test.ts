import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openCommandLine, type CommandLine } from '../../cli/command-line';

const sample = path.join(import.meta.dirname, '../../../../media/samples/vit-elastic');

interface Answer {
  readonly version: number;
  readonly epochs: readonly {
    readonly epoch: number;
    readonly frozenLayers: number;
    readonly pipelineLength: number;
    readonly replicas: number;
    readonly microBatches: number;
    readonly stageLayers: readonly number[];
  }[];
  readonly speedup: number;
  readonly variants: readonly { readonly id: string; readonly speedup: number }[];
  readonly error?: { readonly code: string; readonly line: number | null };
}

describe('terapipe elastic', () => {
  let terapipe: CommandLine;
  before(() => {
    terapipe = openCommandLine();
    for (const file of ['config.json', 'terapipe.json']) copyFileSync(path.join(sample, file), path.join(terapipe.folder, file));
  });
  after(() => {
    terapipe.dispose();
  });

  async function answer(...args: readonly string[]): Promise<Answer> {
    return JSON.parse((await terapipe.run(['elastic', 'terapipe.json', '--json', ...args])).out) as Answer;
  }

  it('prints every epoch of the sample, which is faster by freezing', async () => {
    const { version, epochs, speedup, variants } = await answer();
    assert.equal(version, 1);
    assert.deepEqual(epochs.map(({ frozenLayers }) => frozenLayers), [0, 4, 7, 9, 10, 11, 11, 12, 12, 12]); // prettier-ignore
    assert.deepEqual(epochs.map(({ pipelineLength }) => pipelineLength), [8, 8, 4, 2, 2, 1, 1, 1, 1, 1]); // prettier-ignore
    assert.deepEqual(epochs.map(({ replicas }) => replicas), [2, 2, 4, 8, 8, 16, 16, 16, 16, 16]); // prettier-ignore
    assert.deepEqual(epochs[0]?.stageLayers, [4, 2, 3, 3, 3, 3, 4, 5]);
    assert.equal(variants.at(-1)?.speedup, speedup);
    assert.ok(speedup > 2);
  });

  it('writes a report, and replaces none unless asked to', async () => {
    const file = path.join(terapipe.folder, 'report.html');
    const { out, exitCode } = await terapipe.run(['elastic', 'terapipe.json', '--report', file]);
    assert.equal(exitCode, 0);
    assert.match(out, /\nWrote .*report\.html\n$/);
    const written = readFileSync(file, 'utf8');
    assert.match(written, /^<!doctype html>/i);
    assert.match(written, /<h2>Every epoch<\/h2>/);
    const again = await terapipe.run(['elastic', 'terapipe.json', '--report', file]);
    assert.equal(again.exitCode, 2);
    assert.match(again.err, /exists already/);
    writeFileSync(file, '');
    assert.equal((await terapipe.run(['elastic', 'terapipe.json', '--report', file, '--write'])).exitCode, 0);
    assert.equal(readFileSync(file, 'utf8'), written);
    assert.equal((await terapipe.run(['elastic', 'terapipe.json', '--write'])).exitCode, 2);
  });

  it('prints the same in words', async () => {
    const { out, exitCode } = await terapipe.run(['elastic', 'terapipe.json']);
    assert.equal(exitCode, 0);
    assert.match(out, /^Do not pipeline this model: one GPU a replica\. With 40 samples each \(640 a step\) it takes /);
    assert.match(out, /^Depends on elastic\.loaderSamplesPerSecond and elastic\.loaderWorkers: /m);
    assert.match(out, /^\w+: 12 layers, 85\.8M parameters, 50,000 samples an epoch on 16 V100-16GB$/m);
    assert.match(out, /^ {2}7 +12 +TP1 PP1 DP16 /m);
    assert.match(out, /^ {2}4 +4 x 12,500 |^ {2}2 +4 x 12,500 /m);
    assert.match(out, /^By alpha$[\s\S]*^ {2}0\.500 +\d/m);
    assert.match(out, /^By GPUs[\s\S]*^ {2}1 .*does not fit$/m);
    assert.match(out, /^ {2}freezing only .* 0\.\d+ x$/m);
  });

  it('prints the accuracies of CIFAR-100 for the run of CIFAR-100 only', async () => {
    const { out } = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.dataset=cifar-100']);
    assert.match(out, /^By alpha, with the accuracy[\s\S]*^ {2}0\.500 +\d.* 89\.84 %$/m);
    const other = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.dataset=cifar-10']);
    assert.doesNotMatch(other.out, /89\.84/);
  });

  it('takes it from standard input with settings over it, and freezes by a log', async () => {
    const norms = Array.from({ length: 3 }, () => Array.from({ length: 12 }, (_, layer) => (layer === 1 ? 1 : 2)));
    writeFileSync(path.join(terapipe.folder, 'norms.json'), JSON.stringify({ norms }));
    const config = JSON.stringify({ model: 'config.json', elastic: { gradientNorms: 'norms.json', epochs: 3 } });
    const { out } = await terapipe.run(['elastic', '-', '--json', '--set', 'elastic.alpha=0.5'], config);
    const { epochs } = JSON.parse(out) as Answer;
    assert.deepEqual(epochs.map(({ frozenLayers }) => frozenLayers), [0, 2, 3]); // prettier-ignore
  });

  it('points at what is wrong in the log and in the section', async () => {
    writeFileSync(path.join(terapipe.folder, 'norms.csv'), 'epoch,layer,norm\n0,0,1\n0,1,nan\n');
    const bad = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.gradientNorms=norms.csv']);
    assert.deepEqual([bad.exitCode, bad.err], [2, 'norms.csv:3:5: "nan" is not a gradient norm; write a number from 0; leave the row out for a layer that is frozen\n']); // prettier-ignore
    writeFileSync(path.join(terapipe.folder, 'norms.csv'), 'epoch,layer,norm\n0,0,1\n0,1,3\n');
    const missing = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.gradientNorms=norms.csv']);
    assert.match(missing.err, /^norms\.csv:2:1: The log has no gradient norm of layer 2 in epoch 0; log every layer/);
    const absent = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.gradientNorms=none.csv', '--json']);
    assert.equal((JSON.parse(absent.out) as Answer).error?.code, 'config-not-found');
    const crowded = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.datasetSize=5']);
    assert.match(crowded.err, /^terapipe\.json:\d+:\d+: There are more replicas than data: 8 pipelines for an epoch of 5 samples/);
    const alpha = await terapipe.run(['elastic', 'terapipe.json', '--set', 'elastic.alpha=1']);
    assert.deepEqual([alpha.exitCode, alpha.err], [2, 'terapipe: elastic.alpha is "1"; give it a number above 0 and below 1\n']);
  });
});

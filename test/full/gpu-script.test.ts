import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'mocha';

const run = promisify(execFile);
const script = resolve(import.meta.dirname, '../gpu/run.sh');

describe('the script for machines with a GPU', () => {
  it('reports profiles, rates and rehearsals, on a processor too', async function () {
    if (process.platform === 'win32') this.skip();
    const folder = await mkdtemp(join(tmpdir(), 'terapipe-gpu-'));
    try {
      await run('bash', [script, '--provider', 'cpu', '--budget', '4', folder], { maxBuffer: 2 ** 24 });
      const report = await readFile(join(folder, 'report.md'), 'utf8');
      for (const model of ['gpt2', 'llama']) assert.ok(report.includes(`## ${model}\n`), model);
      assert.equal(report.match(/those of the unsliced step/g)?.length, 2);
      assert.equal(report.match(/The GEMM of the head/g)?.length, 2);
      assert.equal(report.match(/A layer of \d+ tokens, GEMMs and attention: [\d.e+-]+ TFLOP\/s/g)?.length, 2);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('shows what it does not know, and that a provider is missing', async function () {
    if (process.platform === 'win32') this.skip();
    await assert.rejects(run('bash', [script, '--frobnicate']), { code: 2 });
    const folder = await mkdtemp(join(tmpdir(), 'terapipe-gpu-'));
    try {
      // No build of onnxruntime-node has it.
      const provider = process.platform === 'darwin' ? 'dml' : 'coreml';
      await assert.rejects(run('bash', [script, '--provider', provider, '--small', '--budget', '2', folder]), { code: 1 });
      assert.match(await readFile(join(folder, 'report.md'), 'utf8'), /ONNX Runtime has no (?:DirectML|CoreML)/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

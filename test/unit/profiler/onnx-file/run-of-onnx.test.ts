import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { ExpectedError } from '../../../../src/core/errors';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { rankLayerShape } from '../../../../src/core/measured-profile/shape';
import { runOfOnnx } from '../../../../src/profiler/onnx-file/run-of-onnx';
import type { GraphWriter } from './graphs';
import { gpt2, gpt2Sizes } from './models';
import { say } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const { layers, hidden, heads, ffn, vocab, positions } = gpt2Sizes;
const config = {
  model_type: 'gpt2',
  n_layer: layers,
  n_embd: hidden,
  n_head: heads,
  n_inner: ffn,
  vocab_size: vocab,
  n_positions: positions,
};
/** A GPT-2 whose graph does not show its heads. */
const silent = () => gpt2({ past: false, reshapes: 'computed' });

describe('runOfOnnx', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'terapipe-onnx-run-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });
  const runOf = async (graph: GraphWriter, modelConfig: string | null = null, inside = '') => {
    const file = path.join(folder, inside, 'model.onnx');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, graph.bytes());
    if (modelConfig !== null) await writeFile(path.join(folder, 'config.json'), modelConfig);
    return runOfOnnx(file);
  };

  it('makes a run that plans and profiles like one of a config', async () => {
    const run = await runOf(gpt2());
    assert.deepEqual([run.title, run.format, run.files], ['model', 'onnx', [run.file]]);
    const request = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 1 });
    assert.deepEqual(rankLayerShape(request.model, 1), {
      hidden,
      heads,
      kvHeads: heads,
      headDim: hidden / heads,
      ffn,
      gatedMlp: false,
      norm: 'layernorm',
      rotary: false,
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
      qkNorm: false,
      experts: null,
      vocab: 256,
      learnedPositions: true,
    });
    assert.ok(makePlan(request).candidates.every(({ iterationMs }) => iterationMs > 0));
    assert.ok(
      request.assumptions.some(({ key, reason }) => key === 'model.vocab' && toText(reason) === 'transformer.wte.weight is 211 x 48'),
    );
  });

  it('takes what the graph leaves open from the config.json next to it, and shows where', async () => {
    const run = await runOf(silent(), JSON.stringify(config));
    const text = path.join(folder, 'config.json');
    assert.deepEqual(run.files, [run.file, text]);
    assert.equal(run.texts?.get(text), JSON.stringify(config));
    assert.equal(toModelSpec(run.model).heads, heads);
    assert.ok(run.model.heads.source.kind === 'file' && run.model.heads.source.place.file === text);
    assert.equal(run.model.hidden.source.kind, 'default');
    assert.equal(toModelSpec(run.model).headDim, hidden / heads);
  });

  it('finds the config.json above a folder called onnx', async () => {
    assert.equal((await runOf(silent(), JSON.stringify(config), 'onnx')).model.heads.value, heads);
    await assert.rejects(runOf(silent(), JSON.stringify(config), 'other'), { code: 'onnx-incomplete' });
  });

  it('learns from the config whether the head is a turned copy of the embedding', async () => {
    const withoutConfig = await runOf(gpt2({ head: 'copy' }));
    assert.deepEqual([withoutConfig.model.tiedEmbeddings.value, withoutConfig.remarks?.length], [false, 1]);
    const joined = await runOf(gpt2({ head: 'copy' }), JSON.stringify(config));
    assert.deepEqual([joined.model.tiedEmbeddings.value, joined.remarks?.length], [true, 0]);
  });

  it('does not use a config of another model', async () => {
    const other = JSON.stringify({ ...config, n_embd: 64 });
    await assert.rejects(runOf(silent(), other), { code: 'onnx-incomplete' });
    const run = await runOf(gpt2({ head: 'copy' }), other);
    assert.deepEqual(run.files, [run.file]);
    assert.ok(run.remarks?.some(({ message }) => say(message).includes('hidden 64, the graph has 48')));
  });

  it('reports a broken config where sizes depend on it', async () => {
    await assert.rejects(
      runOf(silent(), '{'),
      (error) => error instanceof ExpectedError && error.place?.file === path.join(folder, 'config.json'),
    );
    const run = await runOf(gpt2({ head: 'copy' }), '{');
    assert.ok(run.remarks?.some(({ message }) => say(message).startsWith('config.json next to the model could not be read')));
  });

  it('plans in the precision of a model in 16 bits', async () => {
    assert.equal((await runOf(gpt2({ type: DataType.FLOAT16 }))).training.precision?.value, 'fp16');
    assert.equal((await runOf(gpt2())).training.precision, undefined);
  });

  it('reads a config.json only when it must', async () => {
    assert.deepEqual((await runOf(gpt2(), '{')).remarks, []);
  });
});

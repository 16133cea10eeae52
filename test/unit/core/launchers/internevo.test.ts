import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { recogniseConfig } from '../../../../src/core/config-files/readers';
import { internevoFiles } from '../../../../src/core/launchers/internevo/internevo';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { parameterCount } from '../../../../src/core/model/parameters';
import type { FactName, LauncherFile } from '../../../../src/core/run/facts';
import { load, readerOf } from '../config-files/files';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/configs/internevo.py'), 'utf8');
const file = 'configs/7B_internlm2.py';
const nodes = (count: number) => ({ gpu: 'A100-80GB', nodes: count, gpusPerNode: 8 }) as const;
const read = (written: string): LauncherFile => internevoFiles.read([{ file, text: written }]);
const values = ({ facts }: LauncherFile, ...names: readonly FactName[]): unknown[] => names.map((name) => facts[name]?.value);

describe('a config of InternEvo', () => {
  // the hub has 7.738 billion parameters for internlm2-7b, which is this model
  it('is planned with the sizes that its code computes', async () => {
    const { model, layout, training } = resolveRun(await load({ [file]: text }), nodes(2));
    assert.ok(Math.abs(parameterCount(model) / 7.738e9 - 1) < 1e-3, String(parameterCount(model)));
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data, training.sequenceParallel], [2, 2, 4, true]);
    assert.deepEqual([training.zeroStage, training.microBatch, training.globalBatch, training.recompute], [1, 1, 16, 'none']);
  });

  it('follows the bases that it reads, whose values its own replace', () => {
    const base = text.replace('micro_num=4', 'micro_num=8');
    const own = 'with read_base():\n    from configs._base_.models.internlm2_7B import *  # noqa\n\nSEQ_LEN = 4096\ndata = dict(seq_len=SEQ_LEN, micro_num=2, micro_bsz=1)\n'; // prettier-ignore
    const [found] = internevoFiles.findBases({ file, text: own });
    assert.ok(found?.paths.includes('../configs/_base_/models/internlm2_7B.py'), found?.paths.join(', '));
    const composed = internevoFiles.read([{ file: 'configs/_base_/models/internlm2_7B.py', text: base }, { file, text: own }]); // prettier-ignore
    assert.deepEqual(values(composed, 'layers', 'sequenceLength', 'gradientAccumulation'), [32, 4096, 2]);
  });

  it('reads tensor parallelism by its mode: with isp ranks share out sequences', () => {
    assert.deepEqual(values(read(text.replace('msp', 'mtp')), 'tensor', 'sequenceParallel', 'context'), [2, false, undefined]);
    assert.deepEqual(values(read(text.replace('dict(size=2, mode="msp")', '4')), 'tensor', 'sequenceParallel'), [4, false]);
    const isp = read(text.replace('msp', 'isp').replace('weight=dict(size=1', 'weight=dict(size=4'));
    assert.deepEqual(values(isp, 'tensor', 'context', 'contextCommunication', 'zeroStage'), [undefined, 2, 'ulysses', 3]);
  });

  it('recomputes all layers or a share of those of each stage', () => {
    const recompute = (written: string): unknown[] => values(read(text.replace('checkpoint=False', `checkpoint=${written}`)), 'recomputeGranularity', 'recomputeMethod', 'recomputeLayers'); // prettier-ignore
    assert.deepEqual(recompute('True'), ['full', 'uniform', 1]);
    assert.deepEqual(recompute('0.25'), ['full', 'block', 4]);
    assert.deepEqual(recompute('False'), ['none', undefined, undefined]);
  });

  // configs/7B_MoE4_sft.py
  it('shards optimizer states by zero1, and has experts and biases by its type', async () => {
    assert.deepEqual(values(read(text.replace('size=8', 'size=1')), 'zeroStage'), [0]);
    assert.deepEqual(values(read(text.replace('zero1=dict(size=8)', 'zero1=dict(size=-1, fsdp=True)')), 'zeroStage'), [3]);
    const experts = text.replace('num_chunks=1,', 'num_experts=4,').replace('INTERNLM2_PUBLIC', 'INTERNLM_MoE');
    const moe = read(`${experts}moe = dict(top_k=2, capacity_factor=1.0)\n`);
    assert.deepEqual(values(moe, 'experts', 'activeExperts', 'expertFfn', 'bias', 'mlpBias'), [4, 2, 14336, true, false]);
    const { model } = resolveRun(await load({ [file]: text.replace('INTERNLM2_PUBLIC', 'INTERNLM') }), nodes(2));
    assert.deepEqual([model.qkvBias, model.attentionOutputBias, model.mlpBias], [true, true, false]);
    // with two tensor-parallel ranks eight replicas are two nodes
    assert.deepEqual(read(text).leftOut, ['parallel.zero1.size']);
    assert.deepEqual(read(text.replace('zero1=dict(size=8)', 'zero1=8')).leftOut, ['parallel.zero1']);
    const all = read(text.replace('zero1=dict(size=8)', 'zero1=dict(size=-1)'));
    assert.deepEqual([all.leftOut, ...values(all, 'zeroStage', 'optimizerShards')], [['parallel.zero1.size'], 1, 'tensors']);
    const ofNode = read(text.replace('zero1=dict(size=8)', 'zero1=dict(size=4)'));
    assert.deepEqual([ofNode.leftOut, ...values(ofNode, 'hybridShard')], [['parallel.zero1.size'], true]);
    assert.equal(read(text.replace('zero1=dict(size=8)', 'zero1=dict(size=1)')).leftOut, undefined);
    assert.equal(read(text.replace('zero1=dict(size=8)', 'zero1=dict(size=8, fsdp=True)')).leftOut, undefined);
  });

  // GShardMOELayer of InternEvo: top_k=1
  it('sends a token to one expert where it gives no top_k', async () => {
    const moe = text.replace('num_chunks=1,', 'num_experts=4,').replace('INTERNLM2_PUBLIC', 'INTERNLM_MoE');
    const { model } = resolveRun(await load({ [file]: moe }), nodes(2));
    assert.deepEqual([model.experts?.count, model.experts?.active], [4, 1]);
  });

  it('names TF32 as left out: its products are planned as FP32', () => {
    assert.ok(read(text.replace('torch.bfloat16', 'torch.tf32')).leftOut?.includes('model.dtype'));
    assert.ok(!read(text.replace('torch.bfloat16', 'torch.float32')).leftOut?.includes('model.dtype'));
  });

  it('is not blamed for values that its program takes, nor by checks of Megatron-LM', async () => {
    const written = text.replace('zero1=dict(size=8)', 'zero1=dict(size=-1, fsdp=False)').replace('use_flash_attn=True', 'rope_base=None');
    const { findings } = await loadConfig(file, written, { read: readerOf({}), shell: () => Promise.reject(new Error('no script')) });
    assert.deepEqual(findings, []);
  });

  it('is known by its sections, and no other Python is', () => {
    assert.equal(recogniseConfig(file, text), 'internevo');
    assert.equal(recogniseConfig('configs/other.py', 'model = dict(type="ResNet")\ndata = dict(samples_per_gpu=2)\n'), null);
    assert.equal(recogniseConfig(file, text.replaceAll('micro_num', 'micro_count').replace('model_type', 'kind')), null);
  });
});

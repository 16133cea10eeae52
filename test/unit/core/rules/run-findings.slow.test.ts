import assert from 'node:assert/strict';
import { configErrorCodes, type ExpectedError } from '../../../../src/core/errors';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../src/core/run/run';
import { findingOfError, type Finding } from '../../../../src/core/findings';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { settingEdits } from '../../../../src/core/rules/settings';
import { csvProblemCodes } from '../../../../src/core/schedules/pytorch-csv/problems';
import { rules } from '../../../../src/core/rules/table';
import { findingPages } from '../../../docs/finding-pages';
import { listDivisors } from '../../../../src/core/numbers';
import { multiplesNear, nearestFitting } from '../../../../src/core/rules/rule';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { findRemedies, mostTrials } from '../../../../src/core/rules/plan/remedies';
import { remedyText } from '../../../../src/core/rules/plan/remedy';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { errorOf, load, loadFixture, loadObject } from '../config-files/files';
import { say } from '../../../../src/core/sentence';

const root = path.join(import.meta.dirname, '../../../..');
const model = { layers: 24, hidden: 2048, heads: 16, vocab: 0 };
const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

async function findings(config: object): Promise<Finding[]> {
  return runFindings(await loadObject({ model, ...config }), null);
}

async function only(config: object): Promise<Finding> {
  const found = await findings(config);
  assert.equal(found.length, 1, found.map(({ code }) => code).join());
  return found[0]!;
}

function textOf(run: Run, finding: Finding): string {
  return run.texts?.get(finding.place.file)?.slice(finding.place.range.start, finding.place.range.end) ?? '';
}

function apply(run: Run, finding: Finding, index = 0): string {
  const edits = [...(finding.fixes[index]?.edits ?? [])].sort((a, b) => b.place.range.start - a.place.range.start);
  return edits.reduce(
    (text, { place, newText }) => text.slice(0, place.range.start) + newText + text.slice(place.range.end),
    run.texts?.get(run.file) ?? '',
  );
}

describe('runFindings', () => {
  it('has nothing to show about a sound run', async () => {
    assert.deepEqual(runFindings(await loadFixture('pipeline/terapipe.json'), null), []);
    assert.deepEqual(runFindings(await loadFixture('gpt2-tiny/config.json'), null), []);
  });

  it('names the nearest stage counts that divide the layers', async () => {
    const finding = await only({ layout: { pipeline: 10 } });
    assert.equal(finding.code, 'pp-layers-not-divisible');
    assert.equal(finding.severity, 'error');
    assert.equal(say(finding.message), '24 layers are not divisible by 10 pipeline stages');
    assert.equal(say(finding.remedy), 'set layout.pipeline to 12 or 8');
    const tooMany = await only({ layout: { pipeline: 48 } });
    assert.equal(say(tooMany.message), '48 stages for 24 layers: 24 would have none');
    assert.equal(say(tooMany.remedy), 'set layout.pipeline to 24');
  });

  it('points at the value and fixes it in place', async () => {
    const text = '{\n  // keep me\n  "model": { "layers": 24, "hidden": 64, "heads": 4 },\n  "layout": { "pipeline": 10 }, // and me\n}\n';
    const run = await load({ 'terapipe.json': text });
    const [finding] = runFindings(run, null);
    assert.equal(textOf(run, finding!), '10');
    assert.deepEqual(
      finding!.fixes.map(({ title, preferred }) => [say(title), preferred]),
      [
        ['Set layout.pipeline to 12', true],
        ['Set layout.pipeline to 8', false],
      ],
    );
    assert.equal(apply(run, finding!), text.replace('10', '12'));
  });

  it('wants virtual stages that divide the layers of a stage', async () => {
    const finding = await only({ layout: { pipeline: 4, virtualStages: 4 } });
    assert.deepEqual([finding.code, say(finding.remedy)], ['vpp-layers-lost', 'set layout.virtualStages to 3 or 6']);
    assert.deepEqual(await findings({ layout: { pipeline: 4, virtualStages: 3 } }), []);
  });

  it('refuses virtual stages that the schedule does not have', async () => {
    const layout = { pipeline: 4, virtualStages: 3 };
    const finding = await only({ schedule: 'ZBVZeroBubble', layout });
    assert.deepEqual(
      [finding.code, say(finding.remedy)],
      ['schedule-virtual-stages', 'set layout.virtualStages to 2, or another schedule'],
    );
    assert.equal((await only({ schedule: 'TeraPipe', layout })).code, 'schedule-virtual-stages');
    for (const schedule of ['1F1B', 'LoopedBFS']) assert.deepEqual(await findings({ schedule, layout }), []);
    assert.deepEqual(await findings({ schedule: 'ZBVZeroBubble', layout: { pipeline: 4 } }), []);
  });

  it('wants heads, widths and key/value heads that a tensor size divides', async () => {
    const heads = await only({ layout: { tensor: 6 } });
    assert.deepEqual([heads.code, say(heads.remedy)], ['heads-tp', 'set layout.tensor to 8 or 4']);
    const width = await only({ model: { ...model, ffn: 8190 }, layout: { tensor: 4 } });
    assert.deepEqual([width.code, say(width.remedy)], ['width-tensor', 'set layout.tensor to 2']);
    const grouped = { layers: 1, hidden: 768, heads: 12, kvHeads: 4, vocab: 0 };
    const kv = await only({ model: grouped, layout: { tensor: 6 } });
    assert.deepEqual([kv.code, kv.severity, say(kv.remedy)], ['kv-heads-tp', 'error', 'set layout.tensor to 4']);
    const repeated = await only({ model: grouped, layout: { tensor: 12 } });
    assert.deepEqual([repeated.code, repeated.severity], ['kv-heads-tp', 'information']);
  });

  it('wants the decoder of an encoder-decoder model divided too, and its stacks by themselves', async () => {
    const bart = { model_type: 'bart', d_model: 1024, encoder_layers: 12, decoder_layers: 6, encoder_attention_heads: 16 };
    const found = async (decoder: object, layout: object) =>
      runFindings(
        await load({
          'terapipe.json': JSON.stringify({ model: { from: 'config.json', vocab: 1024 }, layout }),
          'config.json': JSON.stringify({ ...bart, decoder_attention_heads: 16, ...decoder }),
        }),
        null,
      ).map(({ code, remedy }) => [code, say(remedy)]);
    assert.deepEqual(await found({}, { tensor: 8, pipeline: 4 }), []);
    assert.deepEqual(await found({ decoder_attention_heads: 4 }, { tensor: 8 }), [['heads-tp', 'set layout.tensor to 4']]);
    assert.deepEqual(await found({ decoder_ffn_dim: 4092 }, { tensor: 8 }), [['width-tensor', 'set layout.tensor to 4']]);
    assert.deepEqual(
      (await found({}, { pipeline: 19 })).map(([code]) => code),
      ['pp-layers-not-divisible'],
    );
  });

  it('wants heads that divide the hidden size unless the head size is given', async () => {
    assert.equal((await only({ model: { ...model, heads: 15 } })).code, 'hidden-heads');
    assert.deepEqual(await findings({ model: { ...model, heads: 15, headDim: 128 } }), []);
    assert.equal((await only({ model: { ...model, kvHeads: 3 } })).code, 'kv-heads-heads');
  });

  it('compares the sizes with the GPUs there are', async () => {
    const cluster = { gpu: 'V100-16GB', nodes: 48, gpusPerNode: 8 };
    const finding = await only({ cluster, layout: { tensor: 4, pipeline: 24, data: 8 } });
    assert.equal(finding.code, 'world-size-factor');
    assert.equal(say(finding.message), 'tensor 4 x pipeline 24 x data 8 = 768 GPUs, but there are 384');
    assert.equal(say(finding.remedy), 'set layout.data to 4 or set cluster.nodes to 96');
    assert.deepEqual(
      finding.fixes.map(({ title }) => say(title)),
      ['Set layout.data to 4', 'Set cluster.nodes to 96'],
    );
    assert.deepEqual(await findings({ cluster, layout: { tensor: 4, pipeline: 24, data: 4 } }), []);
    const fraction = await only({ cluster: { ...cluster, nodes: 1 }, layout: { tensor: 1, pipeline: 12, data: 1 } });
    assert.deepEqual([say(fraction.remedy), fraction.fixes], ['choose sizes that multiply to 8, or use 12 GPUs', []]);
    const open = await only({ cluster: { ...cluster, nodes: 1 }, layout: { tensor: 8, pipeline: 24 } });
    assert.equal(say(open.message), '8 GPUs cannot be divided into replicas of tensor 8 x pipeline 24 = 192');
    assert.equal(say(open.remedy), 'set cluster.nodes to 24 or set layout.pipeline to 1');
  });

  it('knows how many GPUs a node of a preset has', async () => {
    const finding = await only({ cluster: { gpu: 'A100-80GB', nodes: 2 }, layout: { tensor: 16 } });
    assert.deepEqual([finding.code, finding.severity, say(finding.remedy)], ['tensor-beyond-node', 'warning', 'set layout.tensor to 8']);
  });

  it('wants a global batch that replicas and micro-batches divide', async () => {
    const finding = await only({ layout: { data: 3 }, training: { globalBatch: 32, microBatch: 2 } });
    assert.deepEqual([finding.code, say(finding.remedy)], ['gbs-not-divisible', 'set training.globalBatch to 30 or 36']);
    const derived = await only({
      cluster: { gpu: 'A100-80GB', nodes: 3, gpusPerNode: 8 },
      layout: { tensor: 8, pipeline: 1 },
      training: { globalBatch: 32 },
    });
    assert.equal(say(derived.message), 'A global batch of 32 is not divisible by 3 replicas');
  });

  it('reports the idle share of too few micro-batches', async () => {
    const layout = { pipeline: 4, data: 1 };
    const finding = await only({ schedule: '1F1B', layout, training: { globalBatch: 1 } });
    assert.equal(finding.code, 'microbatches-below-stages');
    assert.match(say(finding.message), /: stages idle while the pipeline fills and drains$/);
    assert.deepEqual(await findings({ schedule: 'TeraPipe', layout, training: { globalBatch: 1 } }), []);
  });

  it('compares a given scheme with the batch and the sequence', async () => {
    const training = { sequenceLength: 128, globalBatch: 2 };
    const layout = { data: 1 };
    const short = await only({ training, layout, slicing: { scheme: [[2, [64, 32]]] } }); // prettier-ignore
    assert.deepEqual([short.code, say(short.remedy)], ['scheme-mismatch', 'make each list add up to 128']);
    const few = await only({ training, layout, slicing: { scheme: [[1, [64, 64]]] } }); // prettier-ignore
    assert.equal(say(few.message), 'The scheme covers 1 sequence, and a replica has 2');
    assert.deepEqual(await findings({ training, layout, slicing: { scheme: [[1, [128]], [1, [64, 64]]] } }), []); // prettier-ignore
  });

  it('compares the sequence with positions, slices and parallel sizes', async () => {
    const learned = await only({ model: { ...model, maxPositions: 1024 }, training: { sequenceLength: 2048 } });
    assert.deepEqual([learned.code, learned.severity], ['sequence-positions', 'error']);
    const rotary = await only({ model: { ...model, maxPositions: 1024, positions: 'rotary' }, training: { sequenceLength: 2048 } });
    assert.equal(rotary.severity, 'warning');
    const unit = await only({ training: { sequenceLength: 2048 }, slicing: { unit: 96 } });
    assert.deepEqual([unit.code, say(unit.fixes[0]!.title)], ['sequence-unit', 'Set slicing.unit to 32']);
    const context = await only({ training: { sequenceLength: 4100 }, layout: { context: 4 } });
    assert.deepEqual([context.code, say(context.remedy)], ['cp-seq-multiple', 'set training.sequenceLength to 4,104 or 4,096']);
    const sequence = await only({ training: { sequenceLength: 2050, sequenceParallel: true }, layout: { tensor: 4 } });
    assert.equal(sequence.code, 'sp-tp-seq');
  });

  it('shows how a vocabulary is padded once the tensor size is known', async () => {
    const finding = await only({ model: { ...model, vocab: 50257 }, layout: { tensor: 8 } });
    assert.deepEqual([finding.code, finding.severity], ['vocab-padding', 'information']);
    assert.match(say(finding.message), /pads a vocabulary of 50,257 to 51,200/);
    const llama = await only({ model: { ...model, vocab: 128256 }, layout: { tensor: 8 } });
    assert.match(`${say(llama.message)}; ${say(llama.remedy)}`, /of 128,256 to 129,024, .*; planned with 128,256; .* of 129,024 /);
    assert.deepEqual(await findings({ model: { ...model, vocab: 51200 }, layout: { tensor: 8 } }), []);
    assert.deepEqual(await findings({ model: { ...model, vocab: 50257 } }), []);
  });

  it('warns of habits that cost', async () => {
    assert.equal((await only({ layout: { pipeline: 4 }, training: { zeroStage: 2 } })).code, 'zero-with-pp');
    assert.equal((await only({ training: { recompute: 'selective', attention: 'flash' } })).code, 'selective-recompute-flash');
    assert.equal((await only({ layout: { pipeline: 4 }, training: { activationOffloadLayers: 2 } })).code, 'offload-with-pp');
    assert.equal((await only({ training: { activationOffloadLayers: 2, recompute: 'full' } })).code, 'offload-with-recompute');
    assert.deepEqual(await findings({ training: { activationOffloadLayers: 2, recompute: 'full', runtime: 'deepspeed' } }), []);
    assert.deepEqual(await findings({ training: { activationOffloadLayers: 2 } }), []);
    assert.equal((await only({ layout: { expert: 8 } })).code, 'expert-dense-model');
    assert.equal((await only({ cluster: { gpu: 'V100-16GB' }, training: { precision: 'bf16' } })).code, 'precision-slow');
  });

  it('holds experts against those active, the expert size and the replicas', async () => {
    const routed = { ...model, experts: 8, activeExperts: 2 };
    const at = async (changed: object, layout: object = {}) => {
      const { code, severity, message, remedy } = await only({ model: { ...routed, ...changed }, layout });
      assert.equal(severity, 'error');
      return [code, say(message), say(remedy)];
    };
    assert.deepEqual(await findings({ model: routed, layout: { expert: 4, data: 8 } }), []);
    assert.deepEqual(await at({ activeExperts: 9 }), [
      'experts-active',
      'A token cannot visit 9 experts: there are 8',
      'send a token to 8 experts or fewer',
    ]);
    assert.deepEqual(await at({ activeExperts: null }), [
      'experts-active',
      'model.experts is given without model.activeExperts: planned as a dense model',
      'give model.activeExperts too, or remove model.experts',
    ]);
    assert.deepEqual((await at({ experts: null }))[0], 'experts-active');
    assert.deepEqual(await at({}, { expert: 3 }), [
      'experts-not-divisible',
      '8 experts are not divisible by an expert size of 3',
      'set layout.expert to 4 or 2',
    ]);
    assert.deepEqual(await at({}, { expert: 8, data: 4 }), [
      'expert-world-factor',
      'An expert size of 8 does not divide the 4 replicas (data x context) that share the experts',
      'set layout.expert to 4',
    ]);
    assert.equal((await at({}, { expert: 4, data: 6 }))[2], 'set layout.expert to 2');
    assert.deepEqual((await at({ expertFfn: 1001, gatedMlp: true }, { tensor: 2 }))[0], 'width-tensor');
  });

  it('checks the widths of dense layers and of shared experts separately from those of routed experts', async () => {
    const deepseek = { model_type: 'deepseek_v2', num_hidden_layers: 4, hidden_size: 64, num_attention_heads: 8, vocab_size: 1024 };
    const sizes = {
      intermediate_size: 512,
      moe_intermediate_size: 64,
      n_routed_experts: 8,
      num_experts_per_tok: 2,
      first_k_dense_replace: 1,
    };
    const latent = { kv_lora_rank: 16, q_lora_rank: null, qk_nope_head_dim: 8, qk_rope_head_dim: 8, v_head_dim: 8 };
    const found = async (changed: object) =>
      runFindings(
        await load({
          'terapipe.json': JSON.stringify({ model: { from: 'config.json' }, layout: { tensor: 8 } }),
          'config.json': JSON.stringify({ ...deepseek, ...sizes, ...latent, n_shared_experts: 1, ...changed }),
        }),
        null,
      ).flatMap(({ code, message }) => (code === 'width-tensor' ? [say(message)] : []));
    assert.deepEqual(await found({}), []);
    assert.deepEqual(await found({ intermediate_size: 500 }), ['A feed-forward width of dense layers of 500 is not divisible by a tensor size of 8']); // prettier-ignore
    assert.deepEqual(await found({ moe_intermediate_size: 60 }), ['A width of shared experts of 60 is not divisible by a tensor size of 8']); // prettier-ignore
    assert.deepEqual(await found({ moe_intermediate_size: 60, n_shared_experts: 2 }), ['An expert width of 60 is not divisible by a tensor size of 8']); // prettier-ignore
  });

  it('divides experts only by the expert tensor size', async () => {
    const qwen = {
      model_type: 'qwen3_moe',
      num_hidden_layers: 4,
      hidden_size: 64,
      num_attention_heads: 8,
      num_key_value_heads: 8,
      head_dim: 8,
    };
    const sizes = { intermediate_size: 512, moe_intermediate_size: 500, num_experts: 8, num_experts_per_tok: 2, vocab_size: 1024 };
    const found = async (layout: object) =>
      runFindings(
        await load({
          'terapipe.json': JSON.stringify({ model: { from: 'config.json' }, layout: { tensor: 8, ...layout } }),
          'config.json': JSON.stringify({ ...qwen, ...sizes }),
        }),
        null,
      ).map(({ code, remedy }) => [code, say(remedy)]);
    assert.deepEqual(await found({ expertTensor: 1 }), []);
    assert.deepEqual(await found({ expertTensor: 8 }), [['width-tensor', 'set layout.expertTensor to 4']]);
    assert.deepEqual(await found({}), [['width-tensor', 'set layout.tensor to 4']]);
  });

  it('lets tensor-parallel ranks hold experts of their own where the expert tensor size is 1', async () => {
    const expertModel = { layers: 4, hidden: 64, heads: 4, vocab: 128, experts: 8, activeExperts: 2 };
    const codesOf = async (layout: object) =>
      runFindings(await loadObject({ model: expertModel, layout: { tensor: 2, pipeline: 1, data: 4, expert: 8, ...layout } }), null).map(
        ({ code }) => code,
      );
    assert.ok((await codesOf({ expertTensor: 2 })).includes('expert-world-factor'));
    assert.ok(!(await codesOf({})).includes('expert-world-factor'));
    assert.ok(!(await codesOf({ expertTensor: 1 })).includes('expert-world-factor'));
  });

  it('knows the replicas that the planner chose', async () => {
    const config = {
      model: { layers: 4, hidden: 256, heads: 4, vocab: 0, experts: 8, activeExperts: 2 },
      cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 6 },
      training: { sequenceLength: 256, globalBatch: 6 },
      layout: { expert: 4 },
    };
    const run = await loadObject(config);
    assert.deepEqual(runFindings(run, null), []);
    const plan = makePlan(resolveRun(run, defaults));
    const codes = runFindings(run, plan).map(({ code }) => code);
    assert.ok(codes.includes('expert-world-factor'), codes.join());
  });

  it('puts what no file gives at the start of the run, without an edit that would not help', async () => {
    const run = applyOverrides(await loadObject({ model }), ['layout.pipeline=10']);
    const [finding] = runFindings(run, null);
    assert.deepEqual(finding?.place, run.place);
    assert.deepEqual(finding.fixes, []);
  });

  it('names the stage that does not fit, by how much, and a change that does', async () => {
    const text = JSON.stringify(
      {
        model: { layers: 8, hidden: 8192, heads: 64, vocab: 0 },
        cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 },
        training: { sequenceLength: 4096, globalBatch: 8, microBatch: 2, precision: 'bf16' },
        slicing: { unit: 1024 },
        layout: { tensor: 2, pipeline: 4, data: 1 },
        schedule: 'GPipe',
      },
      null,
      2,
    );
    const run = await load({ 'terapipe.json': text });
    const plan = makePlan(resolveRun(run, defaults));
    const fitted = runFindings(run, plan).filter(({ code }) => code === 'memory-over-capacity');
    assert.deepEqual(fitted, [], 'this one fits');

    const tight = applyOverrides(run, ['cluster.gpu.memoryGB=24']);
    const tightPlan = makePlan(resolveRun(tight, defaults));
    let plans = 0;
    const remedies = findRemedies(tight, tightPlan, (changed) => {
      plans++;
      return makePlan(resolveRun(changed, defaults));
    });
    assert.ok(plans <= mostTrials && remedies.length > 0);
    const [finding] = runFindings(tight, tightPlan, remedies).filter(({ code }) => code === 'memory-over-capacity');
    assert.match(say(finding!.message), /^Stage \d of 4 needs [\d.]+ GiB, and [\d.]+ GiB are usable: does not fit, [\d.]+ [GM]iB over$/);
    assert.match(say(finding!.remedy), /: fits, ([\d.]+ % slower|[\d.]+ % faster|as fast)/);
    const [unhelped] = runFindings(tight, tightPlan).filter(({ code }) => code === 'memory-over-capacity');
    assert.match(say(unhelped!.remedy), /^search layouts that fit/, 'nothing is promised before it was planned');
    const before = chosenCandidate(tightPlan);
    for (const remedy of remedies.filter(({ sets }) => sets.length > 0)) {
      const mended = applyOverrides(
        tight,
        remedy.sets.map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : value}`),
      );
      const mendedPlan = makePlan(resolveRun(mended, defaults));
      const after = chosenCandidate(mendedPlan);
      assert.deepEqual([after.fits, after.iterationMs], [true, remedy.iterationMs], say(remedyText(remedy)));
      assert.ok(Math.abs(before.tokensPerSecond / after.tokensPerSecond - 1 - remedy.slower) < 1e-9);
      assert.ok(!runFindings(mended, mendedPlan).some(({ code }) => code === 'memory-over-capacity'));
    }
  });

  it('offers each change that fits as one edit of the file, which then plans as promised', async () => {
    const config = {
      model: { layers: 8, hidden: 8192, heads: 64, vocab: 0 },
      cluster: { gpu: { preset: 'A100-80GB', memoryGB: 24 }, nodes: 1, gpusPerNode: 8 },
      training: { sequenceLength: 4096, globalBatch: 8, microBatch: 2, precision: 'bf16' },
      slicing: { unit: 1024 },
      layout: { tensor: 2, pipeline: 4, data: 1 },
      schedule: 'GPipe',
    };
    const text = JSON.stringify(config, null, 2);
    const run = await load({ 'terapipe.json': text });
    const plan = makePlan(resolveRun(run, defaults));
    const remedies = findRemedies(run, plan, (changed) => makePlan(resolveRun(changed, defaults)));
    const [finding] = runFindings(run, plan, remedies).filter(({ code }) => code === 'memory-over-capacity');
    assert.ok(finding);
    const settable = remedies.filter(({ sets }) => sets.length > 0);
    assert.equal(finding.fixes.length, settable.length);
    assert.ok(remedies.length > 0);
    for (const [index, fix] of finding.fixes.entries()) {
      const edited = [...fix.edits]
        .sort((a, b) => b.place.range.start - a.place.range.start)
        .reduce((result, { place: { range }, newText }) => result.slice(0, range.start) + newText + result.slice(range.end), text);
      const chosen = chosenCandidate(makePlan(resolveRun(await load({ 'terapipe.json': edited }), defaults)));
      assert.deepEqual([chosen.fits, chosen.iterationMs], [true, settable[index]!.iterationMs], say(fix.title));
    }
  });

  it('turns an unreadable file into one finding, gently for models we do not read', async () => {
    const place = { file: 'x', range: { start: 0, end: 0 } };
    const syntax = findingOfError(await errorOf(load({ 'terapipe.json': '{' })), place);
    assert.deepEqual([syntax.code, syntax.severity, syntax.place.file], ['config-json-syntax', 'error', 'terapipe.json']);
    const clip = findingOfError(await errorOf(load({ 'config.json': '{"model_type": "clip"}' })), place);
    assert.equal(clip.severity, 'information');
    const bert = await load({ 'config.json': '{"model_type": "bert"}' });
    assert.throws(
      () => resolveRun(bert, defaults),
      (error: ExpectedError) => error.code === 'model-not-planned' && findingOfError(error, place).severity === 'information',
    );
  });
});

describe('settingEdits', () => {
  const edited = async (text: string, key: string, value: string | number | null) => {
    const run = await load({ 'terapipe.json': text });
    const edits = settingEdits(run, key, value) ?? [];
    return [...edits]
      .sort((a, b) => b.place.range.start - a.place.range.start)
      .reduce((result, { place, newText }) => result.slice(0, place.range.start) + newText + result.slice(place.range.end), text);
  };
  const text = '{\n\t// a\n\t"model": {"layers": 1, "hidden": 8, "heads": 1},\n\t"schedule": "1F1B" // b\n}\n';

  it('replaces, inserts and removes, keeping comments and indentation', async () => {
    assert.equal(await edited(text, 'schedule', 'GPipe'), text.replace('1F1B', 'GPipe'));
    const inserted = await edited(text, 'layout.tensor', 2);
    assert.match(inserted, /\/\/ a/);
    assert.match(inserted, /"1F1B", \/\/ b\n\t"layout": \{ "tensor": 2 \}\n/);
    const removed = await edited(text, 'schedule', null);
    assert.ok(!removed.includes('schedule') && removed.includes('// a'));
    assert.equal((await load({ 'terapipe.json': removed })).schedule, undefined);
    assert.equal((await load({ 'terapipe.json': inserted })).layout.tensor?.value, 2);
  });

  it('edits no model config', async () => {
    const run = await loadFixture('gpt2-tiny/config.json');
    assert.equal(settingEdits(run, 'layout.tensor', 2), null);
  });
});

describe('numbers near', () => {
  const count = fc.integer({ min: 1, max: 100_000 });

  it('lists every divisor once, ascending', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), (n) => {
        const expected = Array.from({ length: n }, (_, index) => index + 1).filter((divisor) => n % divisor === 0);
        assert.deepEqual(listDivisors(n), expected);
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  it('offers valid values only, the nearest first', () => {
    fc.assert(
      fc.property(count, count, (step, wanted) => {
        const near = multiplesNear(step, wanted);
        assert.equal(near.length, 2);
        for (const value of near) assert.ok(value > 0 && value % step === 0 && value !== wanted && Math.abs(value - wanted) <= 2 * step);
        const distances = nearestFitting(listDivisors(step), wanted, () => true).map((value) => Math.abs(value - wanted));
        assert.deepEqual([...distances].sort((a, b) => a - b), distances); // prettier-ignore
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});

describe('docs/findings.md', () => {
  const csvCodes = csvProblemCodes.map((code) => `schedule-csv-${code}`);
  const page = path.join(root, 'docs/findings.md');
  const headings = existsSync(page) ? [...readFileSync(page, 'utf8').matchAll(/^## `(.+)`$/gm)].map((match) => match[1]!) : [];

  it('has one heading for every code', () => {
    assert.deepEqual(
      [...findingPages().map(({ code }) => code), ...configErrorCodes, ...csvCodes].filter((code) => !headings.includes(code)),
      [],
    );
    assert.equal(new Set(headings).size, headings.length);
  });

  it('has one page and one rule for each code', () => {
    for (const all of [rules, findingPages()]) assert.equal(new Set(all.map(({ code }) => code)).size, all.length);
  });

  it('has a heading for every expected error thrown in core', () => {
    const thrown = ['src/core', 'src/features']
      .flatMap((folder) => sourceFiles(path.join(root, folder)))
      .filter((file) => !/\/(?:cli|vscode|host)(?:\/|\.ts$)/.test(file))
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/new ExpectedError\(\s*'([a-z0-9-]+)'/g)].map((match) => match[1]!));
    assert.ok(thrown.length > 0);
    assert.deepEqual(
      thrown.filter((code) => !headings.includes(code)),
      [],
    );
  });

  const sources = sourceFiles(path.join(root, 'src'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  it('has a heading for every finding', () => {
    const found = [...sources.matchAll(/\bcode: '([a-z0-9-]+)',\s*severity\b/g)].map((match) => match[1]!);
    assert.ok(found.length > 20);
    assert.deepEqual(
      found.filter((code) => !headings.includes(code)),
      [],
    );
  });

  it('has no heading without a code', () => {
    assert.deepEqual(
      headings.filter((code) => !sources.includes(`'${code}'`) && !csvCodes.includes(code)),
      [],
    );
  });
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.join(folder, name));
}

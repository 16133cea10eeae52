import assert from 'node:assert/strict';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { scheduleChoices } from '../../../../src/core/layout-search/schedules';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { say } from '../../../../src/core/sentence';
import { load } from '../config-files/files';

const experts = {
  layers: 48,
  hidden: 2048,
  heads: 32,
  kvHeads: 4,
  ffn: 768,
  gatedMlp: true,
  vocab: 151936,
  experts: 128,
  activeExperts: 8,
};

async function resolved(config: object): Promise<PlanRequest> {
  const run = await load({ 'terapipe.json': JSON.stringify({ model: experts, ...config }) });
  return resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
}

const mxfp8 = { gemmPrecision: 'fp8', fp8Recipe: 'mxfp8', globalBatch: 512, microBatch: 4, sequenceLength: 4096 };

/** What recipes set, of a request. */
function recipe({ training: { cudaGraphs, expertDispatcher, overlapExpertComm, overlapGradReduce } }: PlanRequest): unknown[] {
  return [cudaGraphs, expertDispatcher, overlapExpertComm, overlapGradReduce];
}

describe('what a file leaves to the recipes of a release', () => {
  const onRack = { cluster: { gpu: 'GB200', nodes: 2 }, layout: { tensor: 1, pipeline: 1, data: 8, expert: 8 } };

  it('is taken from the release that it names, and shown', async () => {
    const newer = await resolved({ ...onRack, training: { ...mxfp8, runtimeVersion: '26.06' } });
    assert.deepEqual(recipe(newer), ['iteration', 'hybridep', true, true]);
    assert.deepEqual(recipe(await resolved({ ...onRack, training: { ...mxfp8, runtimeVersion: '26.04.01' } })), [
      'layers',
      'hybridep',
      false,
      true,
    ]);
    const assumed = newer.assumptions.find(({ key }) => key === 'training.cudaGraphs');
    assert.match(assumed === undefined ? '' : say(assumed.reason), /Megatron-Bridge 26\.06/);
  });

  it('is nothing where none is named, and never what the file gives', async () => {
    assert.deepEqual(recipe(await resolved({ ...onRack, training: mxfp8 })), [undefined, undefined, undefined, undefined]);
    const given = { ...mxfp8, runtimeVersion: '26.06', expertDispatcher: 'alltoall', overlapExpertComm: false };
    assert.deepEqual(recipe(await resolved({ ...onRack, training: given })).slice(1, 3), ['alltoall', false]);
    const other = await resolved({ ...onRack, training: { ...mxfp8, runtime: 'torchtitan', runtimeVersion: '26.06' } });
    assert.equal(other.training.cudaGraphs, undefined);
  });
});

describe('recipes of models that differ from most', () => {
  const onRack = { gpu: 'GB300', nodes: 64 };
  const set = async (config: object, run: object): Promise<unknown[]> => {
    const file = await load({
      'terapipe.json': JSON.stringify({ model: { from: 'config.json' }, ...run }),
      'config.json': JSON.stringify(config),
    });
    const { training } = resolveRun(file, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
    return [training.cudaGraphs, training.overlapExpertComm, training.recomputeModules];
  };
  const latent = (changed: object): object => ({ model_type: 'deepseek_v3', num_hidden_layers: 61, ...changed });
  const rack = { cluster: onRack, training: { ...mxfp8, microBatch: 1, globalBatch: 4096, runtimeVersion: '26.06' }, layout: { tensor: 1, pipeline: 4, data: 64, expert: 64, virtualStages: 4 }, schedule: 'Interleaved1F1B' }; // prettier-ignore

  it('record whole iterations of DeepSeek-V3, but nothing of Kimi K2, which routes to no groups', async () => {
    assert.deepEqual(await set(latent({}), rack), ['iteration', true, undefined]);
    assert.deepEqual(await set(latent({ n_group: 1, topk_group: 1 }), rack), [undefined, false, ['mla_up_proj']]);
    const onHopper = { ...rack, cluster: { gpu: 'H100-80GB', nodes: 128 }, training: { ...rack.training, fp8Recipe: 'tensorwise' } };
    assert.deepEqual(await set(latent({ n_group: 1, topk_group: 1 }), onHopper), [undefined, false, ['mla_up_proj', 'mlp']]);
  });

  it('recompute norms and activations of GPT-OSS where memory is small, and record its layers where it is large', async () => {
    const run = (gpu: string): object => ({ cluster: { gpu, nodes: 8 }, training: { globalBatch: 512, microBatch: 4, sequenceLength: 4096, runtimeVersion: '26.04' }, layout: { tensor: 1, pipeline: 1, data: 64, expert: 8 } }); // prettier-ignore
    const oss = { model_type: 'gpt_oss', num_hidden_layers: 36, num_local_experts: 128 };
    assert.deepEqual(await set(oss, run('B200')), [undefined, false, ['layernorm', 'moe_act']]);
    assert.deepEqual(await set(oss, run('B300')), ['layers', false, undefined]);
    const small = { ...oss, num_hidden_layers: 24, num_local_experts: 32 };
    assert.deepEqual(await set(small, run('B200')), ['layers', false, undefined], 'the 20B has recipes like most');
  });

  it('record layers with a state on Hopper too', async () => {
    const run = { cluster: { gpu: 'H100-80GB', nodes: 2 }, training: { ...mxfp8, fp8Recipe: 'tensorwise', microBatch: 1, runtimeVersion: '26.06' }, layout: { tensor: 1, pipeline: 1, data: 16, expert: 8 } }; // prettier-ignore
    const nano = { model_type: 'nemotron_h', hybrid_override_pattern: 'MEM*', n_routed_experts: 128, num_experts_per_tok: 6 };
    assert.deepEqual(await set(nano, run), ['layers', false, ['core_attn', 'layernorm', 'moe', 'moe_act']]);
  });
});

describe('the cut of DeepSeek-V3 and Kimi K2', () => {
  const layout = { tensor: 1, pipeline: 8, data: 4, expert: 8 };
  const run = {
    model: { from: 'config.json' },
    cluster: { gpu: 'B300', nodes: 4 },
    training: { ...mxfp8, runtimeVersion: '26.06' },
    layout,
    schedule: '1F1B',
  };
  const deepseek = (layers: number): string => JSON.stringify({ model_type: 'deepseek_v3', num_hidden_layers: layers });
  const runOf = (changed: object, layers = 61): ReturnType<typeof load> =>
    load({ 'terapipe.json': JSON.stringify({ ...run, ...changed }), 'config.json': deepseek(layers) });
  const cutRequest = async (changed: object, layers?: number): Promise<PlanRequest> =>
    resolveRun(await runOf(changed, layers), { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
  const cutOf = async (changed: object, layers?: number): Promise<unknown> => (await cutRequest(changed, layers)).layout.stageLayers;

  it('is that of the recipes, with what is left on the chunk of the head', async () => {
    const request = await cutRequest({});
    assert.deepEqual(request.layout.stageLayers, [8, 8, 8, 8, 8, 8, 8, 5]);
    const assumed = request.assumptions.find(({ key }) => key === 'layout.stageLayers');
    assert.match(assumed === undefined ? '' : say(assumed.reason), /Megatron-Bridge/);
    const chunks = { layout: { ...layout, virtualStages: 4 }, schedule: 'Interleaved1F1B' };
    assert.deepEqual(await cutOf(chunks), [1, ...Array.from({ length: 30 }, () => 2), 0]);
  });

  it('is nothing where another framework trains, the file gives a cut, the model is another or recipes have none', async () => {
    assert.equal(await cutOf({ training: { ...mxfp8, runtime: 'torchtitan' } }), undefined);
    const own = [7, 8, 8, 8, 8, 8, 7, 7];
    assert.deepEqual(await cutOf({ layout: { ...layout, stageLayers: own } }), own);
    assert.equal(await cutOf({}, 64), undefined);
    assert.equal(await cutOf({ layout: { ...layout, pipeline: 2, data: 16 } }), undefined);
    assert.equal(await cutOf({ schedule: 'DualPipeV' }), undefined);
  });

  it('is not an uneven split of layers, which Megatron refuses where nobody knows a cut', async () => {
    const refused = async (changed: object, layers?: number): Promise<boolean> =>
      runFindings(await runOf(changed, layers), null).some(({ code }) => code === 'pp-layers-not-divisible');
    assert.equal(await refused({}), false);
    assert.equal(await refused({}, 62), true);
    assert.equal(await refused({ layout: { ...layout, pipeline: 2, data: 16 } }), true);
  });

  it('leaves a search as free as before', async () => {
    const { fixed } = toSearchProblem(await runOf({}), await cutRequest({}), ['pipeline', 'virtualStages', 'schedule']);
    assert.ok(!fixed.has('pipeline') && !fixed.has('virtualStages'));
  });
});

describe('experts that span several nodes', () => {
  const layout = { tensor: 2, pipeline: 8, data: 16, expert: 32, virtualStages: 2 };
  const run = { cluster: { gpu: 'H100-80GB', nodes: 32 }, training: { ...mxfp8, microBatch: 1 }, layout, schedule: 'Interleaved1F1B' };

  it('are whole, and exchanged during compute on virtual stages', async () => {
    const request = await resolved(run);
    assert.equal(request.layout.expertTensor, 1);
    assert.equal(request.training.overlapExpertComm, true);
    const plain = await resolved({ ...run, layout: { ...layout, virtualStages: 1 }, schedule: '1F1B' });
    assert.equal(plain.training.overlapExpertComm, undefined);
  });

  it('are searched only on chunks where their exchange is to be hidden', async () => {
    const request = await resolved(run);
    const file = await load({ 'terapipe.json': JSON.stringify({ model: experts, ...run }) });
    const problem = toSearchProblem(file, request, ['pipeline', 'virtualStages', 'schedule']);
    const chunks = scheduleChoices(problem, { ...layout, context: 1 }, 32).map((choice) => choice.chunks);
    assert.ok(chunks.length > 0 && chunks.every((count) => count > 1), chunks.join());
    const hidden = { ...problem, request: { ...request, training: { ...request.training, overlapExpertComm: false } } };
    assert.ok(scheduleChoices(hidden, { ...layout, context: 1 }, 32).some((choice) => choice.chunks === 1));
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { recogniseConfig } from '../../../../src/core/config-files/readers';
import { ExpectedError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import type { ComposingReader } from '../../../../src/core/launchers/composition';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate } from '../../../../src/core/planner/plan';
import { say, sentence } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

const folder = path.join(import.meta.dirname, '../../../fixtures/launchers/mlperf');
const fixture = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
let shell: ComposingReader;

before(async () => {
  shell = await shellReader();
});

function load(file: string, text: string): Promise<LoadedConfig> {
  const read = (_from: string, name: string): Promise<{ file: string; text: string }> =>
    name.endsWith('config_common.sh')
      ? Promise.resolve({ file: 'config_common.sh', text: fixture('config_common.sh') })
      : Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(name)));
  return loadConfig(file, text, { read, shell: () => Promise.resolve(shell) });
}

describe('a config_*.sh of MLPerf Training', () => {
  const name = 'config_GB300_32x4x288xtp2pp8cp2_cg.sh';

  it('is the run that run.sub starts with its variables and those that it sources', async () => {
    const { format, run, findings } = await load(name, fixture(name));
    assert.equal(format, 'mlperf');
    assert.ok(run);
    const { layout, training, model } = run;
    assert.deepEqual([layout.tensor?.value, layout.pipeline?.value, layout.context?.value, layout.virtualStages?.value], [2, 8, 2, 8]);
    // 288 sequences on each of 128 / (2 x 8 x 2) replicas
    assert.deepEqual([training.globalBatch?.value, training.microBatch?.value, training.sequenceLength?.value], [1152, 1, 8192]);
    assert.deepEqual([training.gemmPrecision?.value, training.fp8Recipe?.value], ['fp8', 'tensorwise']);
    assert.deepEqual([model.layers.value, run.nodes?.value, run.gpusPerNode?.value, run.gpu?.value.name], [126, 32, 4, 'GB300']);
    assert.ok(findings.every(({ severity }) => severity === 'information'));
  });

  it('leaves interleaving out where it is null, and takes the size of the model from the folder', async () => {
    const text =
      'export DGXSYSTEM=x\nexport MINIBS=2\nexport TENSOR_MODEL_PARALLEL=1\nexport INTERLEAVED_PIPELINE=null\nexport DGXNNODES=2\nexport DGXNGPU=8\n';
    const { run } = await load('llama31_8b/implementations/nemo/config_2x8.sh', text);
    assert.deepEqual([run?.model.layers.value, run?.training.globalBatch?.value, run?.layout.virtualStages], [32, 32, undefined]);
  });

  // NVIDIA/benchmarks/llama31_8b/implementations/nemo/config_DGXB200_64x8x144xtp4pp8cp2_cg.sh of training_results_v5.1
  it('takes the size whose settings it sources before that of the folder', async () => {
    const text = `source $(dirname \${BASH_SOURCE[0]})/config_common.sh\nsource $(dirname \${BASH_SOURCE[0]})/config_common_405b.sh\nexport MINIBS=144\nexport TENSOR_MODEL_PARALLEL=4\nexport PIPELINE_MODEL_PARALLEL=8\nexport INTERLEAVED_PIPELINE=8\nexport CONTEXT_PARALLEL=2\nexport ASYM_PP_EMBED=True\nexport ASYM_PP_LOSS=True\nexport DGXNNODES=64\nexport DGXNGPU=8\nexport DGXSYSTEM=x\n`; // prettier-ignore
    const { run, findings } = await load('llama31_8b/implementations/nemo/config_DGXB200_64x8x144.sh', text);
    assert.equal(run?.model.layers.value, 126);
    assert.deepEqual(findings.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
  });

  const lora = 'export DGXNNODES=1\nexport DGXNGPU=8\nexport MINIBS=1\nexport MBS=1\nexport TP=1\nexport LORA_A2A=1\n';

  // AMD/results/MI325X_EPYC_9575F_pytorch/llama2_70b_lora/result_0.txt of training_results_v5.0: 2.73 samples a second of 8 a step
  it('keeps frozen weights in FP8 once, with which 70B train on a GPU each of a node of MI325X', async () => {
    const { run, launcher } = await load('config_MI325X_1x8x1.sh', `${lora}export FP8=True\n`);
    assert.deepEqual([launcher?.facts.globalBatch?.value, launcher?.facts.flavor?.value], [8, 'meta-llama/Llama-2-70b-hf']);
    assert.ok(run);
    const plan = makePlan(resolveRun(run, { gpu: 'MI325X', nodes: null, gpusPerNode: null }));
    const { memory, fits, iterationMs } = chosenCandidate(plan);
    const gib = (memory.stages[0]?.parts.weights ?? 0) / 2 ** 30;
    assert.ok(fits && gib > 63 && gib < 67, `${gib} GiB`);
    assert.ok(Math.abs(iterationMs / 2926 - 1) < 0.35, `${iterationMs} ms`);
  });

  // NVIDIA/results/2xGB200 of training_results_v5.0 ran with weights in FP8 that are kept transposed, too
  it("plans NVIDIA's weights in FP8 as two bytes each, and AMD's as one by the variables of its machine", async () => {
    const nvidia = await load('config_GB200_2x4x1xtp1pp1cp1.sh', `${lora}export FP8=True\n`);
    assert.deepEqual([nvidia.noRun, nvidia.run?.adapters?.baseBits], [null, undefined]);
    const amd = lora.replace('DGXNNODES', 'NNODES').replace('DGXNGPU', 'GPUS_PER_NODE');
    const { run } = await load('config_1x8x1.sh', `export DGXSYSTEM=x\n${amd}export FP8=True\n`);
    assert.equal(run?.adapters?.baseBits?.value, 8);
    // Dell/benchmarks/llama2_70b_lora/implementations/AMD of training_results_v5.1
    const named = await load('config_MI350X_1x8x1.sh', `${lora}export FP8=True\n`);
    assert.equal(named.run?.adapters?.baseBits?.value, 8);
    assert.equal((await load('config_x.sh', `${lora}export FP8=True\n`)).noRun?.code, 'model-not-planned');
  });

  it('keeps frozen weights in bf16 where only their gather is in FP8', async () => {
    const { run } = await load('config_B200.sh', `${lora}export FP8=True\nexport FP8_PARAM_GATHER=0\n`);
    assert.equal(run?.adapters?.baseBits, undefined);
  });

  it('is read and not planned where frozen weights are in FP4, or the model is none of text', async () => {
    const adapted = await load('config_GB200_1x4.sh', `${lora}export FP4=True\n`);
    assert.deepEqual([adapted.run, adapted.noRun?.code], [null, 'model-not-planned']);
    const images = await load('a/flux1/b/config_GB200.sh', 'export DGXNNODES=1\nexport DGXNGPU=4\nexport MBS=16\nexport TP=4\n');
    assert.match(say(images.noRun?.what ?? sentence``), /another model/);
  });

  it('is not what only other scripts source', () => {
    assert.equal(recogniseConfig('config_common.sh', fixture('config_common.sh')), null);
  });
});

/** After conf/megatron_gpt_peft_tuning_config.yaml of NVIDIA's v5.1 submission: every value from a variable, with what holds without it. */
describe("the YAML of MLPerf's benchmark of LoRA", () => {
  const text = 'trainer:\n  devices: ${oc.decode:${oc.env:DGXNGPU,8}}\n  num_nodes: ${oc.decode:${oc.env:DGXNNODES,1}}\nmodel:\n  num_layers: ${oc.decode:${oc.env:OVERWRITTEN_NUM_LAYERS,80}}\n  tensor_model_parallel_size: ${oc.decode:${oc.env:TP,1}}\n  pipeline_model_parallel_size: ${oc.decode:${oc.env:PP,1}}\n  context_parallel_size: ${oc.decode:${oc.env:CP,2}}\n  global_batch_size: ${floor_div:${multiply:${oc.decode:${oc.env:MINIBS,2}},${multiply:${trainer.devices},${trainer.num_nodes}}},${oc.decode:${oc.env:CP,2}}}\n  micro_batch_size: ${oc.decode:${oc.env:MBS,1}}\n  encoder_seq_length: ${oc.decode:${oc.env:MAX_SEQLEN,8192}}\n'; // prettier-ignore
  const inBenchmark = 'Dell/benchmarks/llama2_70b_lora/implementations/nemo/conf/megatron_gpt_peft_tuning_config.yaml';

  it('is the model and the adapters of the benchmark, on the GPUs that hold without variables', async () => {
    const { run } = await load(inBenchmark, text);
    assert.ok(run);
    const { request } = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
    const { layout, training, model } = request;
    assert.deepEqual([layout.context, layout.data, training.globalBatch, training.sequenceLength], [2, 4, 8, 8192]);
    assert.deepEqual([model.layers, model.hidden, model.kvHeads, model.ffn], [80, 8192, 8, 28672]);
    assert.deepEqual([training.adapter?.rank, training.adapter?.targets], [16, ['qkv', 'output']]);
  });

  it('is not planned in another folder', async () => {
    assert.equal((await load('conf/megatron_gpt_peft_tuning_config.yaml', text)).run, null);
  });

  it('is not planned as an example of NeMo that a submission has brought', async () => {
    const example = text.replace(/ {2}global_batch_size.*\n/, '  global_batch_size: 8\n').replace(/ {2}num_layers.*\n/, '');
    assert.equal((await load('B200/llama2_70b_lora/pytorch/NeMo/conf/megatron_bart_config.yaml', example)).run, null);
  });
});

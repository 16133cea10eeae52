import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { launcherFormats, launchers } from '../../../../src/core/launchers/registry';
import type { Run } from '../../../../src/core/run/run';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { steppedSizes, whatIfSizes } from '../../../../src/core/layout-search/what-if';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { refusedTogether, notInFile } from '../../../../src/core/domain/capabilities';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { load } from '../config-files/files';

const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

const llama13b = JSON.stringify({
  model_type: 'llama',
  hidden_size: 5120,
  intermediate_size: 13824,
  num_attention_heads: 40,
  num_hidden_layers: 40,
  vocab_size: 32000,
  max_position_embeddings: 4096,
});
const zero3 = JSON.stringify({
  bf16: { enabled: true },
  zero_optimization: { stage: 3 },
  train_micro_batch_size_per_gpu: 2,
  gradient_accumulation_steps: 4,
});
const deepspeed = { 'ds_config_zero3.json': zero3, 'config.json': llama13b };

const factory = (more = ''): Record<string, string> => ({
  'sft.yaml': `model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
do_train: true
finetuning_type: full
deepspeed: ds_z3.json
cutoff_len: 1024
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
fp16: true
${more}`,
  'ds_z3.json': '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
});
const axolotl = (sharding: string): Record<string, string> => ({
  'axolotl.yaml': `base_model: meta-llama/Meta-Llama-3-8B
datasets:
  - path: tatsu-lab/alpaca
sequence_len: 4096
gradient_accumulation_steps: 4
micro_batch_size: 2
bf16: auto
${sharding}`,
  'zero3.json': '{"zero_optimization": {"stage": 3}}',
});
const titan = {
  'llama3_8b.toml': `[model]
name = "llama3"
flavor = "8B"

[training]
local_batch_size = 8
seq_len = 8192

[parallelism]
data_parallel_shard_degree = -1
`,
};

async function planned(files: Readonly<Record<string, string>>): Promise<{ readonly run: Run; readonly request: PlanRequest }> {
  const run = await load(files);
  return { run, request: resolveRun(run, node) };
}

describe('what a launcher can run and its file can express', () => {
  it('is stated for every launcher with where it was read', () => {
    for (const format of launcherFormats) {
      const { name, source, refuses } = launchers[format].capabilities;
      assert.ok(name !== '' && /[\w-]+\/[\w-]+|transformers/.test(source), format);
      for (const refusal of refuses) assert.ok(refusal.source !== '' && Object.keys(refusal.atLeast).length > 0, format);
    }
  });

  it('makes sizes that a file leaves out those of its launcher', async () => {
    for (const [files, batch] of [
      [deepspeed, 64],
      [factory(), 16],
      [axolotl('deepspeed: zero3.json'), 64],
      [titan, 64],
    ] as const) {
      const { request } = await planned(files);
      const { tensor, pipeline, data } = request.layout;
      assert.deepEqual([tensor, pipeline, data, request.training.globalBatch], [1, 1, 8, batch], Object.keys(files)[0]);
    }
  });

  it('compiles where a Trainer is asked to', async () => {
    const compile = async (files: Record<string, string>) => (await planned(files)).request.training.compile;
    assert.equal(await compile(factory('torch_compile: true')), true);
    assert.equal(await compile(axolotl('torch_compile: auto')), undefined);
    for (const option of ['torch_compile_backend: inductor', 'torch_compile_mode: max-autotune']) {
      assert.equal(await compile(factory(option)), true);
      assert.equal(await compile(factory(`torch_compile: false\n${option}`)), true);
      // which hands it on with torch_compile only
      assert.equal(await compile(axolotl(option)), undefined);
    }
    assert.equal(await compile(factory('torch_compile_backend: null')), undefined);
  });

  it('makes settings that a file leaves out those of its program', async () => {
    const recompute = async (files: Record<string, string>): Promise<string> => (await planned(files)).request.training.recompute;
    assert.equal(await recompute(factory()), 'full');
    assert.equal(await recompute(factory('disable_gradient_checkpointing: true')), 'none');
    assert.equal(await recompute(axolotl('deepspeed: zero3.json')), 'none');
    assert.equal(await recompute(axolotl('gradient_checkpointing: true')), 'full');
    const { 'sft.yaml': text = '' } = factory();
    const { request } = await planned({ 'sft.yaml': text.replace('cutoff_len: 1024\n', '') });
    assert.equal(request.training.sequenceLength, 2048);
  });

  it('takes a run under FSDP for one of FSDP', async () => {
    const { request } = await planned(axolotl('fsdp_config:\n  fsdp_version: 2'));
    assert.deepEqual([request.training.runtime, request.training.zeroStage], ['fsdp1', 3]);
    assert.equal((await planned(axolotl('deepspeed: zero3.json'))).request.training.runtime, 'deepspeed');
  });

  it('leaves a size open that a recipe decides', async () => {
    const open = await load({
      'recipe.yaml': 'model:\n  tensor_model_parallel_size: 2\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 64\n  train_iters: 10\n', // prettier-ignore
    });
    assert.equal(open.layout.pipeline, undefined);
  });
});

describe('the layouts of a launcher that are searched', () => {
  it('keep what its file cannot express, and have nothing that it refuses', async () => {
    for (const files of [deepspeed, factory(), axolotl('deepspeed: zero3.json'), axolotl('fsdp_config:\n  fsdp_version: 2'), titan]) {
      const { run, request } = await planned(files);
      const { capabilities } = request;
      assert.ok(capabilities);
      const problem = toSearchProblem(run, request);
      const kept = notInFile(capabilities);
      for (const key of kept) assert.ok(problem.fixed.has(key), key);
      let groups = 0;
      for (const { layout, training } of candidateGroups(problem)) {
        groups++;
        assert.equal(refusedTogether(capabilities, { ...layout, zeroStage: training.zeroStage }, request.model), undefined);
        for (const key of kept) {
          const own = key in layout || key in request.layout ? request.layout[key as 'tensor'] : undefined;
          if (own !== undefined) assert.equal(layout[key as 'tensor'], own, key);
        }
        if (kept.includes('recompute')) assert.equal(training.recompute, request.training.recompute);
        if (kept.includes('zeroStage')) assert.equal(training.zeroStage, request.training.zeroStage);
      }
      assert.ok(groups > 0, Object.keys(files)[0]);
    }
  });

  it('recompute only in ways that its file can express', async () => {
    const waysOf = async (files: Readonly<Record<string, string>>): Promise<string[]> => {
      const { run, request } = await planned(files);
      const groups = [...candidateGroups(toSearchProblem(run, request))];
      return [...new Set(groups.map(({ training }) => [training.recompute, training.recomputeLayers ?? '', ...(training.recomputeModules ?? [])].join(' ').trim()))].sort(); // prettier-ignore
    };
    assert.deepEqual(await waysOf(titan), ['full', 'none', 'op']);
    assert.deepEqual(await waysOf(axolotl('fsdp_config:\n  fsdp_version: 2')), ['full', 'none']);
  });

  it('have no pipeline under ZeRO 3 of DeepSpeed, whatever is asked for', async () => {
    const { run, request } = await planned(deepspeed);
    const { capabilities, ...open } = request;
    const asked = { ...toSearchProblem(run, request), fixed: new Set(['zeroStage'] as const) };
    const stages = new Set([...candidateGroups(asked)].map(({ layout }) => layout.pipeline));
    assert.deepEqual([...stages], [1]);
    const unknown = new Set([...candidateGroups({ ...asked, launched: false, request: open })].map(({ layout }) => layout.pipeline));
    assert.ok(unknown.size > 1 && capabilities !== undefined);
  });

  it('are stepped through without what it refuses', async () => {
    const { request } = await planned(deepspeed);
    const sizes = whatIfSizes(request);
    assert.equal(steppedSizes(request, 'several', sizes, 'layout.pipeline', 1), null);
    assert.equal(steppedSizes(request, 'several', sizes, 'layout.virtualStages', 1), null);
  });
});

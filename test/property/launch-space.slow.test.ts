import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../src/core/errors';
import type { Finding } from '../../src/core/findings';
import type { Fact, FactName, Facts, FactValues } from '../../src/core/run/facts';
import { applyOverrides } from '../../src/core/terapipe/overrides';
import type { ReadReferenced } from '../../src/core/run/run';
import type { CandidateGroup } from '../../src/core/layout-search/candidate-group';
import { stageCuts } from '../../src/core/layout-search/cuts';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import { candidateGroups } from '../../src/core/layout-search/space';
import type { SearchProblem } from '../../src/core/layout-search/search-problem';
import { loadConfig, type LoadedConfig } from '../../src/core/config-files/load-config';
import { scheduleOn } from '../../src/core/schedules/on-layout';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { launchFindings } from '../../src/core/rules/launch-findings';
import { runFindings } from '../../src/core/rules/run-findings';
import { say, sentence } from '../../src/core/sentence';
import { refusedTogether } from '../../src/core/domain/capabilities';
import { searchKeys } from '../../src/core/domain/layout-choices';
import { runtimes } from '../../src/core/domain/runtime';
import type { ClusterSpec } from '../../src/core/domain/cluster';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { cases } from './cases';

const folder = path.join(import.meta.dirname, '../fixtures/launchers');
const megatron = (flags: string): string => `torchrun pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --bf16 ${flags}\n`; // prettier-ignore
const trainer = (more: string): string => `model_name_or_path: /models/drawn\nfinetuning_type: full\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 16\ncutoff_len: 4096\nbf16: true\n${more}`; // prettier-ignore
const titan = (more: string): string => `[model]\nname = "qwen3"\nflavor = "4B"\n\n[training]\nlocal_batch_size = 8\nseq_len = 4096\n\n[parallelism]\ndata_parallel_shard_degree = -1\n${more}`; // prettier-ignore

/** Files of each launcher, and of programs of a family that differ. */
const files: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['deepspeed.json', 'megatron-arguments.yaml', 'nemo.yaml', 'megatron-bridge.yaml', 'gpt-neox.yml', 'primus.yaml', 'flagscale.yaml', 'nemo-rl.yaml', 'nanotron.yaml', 'hf-trainer.yaml', 'torchtitan-2025.toml', 'megatron-moe.sh', 'verl.sh', 'trainer.sh'].map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]), // prettier-ignore
  ),
  'megatron-dense.sh': megatron('--global-batch-size 96 --use-distributed-optimizer'),
  'megatron-deepspeed.sh': megatron('--global-batch-size 64 --deepspeed --zero-stage 1'),
  'megatron-deepspeed-3.sh': megatron('--global-batch-size 64 --deepspeed --zero-stage 3 --no-pipeline-parallel'),
  'llama-factory.yaml': trainer('deepspeed: ds_z3.json\n'),
  'llama-factory-fsdp.yaml': trainer('fsdp: [full_shard]\n'),
  'axolotl.yaml': 'base_model: /models/drawn\ndatasets: []\nsequence_len: 4096\nmicro_batch_size: 1\ngradient_accumulation_steps: 16\nbf16: auto\ndeepspeed: ds_z3.json\n', // prettier-ignore
  'titan-tied.toml': titan(''),
  'titan.toml': titan('pipeline_parallel_degree = 2\n').replace('qwen3', 'llama3').replace('4B', '8B'),
};
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;
const stage3 = '{"zero_optimization": {"stage": 3}}';

/** Sizes of a model that a launcher takes from a config.json: some divide little. */
const models = fc.constantFrom(
  { hidden_size: 4096, intermediate_size: 14_336, num_attention_heads: 32, num_key_value_heads: 8, num_hidden_layers: 32 },
  { hidden_size: 5120, intermediate_size: 13_824, num_attention_heads: 40, num_key_value_heads: 40, num_hidden_layers: 40 },
  {
    hidden_size: 2048,
    intermediate_size: 8192,
    num_attention_heads: 16,
    num_key_value_heads: 2,
    num_hidden_layers: 36,
    tie_word_embeddings: true,
  },
  { hidden_size: 3584, intermediate_size: 18_944, num_attention_heads: 28, num_key_value_heads: 4, num_hidden_layers: 30 },
);

const launches = fc.record({
  name: fc.constantFrom(...Object.keys(files)),
  model: models,
  nodes: fc.constantFrom(1, 2, 3, 4),
  batch: fc.constantFrom(24, 48, 64, 96),
  zeroStage: fc.constantFrom(0, 1, 2, 3),
  seed: fc.nat(),
});

function reading(config: object | null): ReadReferenced {
  const text = JSON.stringify({ model_type: 'llama', vocab_size: 32_000, max_position_embeddings: 4096, ...config });
  return (from, named) => {
    if (named.endsWith('config.json') && config !== null) return Promise.resolve({ file: 'config.json', text });
    if (named.endsWith('ds_z3.json')) return Promise.resolve({ file: 'ds_z3.json', text: stage3 });
    const target = path.resolve(folder, path.dirname(from), named);
    if (existsSync(target)) return Promise.resolve({ file: target, text: readFileSync(target, 'utf8') });
    return Promise.reject(new ExpectedError('config-not-found', sentence`${named} is missing`, sentence`create it`));
  };
}

/** The most groups taken of a space, spread over it. */
const mostGroups = 150;

type Sample = Pick<CandidateGroup, 'layout' | 'training' | 'schedule'>;

/** Groups of a space, each with the first of its cuts where stages have different numbers of layers. */
function sampled(problem: SearchProblem, seed: number): Sample[] {
  const all = [...candidateGroups(problem)];
  const step = Math.max(1, Math.floor(all.length / mostGroups));
  const { layers } = problem.request.model;
  return all
    .filter((_, index) => (index + seed) % step === 0)
    .map(({ layout, training, schedule }) => {
      const { name, chunks, placement } = scheduleOn(schedule, layout);
      const isEven = layers % (layout.pipeline * layout.virtualStages) === 0;
      const [stageLayers] = isEven ? [] : stageCuts(layers, layout.pipeline, chunks, placement);
      return { layout: stageLayers === undefined ? layout : { ...layout, stageLayers }, training, schedule: name };
    });
}

/** What a launcher's file sets, with the sizes of a layout in place of its own. */
function factsWith(
  facts: Facts,
  { layout, training, schedule }: Sample,
  { gpusPerNode, nodes }: Pick<ClusterSpec, 'gpusPerNode' | 'nodes'>,
): Facts {
  const place = { file: 'launch', range: { start: 0, end: 1 } };
  const source = { kind: 'file', place, key: 'size' } as const;
  const set: Partial<FactValues> = {
    tensor: layout.tensor,
    pipeline: layout.pipeline,
    data: layout.data,
    context: layout.context,
    expert: layout.expert,
    virtualStages: layout.virtualStages,
    microBatch: training.microBatch,
    globalBatch: training.globalBatch,
    sequenceParallel: training.sequenceParallel,
    ...(layout.stageLayers === undefined ? {} : { stageLayers: layout.stageLayers }),
    ...(layout.expertTensor === undefined ? {} : { expertTensor: layout.expertTensor }),
    ...(facts.zeroStage === undefined && training.runtime !== 'deepspeed' ? {} : { zeroStage: training.zeroStage }),
    ...(training.runtime === 'torchtitan' ? { schedule } : {}),
    nodes,
    gpusPerNode,
  };
  const old: readonly FactName[] = ['layersPerVirtualStage', 'pipelineLayout', 'firstStageLayers', 'lastStageLayers', 'layersPerStage', 'totalStages', 'microBatches', 'gradientAccumulation', 'dataShard', 'dataReplicate', 'localBatch', 'world', 'expertTensor', 'schedule', 'batchSchedule', 'recomputeGranularity', 'recomputeMethod', 'recomputeLayers', 'recomputeModules']; // prettier-ignore
  const kept = Object.fromEntries(Object.entries(facts).filter(([name]) => !old.includes(name as FactName)));
  return { ...kept, ...Object.fromEntries(Object.entries(set).map(([name, value]): [string, Fact<unknown>] => [name, { value, source }])) };
}

/** What a model that a launcher names has. */
function known(values: Partial<FactValues>): Facts {
  const source = { kind: 'default', reason: sentence`the model has it` } as const;
  return Object.fromEntries(Object.entries(values).map(([name, value]): [string, Fact<unknown>] => [name, { value, source }]));
}

const errors = (findings: readonly Finding[]): string[] =>
  findings.filter(({ severity }) => severity === 'error').map(({ code, message }) => `${code}: ${say(message)}`);

/** A file with the model that it names or has, or else with the one that is drawn. */
async function loaded(name: string, model: object): Promise<LoadedConfig> {
  const read = (config: object | null) => loadConfig(name, files[name] ?? '', { read: reading(config), shell: shellReader });
  const withoutModel = await read(null);
  return withoutModel.run === null ? read(model) : withoutModel;
}

describe('the layouts that are searched', () => {
  it('have no error among the findings of any launcher, and nothing that a rule refuses', async function () {
    this.timeout(0);
    const [seen, refused] = [new Map<string, number>(), new Set<string>()];
    await fc.assert(
      fc.asyncProperty(launches, async ({ name, model, nodes, batch, zeroStage, seed }) => {
        const { run, launcher, model: joined, findings } = await loaded(name, model);
        assert.ok(run !== null && launcher !== null, name);
        const own = new Set(errors(findings));
        const stages = run.training.runtime?.value === 'deepspeed' ? [`training.zeroStage=${zeroStage}`] : [];
        const sets = [`cluster.nodes=${nodes}`, 'cluster.gpusPerNode=8', `training.globalBatch=${batch}`, ...stages];
        const open = { ...applyOverrides(run, sets), layout: {} };
        const request = resolveRun(open, node);
        const { tiedEmbeddings, heads, kvHeads, layers } = request.model;
        const facts = joined?.facts ?? known({ tiedEmbeddings, heads, kvHeads, layers });
        for (const sample of sampled(toSearchProblem(open, request, searchKeys), seed)) {
          const { layout, training } = sample;
          const launched = factsWith(launcher.facts, sample, request.cluster);
          const of = `${name} ${JSON.stringify({ layout, zeroStage: training.zeroStage, microBatch: training.microBatch })}`;
          const wrong = errors(launchFindings({ ...launcher, facts: launched }, facts));
          assert.deepEqual(wrong.filter((error) => !own.has(error)), [], of); // prettier-ignore
          seen.set(name, (seen.get(name) ?? 0) + 1);
          const deeper = { ...layout, pipeline: 2 * layout.pipeline, tensor: 2 * layout.tensor };
          const refusal = refusedTogether(request.capabilities, { ...deeper, zeroStage: training.zeroStage }, request.model);
          if (refusal === undefined) continue;
          refused.add(refusal.code);
          const found = launchFindings(
            { ...launcher, facts: factsWith(launcher.facts, { ...sample, layout: deeper }, request.cluster) },
            facts,
          );
          assert.ok(
            found.some(({ code }) => code === refusal.code),
            `${refusal.code} of ${of}`,
          );
        }
      }),
      { numRuns: cases(60, 1000) },
    );
    assert.ok(seen.size > 15, [...seen.keys()].join());
    assert.ok(refused.size > 0);
  });

  it('have no error among the findings of a terapipe.json under any runtime, named or assumed', async function () {
    this.timeout(0);
    const drawn = fc.record({
      runtime: fc.constantFrom(...runtimes),
      isNamed: fc.boolean(),
      tied: fc.boolean(),
      zeroStage: fc.constantFrom(0, 1, 2, 3),
      nodes: fc.constantFrom(1, 2, 4),
      seed: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ runtime, isNamed, tied, zeroStage, nodes, seed }) => {
        const model = { layers: 24, hidden: 2048, heads: 16, kvHeads: 8, ffn: 8192, vocab: 32_000, tiedEmbeddings: tied };
        const training = { sequenceLength: 4096, globalBatch: 64, zeroStage, ...(isNamed ? { runtime } : {}) };
        const text = JSON.stringify({ model, training, cluster: { gpu: 'H100-80GB', nodes } });
        const { run } = await loadConfig('terapipe.json', text, { read: reading(null), shell: shellReader });
        assert.ok(run !== null);
        const request = resolveRun(run, isNamed ? node : { ...node, runtime });
        const first = { ...request.layout, zeroStage: request.training.zeroStage };
        assert.equal(refusedTogether(request.capabilities, first, request.model), undefined, JSON.stringify(first));
        const sizes = ['tensor', 'pipeline', 'data', 'context', 'virtualStages'] as const;
        for (const { layout, training: chosen } of sampled(toSearchProblem(run, request, sizes), seed)) {
          const cut = layout.stageLayers === undefined ? [] : [`layout.stageLayers=${JSON.stringify(layout.stageLayers)}`];
          const sets = [...sizes.map((key) => `layout.${key}=${layout[key]}`), ...cut, `training.microBatch=${chosen.microBatch}`];
          assert.deepEqual(errors(runFindings(applyOverrides(run, sets), null)), [], JSON.stringify({ runtime, layout, zeroStage }));
          assert.equal(refusedTogether(request.capabilities, { ...layout, zeroStage: chosen.zeroStage }, request.model), undefined);
        }
      }),
      { numRuns: cases(40, 1000) },
    );
  });
});

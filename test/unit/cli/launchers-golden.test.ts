import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { runCommand } from '../../../src/cli/run-command';

const shared = path.resolve(import.meta.dirname, '../../../../shared');

type Section = Readonly<Record<string, unknown>>;
interface Inspected {
  readonly format: string;
  readonly model: Section;
  readonly layout: Section;
  readonly training: Section;
  readonly cluster: Section;
  readonly schedule: unknown;
  readonly placeholders: readonly string[];
}

/** Where `inspect --json` says what the rows of golden/configs.json expect. */
const paths: Readonly<Record<string, (answer: Inspected) => unknown>> = {
  layers: ({ model }) => model['layers'],
  hidden: ({ model }) => model['hidden'],
  heads: ({ model }) => model['heads'],
  kv_heads: ({ model }) => model['kvHeads'],
  ffn: ({ model }) => model['ffn'],
  experts: ({ model }) => model['experts'],
  topk: ({ model }) => model['activeExperts'],
  moe_topk: ({ model }) => model['activeExperts'],
  moe_ffn: ({ model }) => model['expertFfn'],
  moe_layer_freq: ({ model }) => model['moeLayerFrequency'],
  mla: ({ model }) => model['latentAttention'],
  mtp: ({ model }) => model['mtpLayers'],
  hybrid_pattern: ({ model }) => model['hybridPattern'],
  model: ({ model }) => model['modelType'],
  flavor: ({ model }) => model['flavor'],
  tp: ({ layout }) => layout['tensor'],
  pp: ({ layout }) => layout['pipeline'],
  cp: ({ layout }) => layout['context'],
  ep: ({ layout }) => layout['expert'],
  etp: ({ layout }) => layout['expertTensor'],
  vpp: ({ layout }) => layout['virtualStages'],
  virtual_stages: ({ layout }) => layout['virtualStages'],
  layers_per_virtual_stage: ({ layout }) => layout['layersPerVirtualStage'],
  layout: ({ layout }) => layout['pipelineLayout'],
  first_stage_layers: ({ layout }) => layout['firstStageLayers'],
  last_stage_layers: ({ layout }) => layout['lastStageLayers'],
  dp: ({ layout }) => layout['data'],
  dp_replicate: ({ layout }) => layout['dataReplicate'],
  dp_shard: ({ layout }) => layout['dataShard'],
  world: ({ cluster }) => cluster['world'],
  seq: ({ training }) => training['sequenceLength'],
  micro_batch: ({ training }) => training['microBatch'],
  local_batch: ({ training }) => training['localBatch'],
  global_batch: ({ training }) => training['globalBatch'],
  train_batch: ({ training }) => training['globalBatch'],
  num_microbatches: ({ training }) => training['microBatches'],
  grad_accum: ({ training }) => training['gradientAccumulation'],
  sequence_parallel: ({ training }) => training['sequenceParallel'],
  recompute_granularity: ({ training }) => training['recomputeGranularity'],
  recompute_method: ({ training }) => training['recomputeMethod'],
  recompute_modules: ({ training }) => training['recomputeModules'],
  recompute: ({ training }) => training['recompute'],
  recompute_option: ({ training }) => training['recomputeOption'],
  optimizer: ({ training }) => training['optimizer'],
  dist_opt: ({ training }) => training['distributedOptimizer'],
  zero_stage: ({ training }) => training['zeroStage'],
  schedule: ({ schedule }) => schedule,
  placeholders: ({ placeholders }) => placeholders,
};

/** Expected only in words, or of the fixture rather than of the file. */
const notFacts = new Set(['note', 'vocab', 'expected_diagnostic', 'valid_json', 'activation_checkpointing']);

interface Case {
  readonly id: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

describe('terapipe inspect on launchers', () => {
  const file = path.join(shared, 'golden/configs.json');
  const cases = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { cases: readonly Case[] }).cases : [];
  const launchers = cases.filter(({ id }) => /^configs\/(nemo|megatron|torchtitan|deepspeed)/.test(id) && !id.endsWith('.csv'));

  it('gives every fact that the golden rows expect', async function () {
    if (launchers.length === 0) {
      console.log('      skipped: no ../shared here');
      this.skip();
    }
    const wrong: string[] = [];
    for (const { id, expected } of launchers) {
      let out = '';
      const exitCode = await runCommand(['inspect', path.join(shared, id), '--json'], {
        out: (text) => void (out += text),
        err: (text) => void (out += text),
        clock: () => 0,
        now: () => '',
        ...{ progress: () => undefined, status: () => undefined },
        signal: new AbortController().signal,
        profilerFile: '',
        shell: () => Promise.reject(new Error('no shell here')),
        debug: true,
      });
      assert.equal(exitCode, 0, `${id}: ${out}`);
      const answer = JSON.parse(out) as Inspected;
      for (const [key, value] of Object.entries(expected)) {
        if (notFacts.has(key)) continue;
        if (key === 'precision') {
          const names = Array.isArray(value) ? value : [value];
          if (names.length > 0 && !names.includes(answer.training['precision']))
            wrong.push(`${id} precision ${String(answer.training['precision'])}`);
          continue;
        }
        const read = paths[key];
        assert.ok(read, `${id}: no path for ${key}`);
        const given = read(answer) ?? null;
        // Launchers refuse a batch that is no whole number of micro-batches; the row has the fraction.
        const fraction = key === 'num_microbatches' && typeof value === 'number' && !Number.isInteger(value);
        if (!fraction && JSON.stringify(given) !== JSON.stringify(value))
          wrong.push(`${id} ${key}: ${JSON.stringify(given)}, not ${JSON.stringify(value)}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
});

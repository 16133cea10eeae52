import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Facts, FactName } from '../../../../../src/core/config/facts';
import { recogniseYaml, yamlReaders } from '../../../../../src/core/config/yaml';
import { entryAt, parseYaml } from '../../../../../src/core/config/yaml/yaml-document';

const shared = path.join(import.meta.dirname, '../../../../../../shared');

interface GoldenCase {
  readonly id: string;
  readonly format: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

/** What the golden rows call our facts. */
const names: Readonly<Record<string, FactName>> = {
  layers: 'layers',
  hidden: 'hidden',
  heads: 'heads',
  kv_heads: 'kvHeads',
  ffn: 'ffn',
  seq: 'sequenceLength',
  tp: 'tensor',
  pp: 'pipeline',
  vpp: 'virtualStages',
  virtual_stages: 'virtualStages',
  cp: 'context',
  ep: 'expert',
  etp: 'expertTensor',
  layers_per_virtual_stage: 'layersPerVirtualStage',
  layout: 'pipelineLayout',
  first_stage_layers: 'firstStageLayers',
  last_stage_layers: 'lastStageLayers',
  micro_batch: 'microBatch',
  global_batch: 'globalBatch',
  recompute_granularity: 'recomputeGranularity',
  recompute_method: 'recomputeMethod',
  recompute_modules: 'recomputeModules',
  sequence_parallel: 'sequenceParallel',
  dist_opt: 'distributedOptimizer',
  precision: 'precision',
  experts: 'experts',
  moe_topk: 'activeExperts',
  topk: 'activeExperts',
  moe_ffn: 'expertFfn',
  moe_layer_freq: 'moeLayerFrequency',
  mla: 'latentAttention',
  mtp: 'mtpLayers',
  hybrid_pattern: 'hybridPattern',
  optimizer: 'optimizer',
};

/** Follow from facts above, or are said in words. */
const derived = ['world', 'dp', 'num_microbatches', 'vocab', 'note', 'expected_diagnostic'];

function goldenCases(): readonly GoldenCase[] | null {
  const file = path.join(shared, 'golden/configs.json');
  if (!existsSync(file)) return null;
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: GoldenCase[] };
  return cases.filter(({ id }) => id.endsWith('.yaml'));
}

function valueOf(facts: Facts, name: FactName): unknown {
  return facts[name]?.value ?? null;
}

function worldOf({ nodes, gpusPerNode }: Facts): number | undefined {
  return nodes && gpusPerNode && nodes.value * gpusPerNode.value;
}

describe('YAML launcher files of public projects', () => {
  const cases = goldenCases();

  before(function () {
    if (cases !== null) return;
    console.log('      skipped: ../shared is not here');
    this.skip();
  });

  it('are all here', () => {
    assert.equal(cases?.length, 11);
  });

  for (const { id, format, expected } of cases ?? []) {
    const text = readFileSync(path.join(shared, id), 'utf8');

    it(`give every expected fact: ${path.basename(id)}`, () => {
      const found = recogniseYaml(text);
      assert.equal(found, format);
      const { facts, remarks } = yamlReaders[found](id, text);
      for (const [key, value] of Object.entries(expected)) {
        if (derived.includes(key)) continue;
        const name = names[key];
        assert.ok(name, `${key} is no fact`);
        assert.deepEqual(valueOf(facts, name), value, key);
      }
      if ('world' in expected) assert.equal(worldOf(facts), expected['world']);
      if (expected['vocab'] === 'from tokenizer') assert.equal(facts.vocab, undefined);
      assert.deepEqual(
        remarks.filter(({ severity }) => severity === 'error'),
        [],
      );
    });

    it(`locate every fact, and lose no comment with it: ${path.basename(id)}`, () => {
      const { facts } = yamlReaders[recogniseYaml(text)!](id, text);
      const read = Object.values(facts).filter(({ source }) => source.kind === 'file');
      assert.ok(read.length >= 5);
      for (const { name, source, whole } of read) {
        assert.ok(source.kind === 'file' && name !== undefined && whole !== undefined, name);
        const line = text.slice(text.lastIndexOf('\n', source.place.range.start) + 1, source.place.range.end);
        assert.equal(line, `${line.slice(0, line.indexOf(':'))}: ${text.slice(source.place.range.start, source.place.range.end)}`);
        assert.equal(line.slice(0, line.indexOf(':')).trim(), name.split('.').at(-1));
        const rest = text.slice(0, whole.start) + text.slice(whole.end);
        assert.equal(rest.split('\n').length, text.split('\n').length - 1);
        const path = (format === 'megatron-yaml' ? `MODEL_ARGS.${name}` : name).split('.');
        assert.ok(entryAt(parseYaml(id, text).root, path));
        assert.equal(entryAt(parseYaml(id, rest).root, path), null);
      }
    });
  }
});

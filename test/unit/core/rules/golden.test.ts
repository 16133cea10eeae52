import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { FactName } from '../../../../src/core/run/facts';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import type { Finding } from '../../../../src/core/findings';
import { crossFindings } from '../../../../src/core/rules/launchers/cross-findings';
import { launchFindings } from '../../../../src/core/rules/launch-findings';
import { rules as table } from '../../../../src/core/rules/table';
import { scheduleCsvFindings } from '../../../../src/core/rules/launchers/schedule-csv';
import { golden } from '../../../golden/data';
import { codesOf, launcherOf } from './launcher';
import { say } from '../../../../src/core/sentence';

type Example = Readonly<Record<string, unknown>>;

interface GoldenRule {
  readonly id: string;
  readonly severity: string;
  readonly formats: readonly string[];
  readonly example: { readonly bad: Example; readonly ok: Example };
}

/**
 * What the keys of the examples are called here. `format` is the launcher, `expect_padded` what the message contains, `csv_rows` the rows
 * of the schedule file.
 */
const names: Readonly<Record<string, FactName>> = {
  layers: 'layers', hidden: 'hidden', heads: 'heads', kv_heads: 'kvHeads', vocab: 'vocab', div: 'vocabDivisor', experts: 'experts',
  tp: 'tensor', pp: 'pipeline', dp: 'data', cp: 'context', ep: 'expert', etp: 'expertTensor', world: 'world', sp: 'sequenceParallel',
  first: 'firstStageLayers', last: 'lastStageLayers', vpp: 'virtualStages', layers_per_virtual_stage: 'layersPerVirtualStage', overlap_p2p: 'overlapP2p',
  first_less: 'firstStageLessLayers', last_less: 'lastStageLessLayers', layers_per_stage: 'layersPerStage', stages_per_rank: 'virtualStages', schedule: 'schedule',
  seq: 'sequenceLength', m: 'microBatches', global_batch: 'globalBatch', train_batch: 'globalBatch', micro_batch: 'microBatch', micro: 'microBatch', gas: 'gradientAccumulation',
  zero: 'zeroStage', granularity: 'recomputeGranularity', num_layers: 'recomputeLayers', attention: 'attention', cpu_offloading: 'cpuOffloading', variable_seq: 'variableSequenceLengths',
  num_key_value_heads: 'kvHeads', num_query_groups: 'kvHeads',
}; // prettier-ignore

const { rules } = golden('launch-rules') as { readonly rules: readonly GoldenRule[] };

/**
 * Rules of the reference whose premise is wrong: Megatron-LM's stages send each other the shapes of variable sequences
 * (p2p_communication.py 327 and schedules.py 2131 at d98e8a64).
 */
const withdrawn: ReadonlySet<string> = new Set(['variable-seq-pp']);

describe('golden diagnostics', () => {
  /** Formats that the reference knows; others are held to the same rules by their traits. */
  const known = new Set<string>(rules.flatMap(({ formats }) => formats));

  it('are all here', () => {
    assert.equal(rules.length, 30);
  });

  for (const rule of rules.filter(({ id }) => !withdrawn.has(id))) {
    it(`${rule.id}: flags the bad example and not the other`, () => {
      const [bad, ok] = [findingsOf(rule, rule.example.bad), findingsOf(rule, rule.example.ok)];
      const found = bad.filter(({ code }) => code === rule.id);
      assert.equal(found.length, 1, codesOf(bad).join());
      assert.ok(!codesOf(ok).includes(rule.id), ok.map(({ message }) => say(message)).join());
      if (found[0]?.severity !== 'error') assert.equal(found[0]?.severity, severityOf(rule.severity));
      const padded = rule.example.bad['expect_padded'];
      if (typeof padded === 'number') assert.ok(say(found[0].message).includes(padded.toLocaleString('en-US')));
    });

    if (!['two-files-disagree', 'tt-schedule-csv'].includes(rule.id))
      it(`${rule.id}: holds for the same launchers`, () => {
        const ours = table.find(({ code }) => code === rule.id);
        assert.deepEqual((ours?.formats ?? []).filter((format) => known.has(format)).sort(), [...rule.formats].sort());
      });
  }
});

function severityOf(written: string): string {
  return written === 'hint' || written === 'info' ? 'information' : written;
}

function findingsOf(rule: GoldenRule, example: Example): Finding[] {
  const format = (example['format'] ?? rule.formats[0]) as LauncherFormat;
  if (rule.id === 'two-files-disagree') {
    const sides = [example['launcher'], example['hf']].map((side) => valuesOf(rule, side as Example));
    return crossFindings(launcherOf(sides[0]!, 'nemo'), launcherOf(sides[1]!, 'nemo', 'config.json'));
  }
  const launcher = launcherOf(valuesOf(rule, example), format);
  const rows = example['csv_rows'];
  if (typeof rows !== 'number') return launchFindings(launcher);
  const text = Array.from({ length: rows }, (_, rank) => `${rank}F0,${rank}B0\n`).join('');
  return scheduleCsvFindings(launcher, { file: 'schedule.csv', text });
}

function valuesOf({ id }: GoldenRule, example: Example): Record<string, unknown> {
  const values = Object.entries(example).flatMap(([key, value]) => {
    if (['format', 'expect_padded'].includes(key)) return [];
    if (key === 'csv_rows') return [['scheduleCsv', 'schedule.csv']];
    const name = key === 'method' ? (id === 'recompute-granularity' ? 'recomputeMethod' : 'partitionMethod') : names[key];
    assert.ok(name, `${id} speaks of ${key}`);
    return [[name, value]];
  });
  return Object.fromEntries(values) as Record<string, unknown>;
}

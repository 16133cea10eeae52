import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { sliceExports } from '../../../../../src/core/export/slices/registry';
import { megatronFlags } from '../../../../../src/core/launchers/megatron/written-keys';
import { modelFlags } from '../../../../../src/core/launchers/megatron/model-flags';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { findSliceRuntime } from '../../../../../src/core/slice-runtimes/registry';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { plannedModel } from '../../../../corpus/round-trip';
import { golden } from '../../../../golden/data';
import { loadRun } from '../../../../load-run';
import { shellReader } from '../../launchers/shell/shell-reader';

const root = path.join(import.meta.dirname, '../../../../..');
const folder = path.join(root, 'test/fixtures/launchers/slices/flags');

/** Flags of a runtime at the version in its head, with their choices. */
function readArguments(id: string): ReadonlyMap<string, readonly string[]> {
  const rows = readFileSync(path.join(folder, `${id}.txt`), 'utf8')
    .trim()
    .split('\n')
    .slice(1);
  return new Map(rows.map((row) => row.split(' ')).map(([flag = '', ...choices]) => [flag, choices]));
}

const ids = readdirSync(folder).map((name) => path.basename(name, '.txt'));

/** Words of Slurm, torchrun and patterns in the same files, and flags that are only edited where a file of a fork has them. */
const others = /^(?:job-name|nodes|gpus-per-node|ntasks-per-node|exclusive|max-position|noop-layers|num-layer-list|zero-stage)$/;

/** Files of `megatron` whose flags a new script may have. */
const writers = /^(?:new-script|model-flags|hybrid-flags|.*-parts|plan-settings|slice-settings)\.ts$/;

/** Flags that a script may be written with. */
function writableFlags(): readonly string[] {
  const launcher = path.join(root, 'src/core/launchers/megatron');
  const sources = readdirSync(launcher).filter((name) => writers.test(name));
  const literal = sources.flatMap((name) =>
    [...readFileSync(path.join(launcher, name), 'utf8').matchAll(/(?:--|valued\(')([a-z][a-z0-9-]+)/g)].map(([, flag = '']) => flag),
  );
  const named = Object.values(megatronFlags).map(([flag = '']) => flag.replace(/^--/, ''));
  return [...new Set([...literal, ...named])].filter((flag) => !others.test(flag));
}

describe('flags for runtimes of slices', () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  it('are known to the runtime, or known to be missing', () => {
    for (const id of ids) {
      const own = readArguments(id);
      const { lacks, spells, takes, splits, rule, lengths } = findSliceRuntime(id)!;
      for (const flag of writableFlags())
        assert.ok(
          own.has(spells[flag] ?? flag) || Object.hasOwn(lacks, flag),
          `${id}: --${flag} is neither in its arguments nor in \`lacks\``,
        );
      for (const [flag, values] of Object.entries(takes))
        for (const value of values) assert.ok(own.get(flag)?.includes(value), `${id}: ${value}`);
      const words = [...Object.values(rule?.words ?? {}), ...(rule?.unread ?? []), ...[lengths?.word ?? []].flat()];
      assert.ok(own.has(splits.flag) && (lengths === null || own.has(lengths.flag)), id);
      for (const word of words) assert.ok(rule === null || own.get(rule.flag)?.includes(word), `${id}: ${word}`);
    }
  });

  it('are those of every model that is written', () => {
    const writable = new Set(writableFlags());
    const { cases } = golden('transformers-parameters') as { readonly cases: readonly { readonly config: object }[] };
    const flags = cases.flatMap(({ config }) => {
      const model = plannedModel(JSON.stringify(config));
      return model === null ? [] : modelFlags(model).map((written) => /^--([\w-]+)/.exec(written)?.[1] ?? written);
    });
    assert.deepEqual(
      [...new Set(flags)].filter((flag) => !writable.has(flag)),
      [],
    );
    assert.ok(new Set(flags).size > 30, 'models of many kinds');
  });

  it('and their values are taken by the arguments of each runtime, in a script of GPT-3', async () => {
    const config = readFileSync(path.join(root, 'media/samples/gpt3-175b/config.json'), 'utf8');
    const given = {
      model: 'config.json',
      cluster: { gpu: 'A100-80GB', nodes: 12, gpusPerNode: 8 },
      training: { sequenceLength: 2048, microBatch: 1, globalBatch: 8, precision: 'bf16', attention: 'flash' },
      layout: { tensor: 8, pipeline: 12, data: 1 },
      slicing: { scheme: Array.from({ length: 8 }, () => [1, [640, 512, 512, 384]]) },
      schedule: 'Seq1F1B',
    };
    const run = await loadRun('terapipe.json', JSON.stringify(given), () => Promise.resolve({ file: 'config.json', text: config }));
    const plan = makePlan(resolveRun(run, { gpu: 'A100-80GB', nodes: null, gpusPerNode: null }));
    for (const id of ids.filter((each) => each !== 'zero-bubble')) {
      const { text } = await sliceExports.find((each) => each.id === id)!.write(plan, () => Promise.resolve(read));
      const written = [...text.matchAll(/^ {2}--([\w-]+)(?: ([^\s#"]+))?/gm)].filter(([line]) => !line.startsWith('  --rdzv'));
      assert.ok(written.length > 25, id);
      const own = readArguments(id);
      for (const [, flag = '', value = ''] of written) {
        const choices = own.get(flag);
        assert.ok(choices !== undefined, `${id} has no --${flag}`);
        assert.ok(choices.length === 0 || choices.includes(value), `${id}: --${flag} ${value}`);
      }
      assert.match(text, new RegExp(`a clone of ${findSliceRuntime(id)?.version ?? ''},`));
      assert.match(text, /--save-interval \d/);
    }
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'mocha';
import { applyEdits } from 'jsonc-parser';
import { configError } from '../../../../src/core/errors';
import type { LauncherReader } from '../../../../src/core/run/facts';
import type { Run } from '../../../../src/core/run/run';
import { changeJson } from '../../../../src/core/terapipe/change-json';
import type { WhatIfSet } from '../../../../src/core/layout-search/what-if';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { loadReader } from '../../../../src/core/config-files/readers';
import { isLauncher } from '../../../../src/core/launchers/registry';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { withSizes } from '../../../../src/core/plan-request/with-sizes';
import { sentence } from '../../../../src/core/sentence';
import { newConfigText } from '../../../../src/host/sessions/new-config';
import { newLauncherConfigText } from '../../../../src/host/sessions/new-launcher-config';
import { launcherEdits, overridesForNewFile } from '../../../../src/host/sessions/written-sizes';
import { shellReader } from '../../core/launchers/shell/shell-reader';
import { testHost, uri } from '../test-host';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;
const fixture = (name: string): string => readFileSync(new URL(`../../../fixtures/launchers/${name}`, import.meta.url), 'utf8');

const megatron = (flags: string): string => `#!/bin/bash
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 4 --global-batch-size 32 \\
  --seq-length 1024 --max-position-embeddings 4096 --num-layers 8 --hidden-size 1024 --num-attention-heads 16 ${flags} \\
  --bf16 --use-distributed-optimizer --swiglu --position-embedding-type rope
`;
const full = '--recompute-granularity full --recompute-method uniform --recompute-num-layers 1';

const files: Readonly<Record<string, string>> = {
  'none.sh': megatron(''),
  'full.sh': megatron(full),
  'selective.sh': megatron('--recompute-granularity selective'),
  'experts.sh': megatron(`--num-experts 8 --moe-router-topk 2 --expert-model-parallel-size 2 ${full}`),
  'train.toml': fixture('torchtitan-2025.toml')
    .replace('local_batch_size = 16', 'local_batch_size = 4')
    .replace('global_batch_size = 128', 'global_batch_size = 32'),
  'nanotron.yaml': fixture('nanotron.yaml'),
  'gpt-neox.yml': fixture('gpt-neox.yml'),
  'overrides.sh': fixture('trainer-overrides.sh'),
  'config.json': JSON.stringify({
    model_type: 'llama',
    num_hidden_layers: 32,
    hidden_size: 4096,
    intermediate_size: 14336,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    vocab_size: 128256,
    max_position_embeddings: 4096,
  }),
};

const tries: readonly (readonly WhatIfSet[])[] = [
  [['training.recompute', null]],
  [['training.microBatch', null]],
  [
    ['training.recompute', null],
    ['training.microBatch', null],
  ],
  [['training.recompute', 'none']],
  [['training.recompute', 'full']],
  [['training.microBatch', 2]],
  [['schedule', null]],
  [
    ['schedule', '1F1B'],
    ['training.recompute', 'full'],
  ],
];

describe('what was tried, written', () => {
  let read: LauncherReader;
  const host = testHost({});
  before(async () => {
    read = await shellReader();
  });
  after(() => host.sessions.dispose());

  /** @param hasModelConfig whether the model's config.json is in the same folder. */
  const load = (name: string, text: string, hasModelConfig: boolean): Promise<LoadedConfig> =>
    loadConfig(uri(name), text, {
      shell: () => Promise.resolve(read),
      read: (from, path) => {
        const model = files[path];
        if (hasModelConfig && model !== undefined) return Promise.resolve({ file: uri(path), text: model });
        return Promise.reject(
          configError('config-not-found', sentence`There is no such file`, sentence`fix the path`, {
            file: from,
            range: { start: 0, end: 0 },
          }),
        );
      },
    });
  const planOf = (run: Run): Plan => makePlan(resolveRun(run, defaults));

  /** As the session of a page has it written. */
  async function written(name: string, loaded: LoadedConfig, sets: readonly WhatIfSet[], plan: Plan): Promise<readonly [string, string]> {
    const { launcher } = loaded;
    const run = loaded.run ?? assert.fail();
    const text = files[name] ?? assert.fail();
    const isOwn = launcher !== null && isLauncher(launcher.format);
    const reread = isOwn ? await loadReader(launcher.format, () => Promise.resolve(read)) : null;
    const edits = await launcherEdits({ launcher, reread }, sets, plan);
    if (edits !== null)
      return [
        name,
        applyEdits(
          text,
          edits.map(({ place: { range }, newText }) => ({ offset: range.start, length: range.end - range.start, content: newText })),
        ),
      ];
    void host.sessions.ensure(uri(name), 'megatron-shell').catch(() => undefined);
    const session = { ...(host.sessions.get(uri(name)) ?? assert.fail()), launcher, run };
    const created =
      launcher === null ? newConfigText(name, run, defaults) : (newLauncherConfigText(session, uri('terapipe.json'), defaults) ?? '');
    const changes = overridesForNewFile(run, sets, plan).map(([key, value]) => ({ path: key.split('.'), value: value ?? undefined }));
    const replacement = changeJson(created, changes);
    return ['terapipe.json', replacement === null ? created : created.slice(0, replacement.start) + replacement.newText + created.slice(replacement.end)]; // prettier-ignore
  }

  for (const name of Object.keys(files))
    it(`is planned as it was previewed: ${name}`, async () => {
      const loaded = await load(name, files[name] ?? '', false);
      const ways = new Set<string>();
      for (const sets of tries) {
        const plan = planOf(withSizes(loaded.run ?? assert.fail(), sets));
        const [file, text] = await written(name, loaded, sets, plan);
        ways.add(file);
        const again = planOf((await load(file, text, name === 'config.json')).run ?? assert.fail());
        const what = `${JSON.stringify(sets)} in ${file}`;
        const [wanted, got] = [chosenCandidate(plan), chosenCandidate(again)];
        assert.equal(got.schedule, wanted.schedule, what);
        assert.ok(
          Math.abs(got.iterationMs - wanted.iterationMs) <= 1e-9 * wanted.iterationMs,
          `${what}: ${wanted.iterationMs} ms, ${got.iterationMs} ms`,
        );
        assert.equal(again.request.training.recompute, plan.request.training.recompute, what);
        assert.equal(again.request.training.microBatch, plan.request.training.microBatch, what);
      }
      if (/^(?:none|full|selective|experts)/.test(name)) assert.deepEqual([...ways].sort(), [name, 'terapipe.json'].sort());
    });
});

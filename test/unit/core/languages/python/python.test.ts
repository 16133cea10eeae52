import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import type { Facts } from '../../../../../src/core/run/facts';
import { toYamlDocument } from '../../../../../src/core/languages/python/as-settings';
import { evaluateFunction } from '../../../../../src/core/languages/python/evaluate';
import { parsePython } from '../../../../../src/core/languages/python/module';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { environmentOnly } from '../../../../../src/core/languages/yaml/references';
import { readSettings } from '../../../../../src/core/launchers/tables/settings';
import { say, sentence } from '../../../../../src/core/sentence';

const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../../fixtures/launchers', name), 'utf8');

/** Loads the first of some files, which lie in a workspace together. */
async function load(files: Readonly<Record<string, string>>): Promise<LoadedConfig> {
  const [[file, text] = ['', '']] = Object.entries(files);
  const read = (from: string, written: string) => {
    const found = path.posix.join(path.posix.dirname(from), written);
    const content = files[found];
    if (content === undefined)
      return Promise.reject(new ExpectedError('config-not-found', sentence`There is no such file`, sentence`fix the path`));
    return Promise.resolve({ file: found, text: content });
  };
  return loadConfig(file, text, { read, shell: () => Promise.reject(new Error('no script')) });
}

function valuesOf(facts: Facts | undefined, ...names: readonly (keyof Facts)[]): unknown[] {
  return names.map((name) => facts?.[name]?.value);
}

/** What a function `f` of a text returns, as settings. */
function settingsIn(text: string): Record<string, unknown> | null {
  const own = parsePython({ file: 'a.py', text });
  const result = evaluateFunction([own], own, 'f');
  if (result === null) return null;
  return Object.fromEntries([...readSettings(toYamlDocument(own, [], result), environmentOnly)].map(([name, { value }]) => [name, value]));
}

describe('a config registry of TorchTitan', () => {
  const registry = 'torchtitan/models/llama3/config_registry.py';
  const text = fixture('config_registry.py');

  it('is read for its first config, and reports it', async () => {
    const { launcher, run, findings } = await load({ [registry]: text });
    assert.deepEqual(valuesOf(launcher?.facts, 'modelType', 'flavor', 'sequenceLength', 'localBatch', 'recomputeOption', 'tensor'), ['llama3', 'debugmodel', 2048, 4, 'op', undefined]); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [6]);
    const picked = findings.find(({ code }) => code === 'config-of-module');
    assert.ok(picked !== undefined && say(picked.message).includes('ours_tiny') && say(picked.remedy).includes('ours_8b'));
    const [fix] = picked.fixes;
    assert.equal(fix?.edits[0]?.newText, '# terapipe-config: ours_8b\n');
  });

  it('is read for the config that a comment names, over the one that it changes', async () => {
    const chosen = `# terapipe-config: ours_8b\n${text}`;
    const { launcher, run, findings } = await load({ [registry]: chosen });
    assert.deepEqual(valuesOf(launcher?.facts, 'flavor', 'precision', 'sequenceLength', 'microBatch', 'localBatch', 'tensor', 'pipeline', 'context', 'dataShard', 'schedule', 'compile', 'recomputeGranularity'),
      ['8B', 'fp8', 6144, 3, 3, 4, 3, undefined, -1, '1F1B', true, 'full']); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [32]);
    // an edit of the comment, not a second one
    const [edit] = findings.find(({ code }) => code === 'config-of-module')?.fixes[0]?.edits ?? [];
    assert.equal(chosen.slice(edit?.place.range.start, edit?.place.range.end), '# terapipe-config: ours_8b');
    const { source } = launcher!.facts.tensor!;
    assert.ok(source.kind === 'file' && chosen.slice(source.place.range.start, source.place.range.end) === '4');
  });
});

describe('a recipe of Megatron-Bridge', () => {
  const recipe = 'src/megatron/bridge/recipes/ours/h100/ours.py';
  const common = `def _ours_common() -> ConfigContainer:
    cfg = ConfigContainer(
        train=TrainingConfig(global_batch_size=32, micro_batch_size=2),
        ddp=DistributedDataParallelConfig(overlap_grad_reduce=False, use_distributed_optimizer=True),
        dataset=GPTDatasetConfig(seq_length=4096),
        mixed_precision="bf16_mixed",
    )
    return cfg
`;
  const files = { [recipe]: fixture('recipes/bridge.py'), 'src/megatron/bridge/recipes/ours_common.py': common };

  it('is read over the functions that it calls, in the files that it imports them from', async () => {
    const { launcher, run, findings } = await load(files);
    assert.deepEqual(valuesOf(launcher?.facts, 'globalBatch', 'microBatch', 'sequenceLength', 'tensor', 'pipeline', 'virtualStages', 'precision', 'distributedOptimizer', 'overlapGradReduce'),
      [48, 2, 3072, 2, 3, undefined, 'fp8', true, true]); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [36]);
    assert.ok(!findings.some(({ code }) => code === 'base-not-found'));
  });

  it('takes arguments and their defaults through calls', async () => {
    const { launcher } = await load({ ...files, [recipe]: `# terapipe-config: ours_8b_sft_config\n${fixture('recipes/bridge.py')}` });
    assert.deepEqual(valuesOf(launcher?.facts, 'microBatch', 'pipeline', 'precision'), [1, 1, 'bf16']);
  });

  it('names which module is missing', async () => {
    const { findings } = await load({ [recipe]: fixture('recipes/bridge.py') });
    assert.deepEqual(findings.filter(({ code }) => code === 'base-not-found').map(({ message }) => say(message)), ['"megatron.bridge.recipes.ours_common" is missing, so its settings are unknown']); // prettier-ignore
  });
});

describe('Python that is followed, not run', () => {
  it('evaluates to plain values', () => {
    const body = `
N = 4
def f():
    a, b = (1, 2)
    c = C(x=N * 2, y=-3, z=7 // 2, t=1_000, s="a" "b", l=[a, b], n=None, u=other(), **{"k": a if N > 3 else b})
    c.d["e"] = "q" in ["p", "q"]
    c.z += 1
    if unknown:
        c.x = 1
    elif N == 4:
        c.w = 5
    for i in range(3):
        c.t = i
    d = copy.deepcopy(c)
    c.y = 0
    with open("x") as g:
        d.v = not N
    return d
`;
    assert.deepEqual(settingsIn(body), { _target_: 'C', y: -3, s: 'ab', l: [1, 2], k: 1, 'd.e': true, v: false });
  });

  it('ends for what is endless, and leaves out what is too large', () => {
    const calls = 'def f():\n    return f()\n';
    assert.equal(settingsIn(calls), null);
    assert.deepEqual(settingsIn('def f():\n    a = A()\n    a.a = a\n    a.n = 3\n    return copy.deepcopy(a)\n')?.['n'], 3);
    const doubled = Array.from({ length: 40 }, (_, at) => `    n = N(l=n, r=n, at=${at})\n`).join('');
    assert.ok(Object.keys(settingsIn(`def f():\n    n = N()\n${doubled}    return n\n`) ?? {}).length <= 10_000);
    const strings = '    s = s + s\n'.repeat(60);
    assert.equal(settingsIn(`def f():\n    s = "ab"\n${strings}    return A(s=s, n=4)\n`)?.['n'], 4);
    const lists = '    l = [l, l, l, l, l, l, l, l]\n'.repeat(11);
    assert.equal(settingsIn(`def f():\n    l = [1]\n${lists}    return A(n=4, l=l)\n`)?.['n'], 4);
    assert.equal(settingsIn(`X = X\ndef f():\n    return A(n=X)\n`)?.['n'], undefined);
    const chains = [`1${'\n+1'.repeat(2000)}`, `a${'\n.b'.repeat(300)}`, '('.repeat(150) + '1' + ')'.repeat(150)];
    for (const chain of chains) assert.equal(settingsIn(`def f():\n    return A(n=2, m=(${chain}))\n`)?.['n'], 2);
    assert.doesNotThrow(() => settingsIn(`def f():\n    return A(m=(a${'\n.b'.repeat(9000)}))\n`));
    const indented = Array.from({ length: 700 }, (_, at) => `${' '.repeat(at + 1)}if True:\n`).join('');
    assert.doesNotThrow(() => settingsIn(`def f():\n${indented}${' '.repeat(701)}pass\n return A(n=1)\n`));
  });

  it('refuses what would take the parser long', () => {
    const codeOf = (text: string): string | null => {
      try {
        parsePython({ file: 'a.py', text });
      } catch (error) {
        return error instanceof ExpectedError ? error.code : String(error);
      }
      return null;
    };
    assert.equal(codeOf('x = 1\n'.repeat(100_000)), 'config-too-large');
    assert.equal(codeOf('x = 1\n'.repeat(16_000)), 'config-too-large');
    assert.equal(codeOf(`x = ${'a'.repeat(5000)}.b\n`), 'config-too-large');
    for (const deep of ['('.repeat(1000), 'not '.repeat(900), 'lambda: '.repeat(400), '-'.repeat(900)])
      assert.equal(codeOf(`x = ${deep}1\n`), 'config-too-deep', deep.slice(0, 10));
    assert.equal(codeOf('a = 1\n'.repeat(9000)), null);
  });

  it('takes broken text for what is whole in it', () => {
    assert.deepEqual(settingsIn('x = = 3\nclass\ndef f():\n    return A(n=2)\ndef g(:\n'), { _target_: 'A', n: 2 });
    for (const text of ['', 'def', 'def f(', 'from', 'from a import', 'f = = 2', '@', 'class', '\0\0'])
      assert.doesNotThrow(() => settingsIn(text));
  });
});

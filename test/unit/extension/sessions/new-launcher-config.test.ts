import assert from 'node:assert/strict';
import { parse } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { loadRun } from '../../../load-run';
import type { Run } from '../../../../src/core/run/run';
import { plainValues } from '../../../../src/core/domain/located';
import { newLauncherConfigText, relativePath } from '../../../../src/host/sessions/new-launcher-config';
import type { SessionState } from '../../../../src/host/sessions/session-state';
import { launcherOf, read, withDefault, type Values } from '../../core/rules/launcher';
import { runOfLauncher } from '../../../../src/core/launchers/launcher-run';
import { smallModel, testHost, uri } from '../test-host';

const target = uri('terapipe.json');
const defaults = { gpu: 'H200', nodes: null, gpusPerNode: null } as const;
const sizes = { layers: 8, hidden: 256, heads: 4, vocab: 1000 } satisfies Values;
const launch = { tensor: 2, pipeline: 4, nodes: 2, gpusPerNode: 8, microBatch: 1, globalBatch: 24, sequenceLength: 256, precision: 'bf16' } satisfies Values; // prettier-ignore

/** A session over a launcher that sets only `values`. */
function stateOf(values: Values, hasRun = true): SessionState {
  const launcher = launcherOf(values, 'megatron-shell', uri('pretrain.sh'));
  const { sessions } = testHost({});
  void sessions.ensure(launcher.file, 'megatron-shell').catch(() => undefined);
  const state = sessions.get(launcher.file)!;
  sessions.dispose();
  return { ...state, launcher, run: hasRun ? runOfLauncher(launcher, 'pretrain', null) : null };
}

function written(text: string | null): Promise<Run> {
  return loadRun(target, text ?? '', (from, path) => Promise.resolve({ file: new URL(path, from).href, text: smallModel }));
}

describe('a terapipe.json from a launcher', () => {
  it('is read back as the run that the launcher describes', async () => {
    const state = stateOf({
      ...sizes,
      ...launch,
      tiedEmbeddings: true,
      experts: 8,
      activeExperts: 2,
      recomputeGranularity: 'full',
      bias: false,
    });
    const back = await written(newLauncherConfigText(state, target, defaults));
    assert.deepEqual(plainValues(back.model), plainValues(state.run!.model));
    assert.deepEqual(plainValues(back.training as never), plainValues(state.run!.training as never));
    assert.deepEqual(plainValues(back.layout as never), { tensor: 2, pipeline: 4, data: 2 });
    assert.deepEqual([back.nodes?.value, back.gpusPerNode?.value, back.gpu?.value.name], [2, 8, 'H200']);
    assert.equal(back.schedule?.value, '1F1B');
    assert.deepEqual(back.remarks, []);
  });

  it('shows for every value what the launcher calls it', () => {
    const text = newLauncherConfigText(stateOf({ ...sizes, ...launch }), target, defaults) ?? '';
    assert.match(text, /^\/\/ Read from pretrain\.sh\./);
    assert.match(text, /^ {4}"tensor": 2, \/\/ --tensor$/m);
    assert.match(text, /^ {4}"data": 2 \/\/ follows from the number of GPUs$/m);
  });

  it('shows what numbers leave out of the model', () => {
    const latent = { latentAttention: true, kvLoraRank: 64, qkNopeHeadDim: 32, qkRopeHeadDim: 16, vHeadDim: 32 } satisfies Values;
    const text = newLauncherConfigText(stateOf({ ...sizes, ...launch, ...latent }), target, defaults) ?? '';
    assert.match(text, /^\/\/ The numbers below leave out .*: latent attention\. Name the config\.json/m);
    assert.doesNotMatch(newLauncherConfigText(stateOf({ ...sizes, ...launch }), target, defaults) ?? '', /leave out/);
  });

  it('names the model config that was joined, with what the launcher sets otherwise', async () => {
    const { sessions, finish } = testHost({ 'runs/train.toml': torchtitan, 'runs/hf/config.json': smallModel });
    const planned = sessions.ensure(uri('runs/train.toml'), 'torchtitan');
    await finish();
    const state = await planned;
    const text = newLauncherConfigText(state, target, defaults);
    assert.equal((parse(text ?? '') as { model: unknown }).model, 'runs/hf/config.json');
    const model = { ...state.run!.model, layers: { value: 6, source: { kind: 'file', key: 'n', place: state.launcher!.place } as const } };
    const overridden = await written(newLauncherConfigText({ ...state, run: { ...state.run!, model } }, target, defaults));
    assert.equal(overridden.model.layers.value, 6);
    assert.equal(overridden.model.hidden.value, 256);
  });

  it('shows what is missing where the sizes of the model are not known', async () => {
    const text = newLauncherConfigText(stateOf({ hidden: 256, ...launch }, false), target, defaults) ?? '';
    assert.match(text, /pretrain\.sh does not say layers, heads/);
    await assert.rejects(written(text), { code: 'config-model-incomplete' });
    const filled = await written(text.replace('"hidden": 256', '"hidden": 256, "layers": 8, "heads": 4'));
    assert.equal(filled.layout.pipeline?.value, 4);
    assert.equal(filled.training.globalBatch?.value, 24);
  });

  it('is refused when nothing is known', () => {
    assert.equal(newLauncherConfigText(stateOf({ overlapP2p: true }, false), target, defaults), null);
    const byDefault = stateOf({ precision: 'fp32' }, false);
    const launcher = withDefault(byDefault.launcher!, 'precision');
    assert.equal(newLauncherConfigText({ ...byDefault, launcher }, target, defaults), null);
    assert.equal(newLauncherConfigText({ ...stateOf({}, false), launcher: null }, target, defaults), null);
  });

  it('stays JSON whatever the launcher calls itself and its values', () => {
    const launcher = read('tensor: 2\n', 'megatron-shell', uri('a%0A%22}.sh'));
    const fact = { ...launcher.facts.tensor!, name: 'x\n"} //' };
    const state = { ...stateOf({}, false), launcher: { ...launcher, facts: { tensor: fact } } };
    const errors: never[] = [];
    assert.deepEqual((parse(newLauncherConfigText(state, target, defaults) ?? '', errors) as { layout: unknown }).layout, { tensor: 2 });
    assert.deepEqual(errors, []);
  });

  it('leads from one folder to another', () => {
    assert.equal(relativePath(uri('a/terapipe.json'), uri('b%20c/config.json')), '../b c/config.json');
    assert.equal(relativePath(uri('terapipe.json'), 'vscode-vfs://x/config.json'), null);
  });
});

const torchtitan = `[model]
name = "llama3"
hf_assets_path = "./hf"
[training]
local_batch_size = 8
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
`;

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { hoverAt } from '../../../../src/extension/language/hover-text';
import { configLenses } from '../../../../src/extension/language/lens-text';
import { toPageState } from '../../../../src/host/pages/page-state';
import type { SessionState } from '../../../../src/host/sessions/session-state';
import { english } from '../../../../src/core/sentence';
import { smallModel, smallRun, testHost, uri } from '../../extension/test-host';

const run = uri('terapipe.json');
const log = uri('norms.csv');

const vit = JSON.stringify({
  model_type: 'vit',
  hidden_size: 192,
  intermediate_size: 768,
  num_attention_heads: 3,
  num_hidden_layers: 6,
  image_size: 224,
  patch_size: 16,
  num_channels: 3,
});

const elastic = { epochs: 4, datasetSize: 1000, batch: 64, alpha: 0.5, pipelineLength: 4 };

function vitRun(more: object = {}): string {
  return JSON.stringify(
    { model: 'config.json', cluster: { gpu: 'V100-16GB', nodes: 1, gpusPerNode: 4 }, elastic: { ...elastic, ...more } },
    null,
    2,
  );
}

/** Norms of which the fourth layer's is the smallest in all epochs. */
const norms = [
  'epoch,layer,norm',
  ...[0, 1, 2, 3].flatMap((epoch) => [6, 5, 4, 1, 4, 5].map((norm, layer) => `${epoch},${layer},${norm}`)),
].join('\n');

function frozenOf({ elastic: answer }: SessionState): number[] | undefined {
  return answer?.plan.epochs.map(({ frozenLayers }) => frozenLayers);
}

describe('a session of a run that freezes layers', () => {
  it('shows an elastic plan of a ViT, no error and no word that it is not planned', async () => {
    const { sessions, requests } = testHost({ 'terapipe.json': vitRun(), 'config.json': vit });
    const state = await sessions.ensure(run, 'terapipe');
    assert.equal(state.error, null);
    assert.equal(state.plan, null);
    assert.equal(requests.length, 0);
    assert.deepEqual(frozenOf(state), [0, 3, 5, 6]);
    assert.deepEqual(
      state.findings.filter(({ code }) => code === 'model-not-planned'),
      [],
    );
    assert.equal(state.progress, null);
  });

  it('takes stated defaults only for a ViT config', async () => {
    const { sessions } = testHost({ 'config.json': vit });
    const state = await sessions.ensure(uri('config.json'), 'huggingface');
    assert.equal(state.error, null);
    const assumed = state.elastic?.plan.request.assumptions.map(({ key }) => key) ?? [];
    for (const key of ['elastic.epochs', 'elastic.alpha', 'elastic.datasetSize']) assert.ok(assumed.includes(key), key);
  });

  it('plans both where a decoder has an elastic section, and forgets it with the section', async () => {
    const { sessions, files, finish } = testHost({
      'terapipe.json': smallRun({ elastic: { ...elastic, epochs: 3 } }),
      'config.json': smallModel,
    });
    const planned = sessions.ensure(run, 'terapipe');
    await finish();
    const both = await planned;
    assert.ok(both.plan);
    assert.equal(both.elastic?.plan.epochs.length, 3);
    files.set(run, smallRun());
    const again = sessions.replan(run);
    await finish();
    assert.equal((await again).elastic, null);
  });

  it('reads the log of gradient norms next to the config and plans again when it changes', async () => {
    const { sessions, files, elasticRequests } = testHost({
      'terapipe.json': vitRun({ gradientNorms: 'norms.csv' }),
      'config.json': vit,
      'norms.csv': norms,
    });
    const state = await sessions.ensure(run, 'terapipe');
    assert.deepEqual(frozenOf(state), [0, 3, 4, 5]);
    assert.ok(sessions.reads(run).has(log));
    files.set(log, norms.replaceAll('3,1', '3,9'));
    const done = new Promise<void>((resolve) =>
      sessions.onDidChange(({ progress, staleEdits }) => (progress === null && staleEdits === 0 ? resolve() : undefined)),
    );
    sessions.changed(log);
    assert.equal(sessions.get(run)?.staleEdits, 1);
    await done;
    assert.equal(elasticRequests.length, 2);
    assert.notDeepEqual(frozenOf(sessions.get(run)!), [0, 3, 4, 5]);
  });

  it('places what is wrong in the file it is wrong in, and keeps the last good plan', async () => {
    const { sessions, files } = testHost({
      'terapipe.json': vitRun({ gradientNorms: 'norms.csv' }),
      'config.json': vit,
      'norms.csv': norms,
    });
    await sessions.ensure(run, 'terapipe');
    files.set(log, norms.replace('1,4,4\n', ''));
    const missing = await sessions.replan(run);
    assert.equal(missing.error?.code, 'elastic-norms');
    assert.equal(missing.error.place?.file, log);
    assert.ok(missing.elastic);
    files.delete(log);
    const gone = await sessions.replan(run);
    assert.equal(gone.error?.code, 'config-not-found');
    assert.equal(gone.error.place?.file, run);
    assert.equal(vitRun({ gradientNorms: 'norms.csv' }).slice(gone.error.place.range.start, gone.error.place.range.end), '"norms.csv"');
  });

  it('shows in a lens what freezing gains, and in hovers what each key means', async () => {
    const text = vitRun();
    const { sessions } = testHost({ 'terapipe.json': text, 'config.json': vit });
    const state = await sessions.ensure(run, 'terapipe');
    const lastLens = (of: SessionState): string => configLenses(of, null, english).at(-1)?.title ?? '';
    assert.match(lastLens(state), /^Elastic: [\d.]+x over 4 epochs$/);
    assert.match(lastLens({ ...state, staleEdits: 1 }), /before the last edits/);
    for (const key of Object.keys(elastic)) {
      const hover = hoverAt(state, run, text, text.indexOf(`"${key}"`) + 1, english);
      assert.equal(hover?.lines[0]?.split(':')[0], `elastic.${key}`);
    }
    const alpha = hoverAt(state, run, text, text.indexOf('"alpha"') + 1, english);
    assert.equal(alpha?.lines[1], 'Frozen layers by epoch: 0, 3, 5, 6 of 6.');
    const section = hoverAt(state, run, text, text.indexOf('"elastic"') + 1, english);
    assert.match(section?.lines.join('\n') ?? '', /batchScaling scaled: as PipeTransformer does/);
  });

  it('gives a page the plan without logs, and the side view without steps', async () => {
    const { sessions } = testHost({ 'terapipe.json': vitRun({ gradientNorms: 'norms.csv' }), 'config.json': vit, 'norms.csv': norms });
    const state = await sessions.ensure(run, 'terapipe');
    const around = { trusted: true, displayPath: (file: string) => file };
    const tab = toPageState(state, { page: 'tab', ...around }).elastic;
    assert.doesNotMatch(JSON.stringify(tab), /norms/);
    assert.equal(
      tab?.spans.reduce((sum, { count }) => sum + count, 0),
      4,
    );
    assert.ok(tab.spans.every(({ step }) => step !== null && tab.steps[step] !== undefined));
    assert.deepEqual(toPageState(state, { page: 'side', ...around }).elastic?.steps, []);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Finding } from '../../../../src/core/findings';
import { issuesWithFixes } from '../../../../src/core/rules/launch-findings';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { rules } from '../../../../src/core/rules/table';
import { viewOfLauncher } from '../../../../src/core/rules/view';
import { load, loadObject } from '../config-files/files';
import { launcherOf } from './launcher';
import { pairs } from './pairs';
import { model, ownPairs, routed } from './run-pairs';
import { say } from '../../../../src/core/sentence';

async function found(config: object, code: string): Promise<Finding[]> {
  return runFindings(await loadObject(config), null).filter((finding) => finding.code === code);
}

describe('rules of what is planned without a launcher', () => {
  it('have a pair of examples each', () => {
    const own = rules.filter(({ formats }) => formats.every((format) => format === 'terapipe' || format === 'huggingface'));
    assert.deepEqual(own.map(({ code }) => code).sort(), ownPairs.map(({ code }) => code).sort()); // prettier-ignore
  });

  for (const { code, bad, ok, message, fixes } of ownPairs)
    it(`${code}: finds it, shows it in numbers, and fixes it`, async () => {
      const [finding] = await found(bad, code);
      assert.ok(finding);
      assert.ok(say(finding.message).startsWith(message), say(finding.message));
      assert.deepEqual(finding.fixes.map(({ title }) => say(title)), fixes); // prettier-ignore
      assert.deepEqual(await found(ok, code), []);
    });

  // A pair gives every size that its rule reads, so that nothing is left to a launcher's defaults.
  for (const { code, format, bad } of pairs) {
    const rule = rules.find((each) => each.code === code);
    if (rule?.formats.includes('terapipe') !== true) continue;
    it(`${code}: is one rule, which judges a terapipe.json as it judges a launcher's file`, () => {
      const view = viewOfLauncher(launcherOf({ tensor: 1, pipeline: 1, context: 1, schedule: '1F1B', ...bad }, format));
      const [launched, planned] = [view, { ...view, format: 'terapipe' as const }].map((each) => issuesWithFixes(rule, each));
      assert.equal(planned?.length, launched?.length);
      assert.ok(launched!.length > 0);
    });
  }

  const remedies = async (config: object, code: string) =>
    (await found(config, code)).map(({ message, remedy }) => [say(message), say(remedy)]);

  it('always have a remedy for experts that the GPUs of a stage cannot share', async () => {
    const of = (layout: object, experts = 8) => remedies({ model: { ...routed, experts }, layout }, 'expert-world-factor');
    assert.deepEqual(await of({ expert: 3, expertTensor: 3, tensor: 6, data: 2 }, 9), [
      [
        'An expert size of 3 does not divide the 4 replicas (data x context x tensor / expertTensor) that share the experts',
        'set layout.expertTensor to 1 or set layout.expert to 1',
      ],
    ]);
    assert.deepEqual(await of({ expert: 4, expertTensor: 8, tensor: 2, data: 2 }), [
      ['4 GPUs of a stage are not divisible by expert tensor 8 x expert 4 = 32', 'set layout.expertTensor to 1'],
    ]);
    assert.deepEqual(await of({ expert: 4, expertTensor: 8, tensor: 1, data: 3 }), [
      ['3 GPUs of a stage are not divisible by expert tensor 8 x expert 4 = 32', 'use sizes whose product divides 3 GPUs'],
    ]);
    // more replicas may still be chosen
    assert.deepEqual(await of({ expert: 4, expertTensor: 8, tensor: 2 }), []);
  });

  it('count virtual stages in what a pipeline idles, and nothing for schedules that idle otherwise', async () => {
    const of = (schedule: string, virtualStages: number, globalBatch: number) =>
      remedies(
        { model, schedule, layout: { pipeline: 4, data: 1, virtualStages }, training: { globalBatch } },
        'microbatches-below-stages',
      );
    assert.deepEqual(await of('1F1B', 1, 2), [
      [
        '2 micro-batches for 4 stages: stages idle while the pipeline fills and drains',
        'use 28 micro-batches (a global batch of 28) to idle less than a tenth of the time, and TeraPipe cuts sequences too',
      ],
    ]);
    assert.deepEqual(await of('Interleaved1F1B', 2, 4), [
      ['4 micro-batches for 8 stages (4 x 2 virtual): stages idle while the pipeline fills and drains', 'set training.globalBatch to 16'],
    ]);
    for (const schedule of ['TeraPipe', 'ZB-H1', 'ZBVZeroBubble']) assert.deepEqual(await of(schedule, 1, 2), []);
  });

  it('hold a sequence against positions: an error where they are a table or Megatron-LM asserts it, else a warning', async () => {
    const severities = async (positions: string) =>
      (await found({ model: { ...model, maxPositions: 1024, positions }, training: { sequenceLength: 2048 } }, 'sequence-positions')).map(
        ({ severity }) => severity,
      );
    assert.deepEqual([await severities('learned'), await severities('rotary')], [['error'], ['warning']]);
    const rule = rules.find(({ code }) => code === 'sequence-positions')!;
    const script = launcherOf({ maxPositions: 1024, positions: 'rotary', sequenceLength: 2048 }, 'megatron-shell');
    assert.deepEqual(issuesWithFixes(rule, viewOfLauncher(script)).map(({ severity }) => severity), ['error']); // prettier-ignore
  });

  it('divide a state by heads and groups, and the first version of Mamba not at all', async () => {
    const of = async (model: object) =>
      runFindings(
        await load({
          'terapipe.json': JSON.stringify({ model: { from: 'config.json' }, layout: { tensor: 4 } }),
          'config.json': JSON.stringify(model),
        }),
        null,
      ).flatMap(({ code, severity, message, remedy }) => {
        assert.ok(severity !== 'error' || code === 'state-tp', say(message));
        return code === 'state-tp' ? [[say(message), say(remedy)]] : [];
      });
    const sizes = { num_hidden_layers: 4, hidden_size: 512, vocab_size: 1024, state_size: 16, expand: 2 };
    assert.deepEqual(await of({ model_type: 'mamba', ...sizes, intermediate_size: 1024, conv_kernel: 4, time_step_rank: 32 }), [
      ['The first version of Mamba is not divided over GPUs, and the tensor size is 4', 'set layout.tensor to 1'],
    ]);
    const second = { model_type: 'mamba2', ...sizes, num_heads: 16, head_dim: 64, conv_kernel: 4 };
    assert.deepEqual(await of({ ...second, n_groups: 2 }), [
      ['The 16 heads and 2 groups of the state are not divisible by a tensor size of 4', 'set layout.tensor to 2'],
    ]);
    assert.deepEqual(await of({ ...second, n_groups: 8 }), []);
  });

  it('show each reason for which whole layers are not offloaded, of the runtime that refuses it', async () => {
    const codes = ['offload-with-pp', 'offload-with-recompute', 'offload-layers'];
    const of = async (layout: object, training: object) => {
      const config = { model, layout, training: { activationOffloadLayers: 2, ...training } };
      const all = await Promise.all(codes.map((code) => found(config, code)));
      return all.flat().map(({ severity, remedy }) => [severity, say(remedy)]);
    };
    const without = ['warning', 'set training.activationOffloadLayers to 0, or training.runtime to what you run'];
    assert.deepEqual(await of({ pipeline: 4 }, {}), [without]);
    assert.equal((await of({ pipeline: 4 }, { recompute: 'full' })).length, 2);
    assert.deepEqual(await of({ pipeline: 1 }, { activationOffloadLayers: 24 }), [['warning', 'set training.activationOffloadLayers to 23, or training.runtime to what you run']]); // prettier-ignore
    assert.deepEqual(await of({ pipeline: 4 }, { recompute: 'full', activationOffloadLayers: 24, runtime: 'torchtitan' }), []);
  });
});

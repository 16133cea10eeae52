import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readDeepSpeed } from '../../../../../src/core/config/deepspeed/reader';
import type { Facts, LauncherReader } from '../../../../../src/core/config/facts';
import { readTorchTitan } from '../../../../../src/core/config/torchtitan/reader';
import { yamlReaders } from '../../../../../src/core/config/yaml';
import type { HandOver } from '../../../../../src/core/export/launchers/hand-over';
import { newLauncher, type NewFormat } from '../../../../../src/core/export/launchers/new-launcher';
import { launchFindings } from '../../../../../src/core/launch/findings';
import { recogniseConfig } from '../../../../../src/core/launch/readers';
import { shellReader } from '../../config/shell/shell-reader';
import { anyPlan, planWith } from './plans';
import { megatronLayout, titanLayout, deepspeedLayout, type ReadLayout } from './read-layout';

describe('a new launcher file', () => {
  let readers: Readonly<Record<NewFormat, LauncherReader>>;

  before(async () => {
    readers = {
      'megatron-shell': await shellReader(),
      'megatron-bridge': yamlReaders['megatron-bridge'],
      torchtitan: readTorchTitan,
      deepspeed: readDeepSpeed,
    };
  });

  const layouts: Readonly<Record<NewFormat, (facts: Facts, plan: HandOver, text: string) => ReadLayout>> = {
    'megatron-shell': megatronLayout,
    'megatron-bridge': megatronLayout,
    torchtitan: titanLayout,
    deepspeed: deepspeedLayout,
  };

  for (const format of Object.keys(layouts) as NewFormat[])
    it(`of ${format} read back gives any plan's layout, but for what it says it cannot`, () => {
      fc.assert(
        fc.property(anyPlan, (plan) => {
          const { text, fileName, gaps } = newLauncher(plan, format);
          assert.equal(recogniseConfig(fileName, text), format);
          const { facts, remarks } = readers[format](fileName, text);
          assert.deepEqual(remarks.filter(({ severity }) => severity === 'error').map(({ message }) => message), []); // prettier-ignore
          layouts[format](facts, plan, text).assertSame(gaps.map(({ what }) => what));
        }),
        { seed: 6, numRuns: format === 'megatron-shell' ? 120 : 300 },
      );
    });

  it('of Megatron has nothing that its own rules find wrong', () => {
    const plan = planWith({ tensor: 4, pipeline: 4, data: 4, sequenceParallel: true, virtualStages: 3, microBatch: 2, globalBatch: 128, recompute: { granularity: 'full' } }); // prettier-ignore
    const { text, fileName, gaps } = newLauncher(plan, 'megatron-shell');
    assert.deepEqual(launchFindings(readers['megatron-shell'](fileName, text)).filter(({ severity }) => severity === 'error'), []); // prettier-ignore
    assert.deepEqual(gaps, []);
    assert.match(text, /--num-layers-per-virtual-pipeline-stage 2\n/);
  });

  it('keeps a hostile title on its line', () => {
    const title = 'a\nrm -rf /\r\n"]\u2028[model]\n: {';
    for (const format of Object.keys(layouts) as NewFormat[]) {
      const { text, fileName } = newLauncher(planWith({ title }), format);
      assert.ok(!/^(rm|\[model\]|")/m.test(text) || format === 'deepspeed', text);
      assert.ok(readers[format](fileName, text));
    }
  });

  it('says what a launcher has no word for', () => {
    const plan = planWith({ pipeline: 8, data: 1, schedule: 'TeraPipe', slices: 16, zeroStage: 2 });
    const whats = (format: NewFormat) => newLauncher(plan, format).gaps.map(({ what }) => what);
    assert.deepEqual(whats('megatron-shell'), ['ZeRO 2', 'token slices (TeraPipe)']);
    assert.deepEqual(whats('torchtitan'), ['token slices (TeraPipe)']);
    assert.ok(whats('deepspeed').includes('ZeRO 2 with a pipeline'));
  });
});

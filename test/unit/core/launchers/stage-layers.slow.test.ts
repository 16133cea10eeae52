import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readTorchTitan } from '../../../../src/core/launchers/torchtitan/reader';
import type { FactValues } from '../../../../src/core/run/facts';
import { completeInline } from '../../../../src/core/terapipe/inline-model';
import { runOfLauncher } from '../../../../src/core/launchers/launcher-run';
import { yamlReaders } from './tables/yaml-readers';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import { newLauncher } from '../../../../src/core/export/launchers/new-launcher';
import { withStageLayers } from '../../../../src/core/launchers/stage-layers';
import { shellReader } from './shell/shell-reader';
import { writerOf } from '../export/launchers/editors';
import { anyPlan } from '../export/launchers/plans';
import { launcherOf } from '../rules/launcher';
import { toText } from '../../sentence-text';

const sizes = { layers: 14, hidden: 1024, heads: 16, pipeline: 4 } as const;

function layoutOf(values: Partial<FactValues>, format: LauncherFormat = 'megatron-shell') {
  const launcher = launcherOf({ ...sizes, ...values }, format);
  const { stageLayers, virtualStages } = withStageLayers(runOfLauncher(launcher, 'train', null), launcher).layout;
  return [stageLayers?.value, virtualStages?.value];
}

describe('layers of each stage that a launcher gives', () => {
  it('are those of the ends and of the stages between, or of its layout', () => {
    assert.deepEqual(layoutOf({ firstStageLayers: 2, lastStageLayers: 4 }), [[2, 4, 4, 4], undefined]);
    assert.deepEqual(layoutOf({ embeddingAsLayer: true, lossAsLayer: true }), [[3, 4, 4, 3], undefined]);
    assert.deepEqual(layoutOf({ embeddingAsLayer: true, lossAsLayer: true, layersPerVirtualStage: 2 }), [[1, 2, 2, 2, 2, 2, 2, 1], 2]);
    assert.deepEqual(layoutOf({ pipelineLayout: 'Et*2|(t*2|)*5t*2|L' }), [[2, 2, 2, 2, 2, 2, 2, 0], 2]);
    assert.deepEqual(layoutOf({ firstStageLessLayers: 0, lastStageLessLayers: 2 }, 'torchtitan'), [[4, 4, 4, 2], undefined]);
  });

  it('are left out where nothing divides them, and where what divides them is impossible', () => {
    assert.deepEqual(layoutOf({}), [undefined, undefined]);
    assert.deepEqual(layoutOf({ firstStageLayers: 3, lastStageLayers: 3 }), [[3, 4, 4, 3], undefined]);
    assert.deepEqual(layoutOf({ firstStageLayers: 3, lastStageLayers: 4 }), [undefined, undefined]);
    assert.deepEqual(layoutOf({ pipelineLayout: 'Et*3|t*3|L' }), [undefined, undefined]);
    assert.deepEqual(layoutOf({ pipeline: 1, firstStageLayers: 14 }), [undefined, undefined]);
  });

  it('come back from a file that was written of any plan', async () => {
    const readers = {
      'megatron-shell': await shellReader(),
      'megatron-bridge': yamlReaders['megatron-bridge'],
      torchtitan: readTorchTitan,
    };
    for (const format of ['megatron-shell', 'megatron-bridge', 'torchtitan'] as const)
      fc.assert(
        fc.property(anyPlan, (plan) => {
          const { text, fileName, gaps } = newLauncher(plan, writerOf(format));
          const launcher = readers[format](fileName, text);
          const place = { file: fileName, range: { start: 0, end: 1 } };
          const given = Object.fromEntries(
            Object.entries({ layers: plan.model.layers, hidden: 2048, heads: 16 }).map(([key, value]) => [key, { value, source: { kind: 'file', place, key } }]), // prettier-ignore
          ) as Parameters<typeof completeInline>[0];
          const run = withStageLayers(
            runOfLauncher(launcher, 'train', { model: completeInline(given, place), texts: new Map() }),
            launcher,
          );
          const read = run.layout.stageLayers?.value;
          const isEven = new Set(plan.stageLayers).size === 1;
          if (plan.pipeline === 1 || gaps.some(({ what }) => /layers? on/.test(toText(what)))) return;
          if (read === undefined) assert.ok(isEven, plan.stageLayers.join());
          else assert.deepEqual(read, plan.stageLayers);
          if (plan.virtualStages > 1 && !isEven) assert.equal(run.layout.virtualStages?.value, plan.virtualStages);
        }),
        { seed: 8, numRuns: format === 'megatron-shell' ? 60 : 150 },
      );
  });
});

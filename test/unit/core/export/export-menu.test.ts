import assert from 'node:assert/strict';
import { exportMenu, newFileLaunchers } from '../../../../src/core/export/export-menu';
import { sliceExports } from '../../../../src/core/export/slices/registry';
import { sliceRuntimes } from '../../../../src/core/slice-runtimes/registry';
import type { Plan } from '../../../../src/core/planner/plan';

/** A plan whose chosen candidate cuts its sequences so. */
function planOf(tokens: readonly number[]): Plan {
  return { chosen: 'given', candidates: [{ id: 'given', scheme: [{ batch: 1, tokens }] }] } as unknown as Plan;
}

describe('the menu of exports', () => {
  it('lists the launcher of the file first, then the others in their usual order', () => {
    const usual = newFileLaunchers.map(({ id }) => id);
    for (const own of newFileLaunchers)
      for (const format of own.edits) {
        const { launchers } = exportMenu(format, null);
        const [first, ...others] = launchers.map(({ id }) => id);
        assert.equal(first, own.id);
        assert.deepEqual(
          launchers.map(({ isOwn }) => isOwn),
          launchers.map(({ id }) => id === own.id),
        );
        assert.deepEqual(
          others,
          usual.filter((id) => id !== own.id),
        );
      }
    assert.deepEqual(
      exportMenu('huggingface', null).launchers.map(({ id }) => id),
      usual,
    );
  });

  it('lists runtimes of slices only where the plan has slices', () => {
    assert.deepEqual(exportMenu('megatron-shell', null).slices, []);
    assert.deepEqual(exportMenu('megatron-shell', planOf([4096])).slices, []);
    assert.ok(exportMenu('megatron-shell', planOf([2048, 2048])).slices.some(({ id }) => id === 'seq1f1b'));
  });

  it('lists no runtime of slices that refuses every plan for GPUs', () => {
    const { slices } = exportMenu('megatron-shell', planOf([2048, 2048]));
    const refusing = sliceRuntimes.filter(({ hardware }) => hardware !== null).map(({ id }) => id);
    assert.deepEqual(refusing, ['mindspeed']);
    assert.ok(slices.every(({ id }) => !refusing.includes(id)));
    assert.equal(slices.length, sliceExports.length - refusing.length);
  });
});

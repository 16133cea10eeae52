import assert from 'node:assert/strict';
import { issuesWithFixes } from '../../../../src/core/rules/launch-findings';
import { rules } from '../../../../src/core/rules/table';
import { viewOfLauncher } from '../../../../src/core/rules/view';
import { launcherOf } from './launcher';

const rule = rules.find(({ code }) => code === 'param-gather-without-distributed-optimizer')!;
const script = launcherOf({ overlapParamGather: true, tensor: 2, data: 4 }, 'megatron-shell');

describe('overlapped gathers of weights', () => {
  it('are refused without the distributed optimizer', () => {
    assert.equal(issuesWithFixes(rule, viewOfLauncher(script)).length, 1);
  });

  it('are taken with an FSDP, which is left out of the plan', () => {
    for (const flag of ['--use-megatron-fsdp', '--use-custom-fsdp'])
      assert.deepEqual(issuesWithFixes(rule, viewOfLauncher({ ...script, leftOut: [flag] })), []);
  });
});

import assert from 'node:assert/strict';
import type { ExpectedError } from '../../../../src/core/errors';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../src/core/run/run';
import { noMachine, onMachine, requireSizesOn, type Machine } from '../../../../src/core/plan-request/machine';
import { say } from '../../../../src/core/sentence';
import { loadObject } from '../config-files/files';

const model = { layers: 8, hidden: 1024, heads: 16 };
const file = { model, cluster: { gpu: 'H100-80GB', nodes: 2 } };

function asked(run: Run, machine: Partial<Machine>): Run {
  return onMachine(run, { ...noMachine, ...machine }, 'H100-80GB');
}

function refused(action: () => unknown): ExpectedError {
  try {
    action();
  } catch (error) {
    return error as ExpectedError;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

describe('flags of the machine', () => {
  it('are obeyed where no file sets it', async () => {
    const run = asked(await loadObject({ model }), { gpu: 'A100-40GB', nodes: 4, gpusPerNode: 4, nicGBps: 12.5 });
    assert.deepEqual([run.gpu?.value.name, run.nodes?.value, run.gpusPerNode?.value, run.links?.value.nicGBps], ['A100-40GB', 4, 4, 12.5]);
  });

  it('are refused at the value of the file that they contradict, with the setting that overrides it', async () => {
    const run = await loadObject(file);
    for (const [machine, key] of [
      [{ gpu: 'A100-40GB' }, 'cluster.gpu=A100-40GB'],
      [{ nodes: 10 }, 'cluster.nodes=10'],
    ] as const) {
      const error = refused(() => asked(run, machine));
      assert.equal(error.code, 'flag-contradicts-file');
      assert.ok(error.place !== undefined);
      assert.ok(say(error.remedy).includes(`--set ${key}`), say(error.remedy));
    }
  });

  it('may repeat what the file sets', async () => {
    const run = await loadObject(file);
    assert.equal(asked(run, { gpu: 'H100-80GB', nodes: 2 }), run);
  });

  it('give way to no default of a format', async () => {
    const run = await loadObject({ model, cluster: { instance: 'p4d.24xlarge' } });
    assert.equal(asked(run, { nicGBps: 12.5 }).links?.value.nicGBps, 12.5);
    assert.equal(asked(run, { gpusPerNode: 4 }).gpusPerNode?.value, 4);
    assert.equal(refused(() => asked(run, { gpu: 'H200' })).code, 'flag-contradicts-file');
  });

  it('make nodes of a number of GPUs', async () => {
    const run = await loadObject({ model });
    const filed = await loadObject(file);
    const sizes = (machine: Partial<Machine>, of = run): unknown[] => {
      const { nodes, gpusPerNode } = asked(of, machine);
      return [nodes?.value, gpusPerNode?.value];
    };
    assert.deepEqual(sizes({ gpus: 64 }), [8, undefined]);
    assert.deepEqual(sizes({ gpus: 4 }), [1, 4]);
    assert.deepEqual(sizes({ gpus: 64, gpusPerNode: 4 }), [16, 4]);
    assert.deepEqual(sizes({ gpus: 12, nodes: 2 }), [2, 6]);
    assert.deepEqual(sizes({ gpus: 16 }, filed), [2, undefined]);
    assert.equal(refused(() => asked(run, { gpus: 12 })).code, 'flag-gpus');
    const contradicted = refused(() => sizes({ gpus: 64 }, filed));
    assert.equal(contradicted.message, '--gpus is 64, and this file has 2 nodes');
    const whole = await loadObject({ ...file, cluster: { ...file.cluster, gpusPerNode: 8 } });
    assert.equal(refused(() => sizes({ gpus: 64 }, whole)).message, '--gpus is 64, and this file has 2 nodes of 8 GPUs');
    assert.match(say(contradicted.remedy), /--set cluster\.nodes=8$/);
    assert.equal(refused(() => sizes({ gpus: 60, nodes: 8, gpusPerNode: 8 })).code, 'flag-gpus');
  });

  it('are refused where the sizes of the layout use other GPUs', async () => {
    const check = (run: Run, machine: Partial<Machine>): void =>
      requireSizesOn(asked(run, machine), { ...noMachine, ...machine }, 'H100-80GB');
    const run = applyOverrides(await loadObject({ model }), ['tp=4', 'pp=4', 'dp=5']);
    assert.match(refused(() => check(run, { nodes: 8 })).message, /64 GPUs, and TP4 PP4 DP5 takes 80/);
    check(run, { nodes: 10 });
    check(run, { gpus: 80 });
    const open = applyOverrides(await loadObject({ model }), ['tp=4', 'pp=3']);
    assert.match(refused(() => check(open, { nodes: 1 })).message, /TP4 PP3 takes a multiple of 12/);
  });

  it('are refused with groups of nodes', async () => {
    const groups = [
      { gpu: 'H100-80GB', nodes: 1 },
      { gpu: 'A100-80GB', nodes: 1 },
    ];
    const run = await loadObject({ model, cluster: { groups } });
    assert.equal(refused(() => asked(run, { nodes: 4 })).code, 'flag-contradicts-file');
  });
});

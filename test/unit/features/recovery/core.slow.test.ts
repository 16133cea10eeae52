import assert from 'node:assert/strict';
import { recoveryAnswer } from '../../../../src/features/recovery/cli/answer';
import { makePlan } from '../../../../src/core/planner/make-plan';
import type { Plan } from '../../../../src/core/planner/plan';
import { recover, type Failure, type Recovery, type WayId } from '../../../../src/features/recovery/core';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { load } from '../../core/config-files/files';
import { toText } from '../../sentence-text';

const face = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;

async function planOf(layout: object, more: object = {}): Promise<Plan> {
  const config = {
    model: { layers: 32, hidden: 4096, heads: 32, vocab: 0 },
    cluster: { gpu: 'A100-80GB', nodes: 16, gpusPerNode: 8 },
    training: { sequenceLength: 2048, globalBatch: 96, microBatch: 1 },
    schedule: '1F1B',
    layout,
    ...more,
  };
  return makePlan(resolveRun(await load({ 'terapipe.json': JSON.stringify(config) }), face, []));
}

function wayOf({ ways }: Recovery, id: WayId) {
  return ways.find((way) => way.id === id) ?? assert.fail(id);
}

const lost: Failure = { kind: 'without', node: 3 };

describe('ways on after a loss', () => {
  it('finds what a node held: here stage 0 of the last of four replicas, whose peers take a third more work', async () => {
    const recovery = recover(await planOf({ tensor: 8, pipeline: 4, data: 4 }), lost);
    assert.deepEqual([recovery.stages, recovery.replicas], [[0], 1]);
    const [work, layers, replicas] = (['work', 'layers', 'replicas'] as const).map((id) => wayOf(recovery, id));
    assert.ok(work !== undefined && layers !== undefined && replicas !== undefined);
    const over = (way: typeof work) => (way.stepMs ?? NaN) / recovery.wholeStepMs;
    assert.ok(over(work) > 1.1 && over(work) < 4 / 3, `work ${over(work)}`);
    assert.ok(over(layers) > 1.2 && over(layers) < 1.34, `three stages do the work of four: ${over(layers)}`);
    assert.ok(over(replicas) > 1.2 && over(replicas) < 1.34, `three replicas do that of four: ${over(replicas)}`);
    assert.deepEqual([work.movedBytes, replicas.movedBytes], [0, 0]);
    assert.ok(layers.movedBytes > 0 && layers.moveMs > work.moveMs);
    assert.match(toText(layers.summary), /^3 stages of 11 11 10 layers; a stage receives \d layers$/);
    assert.match(toText(replicas.summary), /^3 replicas of 4, 32 micro-batches each/);
    const hours = recovery.ways.map(({ hourMs }) => hourMs ?? Infinity);
    assert.equal(recovery.cheapest, recovery.ways[hours.indexOf(Math.min(...hours))]?.id);
  });

  it('has one way left where a node held a stage of every replica, whose layers come from a checkpoint', async () => {
    const recovery = recover(await planOf({ tensor: 4, pipeline: 8, data: 2 }), lost);
    assert.deepEqual([recovery.stages, recovery.replicas, recovery.cheapest], [[3], 2, 'layers']);
    for (const id of ['work', 'replicas'] as const)
      assert.deepEqual([wayOf(recovery, id).stepMs, wayOf(recovery, id).hourMs], [null, null]);
    assert.match(toText(wayOf(recovery, 'layers').summary), /the lost ones from a checkpoint$/);
  });

  it('gives a slow stage less work or fewer layers, where that is faster than to wait for it', async () => {
    const plan = await planOf({ tensor: 8, pipeline: 4, data: 2 });
    const recovery = recover(plan, { kind: 'slow', stage: 2, factor: 1.5 });
    const [keep, work, layers] = (['keep', 'work', 'layers'] as const).map((id) => wayOf(recovery, id).stepMs ?? NaN);
    assert.ok(keep !== undefined && work !== undefined && layers !== undefined);
    assert.ok(keep > 1.35 * recovery.wholeStepMs && work < 0.9 * keep && layers < 0.9 * keep, `${keep} ${work} ${layers}`);
    assert.match(toText(wayOf(recovery, 'layers').summary), /^4 stages of \d+ \d+ [56] \d+ layers; a stage receives \d layers?$/);
    const hardly = recover(plan, { kind: 'slow', stage: 2, factor: 1.001 });
    assert.equal(hardly.cheapest, 'keep');
    assert.ok(Math.abs((wayOf(hardly, 'keep').stepMs ?? NaN) / hardly.wholeStepMs - 1) < 0.002);
  });

  it('refuses nodes and stages that the layout does not have', async () => {
    const plan = await planOf({ tensor: 8, pipeline: 4, data: 2 });
    assert.throws(() => recover(plan, { kind: 'without', node: 8 }), { code: 'recovery-node' });
    assert.throws(() => recover(plan, { kind: 'slow', stage: 4, factor: 1.2 }), { code: 'recovery-stage' });
  });

  it('is printed with the cheapest named, and as JSON', async () => {
    const plan = await planOf({ tensor: 8, pipeline: 4, data: 4 });
    const { text, json, exitCode } = recoveryAnswer(
      { plan, findings: [] } as unknown as Parameters<typeof recoveryAnswer>[0],
      lost,
      new Map(),
    );
    assert.match(text, /without node 3: 1 stage \(0\) of 1 replica lost; a step of the whole run takes /);
    assert.match(text, /^ {2}\* .*\n[\s\S]*^Cheapest: |^ {2} {2}.*$/m);
    assert.equal(exitCode, 0);
    const { ways, cheapest } = json as {
      readonly ways: readonly { readonly id: string; readonly says: string }[];
      readonly cheapest: string;
    };
    assert.ok(ways.some(({ id }) => id === cheapest) && ways.every(({ says }) => says.length > 10));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { ResolveDefaults } from '../../../../src/core/plan-request/scenario';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { createScenarios } from '../../../../src/host/sessions/scenarios';
import type { SessionState } from '../../../../src/host/sessions/session-state';
import { loadRun } from '../../../load-run';

const file = 'file:///w/config.json';
const llama = { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, ffn: 14336, gatedMlp: true, vocab: 128256, maxPositions: 8192 };
const settings: ResolveDefaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null };

async function resolved(defaults: ResolveDefaults, model: object = llama): Promise<PlanRequest> {
  const run = await loadRun('terapipe.json', JSON.stringify({ model }), () => Promise.reject(new Error('no other file')));
  return resolveRun(run, defaults);
}

/** A workspace's memory, as JSON keeps it, and the scenarios of a window that opens it. */
function workspace() {
  const stored = new Map<string, string>();
  const memento = {
    get: (key: string): unknown => JSON.parse(stored.get(key) ?? 'null'),
    update: (key: string, value: unknown): Promise<void> => Promise.resolve(void stored.set(key, JSON.stringify(value))),
  };
  return () => createScenarios(() => settings, memento);
}

/** Sessions that report plans when asked to. */
function sessions() {
  const changed = new Set<(state: SessionState) => void>();
  const nothing = { dispose: () => undefined };
  return {
    onDidChange: (listener: (state: SessionState) => void) => {
      changed.add(listener);
      return nothing;
    },
    onDidDrop: () => nothing,
    /** Reports the plan that an edit begins with and the whole one, each from another message of the worker. */
    report: (request: PlanRequest, edits: number) => {
      for (const plan of [{ request: structuredClone(request) }, { request: structuredClone(request) }]) {
        for (const listener of changed) listener({ file, plan, isGood: true, edits, staleEdits: 0 } as unknown as SessionState);
      }
    },
  };
}

describe('scenarios of configs', () => {
  it('keep a batch and nodes that a person chose, over windows, until they are assumed again', async () => {
    const open = workspace();
    const first = open();
    await first.choose(file, 'training.globalBatch', 64);
    await first.choose(file, 'cluster.nodes', 4);
    const again = open();
    assert.deepEqual(again.chosenFor(file), { 'training.globalBatch': 64, 'cluster.nodes': 4 });
    const { training, cluster } = await resolved(again.resolveDefaults(file));
    assert.deepEqual([training.globalBatch, cluster.nodes], [64, 4]);
    await again.choose(file, 'training.globalBatch', null);
    await again.choose(file, 'cluster.nodes', null);
    assert.deepEqual(open().resolveDefaults(file), settings);
  });

  it('show what an edit changed of the scenario, and nothing of what stays', async () => {
    const open = workspace()();
    const { report, ...host } = sessions();
    open.follow(host);
    report(await resolved(open.resolveDefaults(file)), 0);
    assert.deepEqual(open.changes(file), []);
    report(await resolved(open.resolveDefaults(file), { ...llama, layers: 40 }), 1);
    assert.deepEqual(open.changes(file), []);
    report(await resolved(open.resolveDefaults(file), { ...llama, layers: 40, maxPositions: 2048 }), 2);
    assert.deepEqual(
      open.changes(file).map(({ key, from, to }) => [key, from, to]),
      [['training.sequenceLength', '4,096', '2,048']],
    );
    report(await resolved(open.resolveDefaults(file), { ...llama, layers: 48, maxPositions: 2048 }), 3);
    assert.deepEqual(open.changes(file), []);
  });
});

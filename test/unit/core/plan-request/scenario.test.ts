import assert from 'node:assert/strict';
import { say } from '../../../../src/core/sentence';
import { loadRun } from '../../../load-run';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import {
  scenarioChanges,
  planScenario,
  scenarioText,
  type Scenario,
  type ResolveDefaults,
} from '../../../../src/core/plan-request/scenario';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { toText } from '../../sentence-text';

const llama8b = { layers: 32, hidden: 4096, heads: 32, kvHeads: 8, ffn: 14336, gatedMlp: true, vocab: 128256, maxPositions: 8192 };
const defaults: ResolveDefaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null };

async function resolved(config: object, kept?: Scenario): Promise<PlanRequest> {
  const run = await loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
  return resolveRun(run, { ...defaults, kept });
}

const reasonOf = ({ assumptions }: PlanRequest, key: string): string => toText(assumptions.find((one) => one.key === key)?.reason);

describe('the global batch that no file gives', () => {
  it('depends on the GPUs, the length of a sequence and a given micro-batch, and on nothing else', async () => {
    const batchOf = async (config: object): Promise<number> => (await resolved(config)).training.globalBatch;
    assert.equal(await batchOf({ model: llama8b }), 32);
    assert.equal(await batchOf({ model: { ...llama8b, layers: 48 } }), 32);
    for (const layout of [{ tensor: 8 }, { pipeline: 8 }, { tensor: 2, pipeline: 2 }, { virtualStages: 2, pipeline: 4 }])
      assert.equal(await batchOf({ model: llama8b, layout, cluster: { nodes: 1 } }), 32, JSON.stringify(layout));
    assert.equal(await batchOf({ model: llama8b, cluster: { nodes: 10 } }), 320);
    assert.equal(await batchOf({ model: llama8b, training: { sequenceLength: 1024 } }), 128);
    assert.equal(await batchOf({ model: llama8b, training: { sequenceLength: 32_768, recompute: 'full' }, cluster: { nodes: 8 } }), 64);
    assert.equal(await batchOf({ model: llama8b, training: { microBatch: 3 } }), 48);
  });

  it('shows how many sequences a GPU it has', async () => {
    assert.match(reasonOf(await resolved({ model: llama8b }), 'training.globalBatch'), /^4 sequences a GPU, at most 16,384 tokens/);
  });
});

describe('the scenario of a config that is edited', () => {
  it('is reported in one line', async () => {
    assert.equal(say(scenarioText(await resolved({ model: llama8b }))), '8 x H100-80GB · 4,096 tokens · batch 32');
  });

  it('keeps GPUs, batch, sequence and layout through an edit of the model', async () => {
    const first = await resolved({ model: llama8b });
    const edited = await resolved({ model: { ...llama8b, layers: 36, maxPositions: 4096 * 4 } }, planScenario(first));
    assert.deepEqual(scenarioChanges(planScenario(first), edited), []);
    assert.match(reasonOf(edited, 'cluster.nodes'), /^kept from the first plan: the fewest on which the model fits/);
    const again = await resolved({ model: { ...llama8b, layers: 36 } }, planScenario(edited));
    assert.equal(reasonOf(again, 'cluster.nodes'), reasonOf(edited, 'cluster.nodes'), 'the first reason stays as it is');
  });

  it('survives as JSON', async () => {
    const first = await resolved({ model: llama8b });
    const kept = JSON.parse(JSON.stringify(planScenario(first))) as Scenario;
    assert.deepEqual((await resolved({ model: llama8b }, kept)).layout, first.layout);
  });

  it('keeps the GPUs of a model that grows out of them, and changes a layout that no longer fits, and reports it', async () => {
    const first = await resolved({ model: llama8b });
    const edited = await resolved({ model: { ...llama8b, layers: 64 } }, planScenario(first));
    assert.deepEqual([edited.cluster.nodes, edited.training.globalBatch], [1, 32]);
    assert.notDeepEqual(edited.layout, first.layout);
    assert.match(reasonOf(edited, 'layout.tensor'), /^TP1 PP2 DP4 of the first plan no longer runs: /);
    const keys = scenarioChanges(planScenario(first), edited).map(({ key }) => key);
    assert.ok(keys.includes('layout.tensor') && keys.every((key) => key.startsWith('layout.')), keys.join());
  });

  it('follows a size that a file gives by now, and keeps the others', async () => {
    const first = await resolved({ model: llama8b });
    const { layout, training, cluster } = await resolved({ model: llama8b, layout: { tensor: 2 } }, planScenario(first));
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data], [2, first.layout.pipeline, 8 / 2 / first.layout.pipeline]);
    assert.deepEqual([training.globalBatch, cluster.nodes], [32, 1]);
  });

  it('takes the nearest batch that divides where the old one does not, with the reason', async () => {
    const first = await resolved({ model: llama8b });
    const edited = await resolved({ model: llama8b, layout: { tensor: 1, pipeline: 2, data: 12 } }, planScenario(first));
    assert.equal(edited.training.globalBatch, 36);
    assert.equal(reasonOf(edited, 'training.globalBatch'), '32 is not divisible by 12 replicas');
    assert.equal(edited.cluster.nodes, 3);
  });

  it('does not keep what a file set', async () => {
    const first = await resolved({ model: llama8b, training: { globalBatch: 512 }, cluster: { nodes: 4 } });
    const edited = await resolved({ model: llama8b }, planScenario(first));
    assert.deepEqual([edited.training.globalBatch, edited.cluster.nodes], [32, 1]);
  });
});

describe('nodes that no file gives', () => {
  it('are the fewest that fit with room for sizes without replicas, too', async () => {
    const large = { ...llama8b, layers: 80, hidden: 8192, heads: 64, ffn: 28672 };
    const { cluster, layout } = await resolved({ model: large, layout: { tensor: 8, pipeline: 1 } });
    assert.ok(cluster.nodes > 1 && layout.data === cluster.nodes, `${cluster.nodes} nodes`);
    const fixed = await resolved({ model: large, layout: { tensor: 8, pipeline: 1, data: 1 } });
    assert.equal(fixed.cluster.nodes, 1);
  });
});

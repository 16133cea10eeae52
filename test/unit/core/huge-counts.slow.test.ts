import assert from 'node:assert/strict';
import { defaults } from '../../../src/cli/common-options';
import { readConfig } from '../../../src/cli/read-config';
import type { MemoryInputs } from '../../../src/core/domain/request';
import { planRun } from '../../../src/core/export/planned-config';
import { judgedMemories } from '../../../src/core/memory-model/chunk-memory';
import { fitsGpuMemory } from '../../../src/core/memory-model/count';
import { randomNumbers } from '../../../src/core/numbers';
import { ranksOfStages } from '../../../src/core/partition/host-memory';
import { evenStageContents } from '../../../src/core/partition/stages';
import { generateSchedule, toScheduleProblem } from '../../../src/core/schedules/registry';
import { gpt, request } from '../../golden/requests';

/** Counts of work, not times, of files with huge numbers that took seconds. */
describe('files with huge numbers', () => {
  const model = gpt(16, 2048, 16, 51_200);

  /** The ranks on each node, of every GPU by itself. */
  function everyRank(ranks: number, gpusPerNode: number, adjacent: number, pipeline: number): Map<number, Map<number, number>> {
    const nodes = new Map<number, Map<number, number>>();
    for (let rank = 0; rank < ranks; rank++) {
      const node = Math.floor(rank / gpusPerNode);
      const stage = Math.floor(rank / adjacent) % pipeline;
      const counts = nodes.get(node) ?? new Map<number, number>();
      nodes.set(node, counts.set(stage, (counts.get(stage) ?? 0) + 1));
    }
    return nodes;
  }

  const orders = ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp'] as const;
  const hosts = (order: (typeof orders)[number], tensor: number, pipeline: number, data: number, gpusPerNode: number) => {
    const asked = request('H100-80GB', model, { training: {}, layout: { order, tensor, pipeline, data } });
    return { ...asked, cluster: { ...asked.cluster, gpusPerNode, nodes: Math.ceil((tensor * pipeline * data) / gpusPerNode) } };
  };

  it('count ranks of nodes alike once: 32 million GPUs of TorchTitan', () => {
    for (const order of orders) {
      assert.ok(ranksOfStages(hosts(order, 8, 4, 1_000_000, 8)).size <= 4);
      assert.ok(ranksOfStages(hosts(order, 1, 64, 1_000_000, 8)).size <= 64);
    }
  });

  it('look at a node of every kind that there is', () => {
    const random = randomNumbers(39);
    const draw = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
    const kinds = (nodes: ReadonlyMap<number, ReadonlyMap<number, number>>): string[] =>
      [...new Set([...nodes.values()].map((counts) => JSON.stringify([...counts].sort(([a], [b]) => a - b))))].sort();
    for (let round = 0; round < 400; round++) {
      const [tensor, pipeline, data, gpusPerNode] = [draw(1, 9), draw(1, 6), draw(1, 24), draw(1, 12)];
      for (const order of orders) {
        const found = ranksOfStages(hosts(order, tensor, pipeline, data, gpusPerNode));
        const adjacent = order === 'tp-cp-ep-pp-dp' ? tensor : tensor * data;
        // a last node that is not full begins as another one does
        const ranks = tensor * pipeline * data;
        const every = everyRank(ranks - (ranks > gpusPerNode ? ranks % gpusPerNode : 0), gpusPerNode, adjacent, pipeline);
        const full = new Map([...found].filter(([node]) => every.has(node)));
        assert.deepEqual(kinds(full), kinds(every), [order, tensor, pipeline, data, gpusPerNode].join());
      }
    }
  });

  it('make no list of the micro-batches of a remedy: a million sequences in one', async () => {
    const text = JSON.stringify({
      model: { layers: 32, hidden: 4096, heads: 32, vocab: 50_257 },
      layout: { tensor: 2, pipeline: 8, data: 1 },
      cluster: { gpu: 'A100-40GB', nodes: 2, gpusPerNode: 8 },
      training: { sequenceLength: 4096, globalBatch: 8_000_000, microBatch: 1_000_000, precision: 'fp16' },
      schedule: '1F1B',
    });
    const { from } = Array;
    let longest = 0;
    Array.from = ((...args: Parameters<typeof from>) => {
      const made = from.apply(Array, args);
      longest = Math.max(longest, made.length);
      return made;
    }) as typeof from;
    try {
      const reading = { sets: [], shell: () => Promise.reject(new Error('no shell here')) };
      const planned = planRun(await readConfig({ file: 'terapipe.json', text }, reading, new Map()), defaults, { isCompared: false });
      assert.ok(planned.plan.candidates.length > 0);
    } finally {
      Array.from = from;
    }
    assert.ok(longest > 0 && longest <= 200_000, `${longest}`);
  });

  it('count what a chunk holds only where it decides whether slices fit: 100 million tokens', () => {
    const asked = request('V100-16GB', model, { training: { sequenceLength: 65_536, globalBatch: 8 }, layout: { pipeline: 8 } });
    let reads = 0;
    const inputs: MemoryInputs = new Proxy(asked, {
      get: (target, key) => {
        reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    const scheme = Array.from({ length: 8 }, () => ({ batch: 1, tokens: Array.from({ length: 64 }, () => 1024) }));
    const schedule = generateSchedule('TeraPipe', toScheduleProblem(scheme, 8));
    const shapes = evenStageContents(16, 8);
    const counted = (count: () => void): number => {
      reads = 0;
      count();
      return reads;
    };
    assert.equal(
      counted(() => judgedMemories(inputs, schedule.units, shapes, () => 1, true)),
      0,
      'nothing before it is asked for',
    );
    const fitting = counted(() => assert.equal(fitsGpuMemory(inputs, schedule, shapes, 2 ** 60), true));
    const over = counted(() => assert.equal(fitsGpuMemory(inputs, schedule, shapes, 1), false));
    assert.ok(over < fitting / 2, `${over} ${fitting}`);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { rankPeers, placeRanks, rankGroups, stageNodes, type PlacedRank } from '../../../../src/core/cluster/rank-groups';
import type { Layout } from '../../../../src/core/domain/request';
import type { RankOrder } from '../../../../src/core/domain/runtime';
import { gpt, request } from '../../../golden/requests';

const cluster = {
  ...request('H100-80GB', gpt(8, 1024, 16, 50304), { training: {}, layout: { tensor: 2, pipeline: 4 } }).cluster,
  nodes: 4,
  gpusPerNode: 8,
};
const layout = { tensor: 2, pipeline: 4, data: 4, context: 1, expert: 4, virtualStages: 1 };

describe('ranks of a layout', () => {
  it('lie as Megatron-LM numbers them: tensor ranks, replicas, stages', () => {
    const ranks = placeRanks(layout, cluster, 'tp-cp-ep-dp-pp');
    assert.equal(ranks.length, 32);
    const { node, gpu, places } = ranks[13]!;
    assert.deepEqual([node, gpu, places.tensor, places.data, places.pipeline], [1, 5, 1, 2, 1]);
    const peers = (kind: (typeof rankGroups)[number]) => rankPeers(ranks, ranks[13]!, kind).map(({ rank }) => rank);
    assert.deepEqual(peers('tensor'), [12]);
    assert.deepEqual(peers('data'), [9, 11, 15]);
    assert.deepEqual(peers('pipeline'), [5, 21], 'the stages next to its own');
    assert.deepEqual(peers('expert'), [9, 11, 15]);
  });

  it('lie stage next to stage where the runtime numbers them so', () => {
    const ranks = placeRanks({ ...layout, data: 1, pipeline: 16 }, cluster, 'tp-cp-ep-pp-dp');
    assert.deepEqual(
      rankPeers(ranks, ranks[6]!, 'pipeline').map(({ rank, node }) => [rank, node]),
      [
        [4, 0],
        [8, 1],
      ],
    );
  });

  it('are in groups of the right sizes, each rank in one place of each', () => {
    for (const order of ['tp-cp-ep-dp-pp', 'tp-cp-ep-pp-dp'] as const)
      for (const changed of [layout, { ...layout, context: 2, data: 2, expertTensor: 1 }]) {
        const ranks = placeRanks(changed, cluster, order);
        assert.equal(new Set(ranks.map(({ node, gpu }) => `${node}.${gpu}`)).size, ranks.length, 'a GPU each');
        for (const kind of rankGroups) {
          const groups = new Map<number, PlacedRank[]>();
          for (const one of ranks) groups.set(one.groups[kind], [...(groups.get(one.groups[kind]) ?? []), one]);
          assert.equal(groups.size, ranks.length / changed[kind]);
          for (const members of groups.values()) {
            assert.equal(members.length, changed[kind], kind);
            assert.deepEqual(
              members.map(({ places }) => places[kind]).sort((a, b) => a - b),
              Array.from({ length: changed[kind] }, (_, place) => place),
            );
          }
        }
      }
  });

  it('have several stages on a node where a stage takes fewer GPUs than it has', () => {
    const nodes = (changed: Partial<Layout>, order: RankOrder) => stageNodes(placeRanks({ ...layout, ...changed }, cluster, order));
    assert.deepEqual(nodes({}, 'tp-cp-ep-dp-pp'), [], 'a stage takes a whole node');
    assert.deepEqual(
      nodes({ data: 1, pipeline: 6 }, 'tp-cp-ep-dp-pp').map(({ stages }) => stages),
      [
        [0, 1, 2, 3],
        [4, 5],
      ],
    );
    assert.deepEqual(nodes({ data: 2, pipeline: 8 }, 'tp-cp-ep-pp-dp'), [
      { node: 0, nodes: 2, stages: [0, 1, 2, 3] },
      { node: 1, nodes: 2, stages: [4, 5, 6, 7] },
    ]);
    // Stage 2 has GPUs 6 to 8: it counts to the node of its first.
    assert.deepEqual(
      nodes({ tensor: 3, data: 1, pipeline: 5 }, 'tp-cp-ep-dp-pp').map(({ stages }) => stages),
      [
        [0, 1, 2],
        [3, 4],
      ],
    );
  });

  it('take the GPUs of their own group of nodes', () => {
    const groups = [
      { ...cluster, nodes: 1 },
      { ...cluster, nodes: 3 },
    ];
    const mixed = { ...layout, stageNodeGroups: [1, 1, 0, 1] };
    const nodes = placeRanks(mixed, { ...cluster, groups }, 'tp-cp-ep-dp-pp').map(({ node }) => node);
    assert.deepEqual([nodes[0], nodes[8], nodes[16], nodes[24]], [1, 2, 0, 3]);
  });
});

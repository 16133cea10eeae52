import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { ordersDiffer, replicaLinks, sendingGpus, someStagesJoined, stagesJoined } from '../../../../src/core/cluster/boundaries';
import { placeRanks } from '../../../../src/core/cluster/rank-groups';
import { v100Links } from '../../../../src/core/cluster/links';
import { rankOrders } from '../../../../src/core/domain/runtime';
import { gpt, request } from '../../../golden/requests';

const node = { gpusPerNode: 8, links: v100Links };
/** TeraPipe's setting (6): one GPU a stage, four replicas. */
const sixth = { tensor: 1, context: 1, pipeline: 96, data: 4 };

describe('the order of ranks', () => {
  it('decides which stages reach each other without the network', () => {
    const crossing = (order: (typeof rankOrders)[number]) =>
      Array.from({ length: 95 }, (_, stage) => stagesJoined(sixth, node, order, stage, stage + 1)).filter((joined) => !joined).length;
    assert.equal(crossing('tp-cp-ep-pp-dp'), 11, '96 stages on 12 nodes');
    assert.equal(crossing('tp-cp-ep-dp-pp'), 47, 'two stages of four replicas on a node');
    const whole = { ...sixth, tensor: 8, pipeline: 24, data: 2 };
    for (const order of rankOrders) assert.equal(someStagesJoined(whole, node, order), false);
  });

  it('joins stages exactly where all their ranks lie on one node', () => {
    for (const order of rankOrders)
      for (const layout of [sixth, { tensor: 2, context: 1, pipeline: 6, data: 4 }, { tensor: 3, context: 1, pipeline: 5, data: 2 }]) {
        const { cluster } = request('V100-16GB', gpt(96, 1024, 16, 0), { training: {}, layout });
        const ranks = placeRanks({ ...layout, expert: 1, virtualStages: 1 }, cluster, order);
        for (let stage = 0; stage + 1 < layout.pipeline; stage++) {
          const nodes = (replica: number): Set<number> =>
            new Set(
              ranks
                .filter(
                  ({ places }) =>
                    (places.pipeline === stage || places.pipeline === stage + 1) && (order === 'tp-cp-ep-dp-pp' || places.data === replica),
                )
                .map((rank) => rank.node),
            );
          const together = Array.from({ length: layout.data }, (_, replica) => nodes(replica).size).every((size) => size === 1);
          assert.equal(stagesJoined(layout, cluster, order, stage, stage + 1), together, `${order} ${JSON.stringify(layout)} ${stage}`);
        }
      }
  });

  it('decides whether replicas exchange gradients inside a node, and how many groups share its network', () => {
    assert.deepEqual(replicaLinks(sixth, node, 'tp-cp-ep-dp-pp', 4), { joined: true, sharing: 1 });
    assert.deepEqual(replicaLinks(sixth, node, 'tp-cp-ep-pp-dp', 4), { joined: false, sharing: 8 });
    const two = { tensor: 2, context: 1, pipeline: 2, data: 8 };
    assert.deepEqual(replicaLinks(two, node, 'tp-cp-ep-dp-pp', 8), { joined: false, sharing: 2 });
    assert.deepEqual(replicaLinks(two, node, 'tp-cp-ep-pp-dp', 8), { joined: false, sharing: 4 }, 'two replicas on a node');
  });

  it('decides how many GPUs of a node send at once', () => {
    assert.equal(sendingGpus(sixth, node, 'tp-cp-ep-dp-pp'), 4);
    assert.equal(sendingGpus(sixth, node, 'tp-cp-ep-pp-dp'), 1);
  });

  it('is not a choice where stages fill nodes, or all ranks are on one', () => {
    assert.equal(ordersDiffer(sixth, node), true);
    assert.equal(ordersDiffer({ ...sixth, tensor: 8, pipeline: 12 }, node), false);
    assert.equal(ordersDiffer({ ...sixth, data: 1 }, node), false);
    assert.equal(ordersDiffer({ ...sixth, pipeline: 2 }, node), false);
  });
});

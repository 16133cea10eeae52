import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import { crossingText } from '../../../../src/core/layout-search/labels';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { joinedGpus, type NodeGroup } from '../../../../src/core/domain/cluster';
import { allReduceSeconds, allToAllSeconds } from '../../../../src/core/time-model/collectives';
import { rooflineProvenance } from '../time-model/provenances';
import { megatronBoundary, terapipeBoundary } from '../../../../src/core/time-model/boundary';
import { gradientExchangeTime } from '../../../../src/core/time-model/gradient-exchange';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { gpt, mixtral, request } from '../../../golden/requests';
import { loadObject } from '../config-files/files';
import { say } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const { gpu, links, gpusPerNode } = gpuPresets.GB200;
const rack: NodeGroup = { gpu, links, nodes: 36, gpusPerNode };
/** The same nodes, joined only by the network. */
const apart: NodeGroup = { ...rack, links: { ...links, nvlinkDomain: 4 } };
const bytes = 1e9;

describe('NVLink beyond a node', () => {
  it('joins 72 GPUs of a GB200 or GB300 rack, and those of a node elsewhere', () => {
    assert.deepEqual([joinedGpus(gpuPresets.GB200), joinedGpus(gpuPresets.GB300), joinedGpus(gpuPresets.B200)], [72, 72, 8]);
    assert.equal(joinedGpus({ ...rack, gpusPerNode: 128 }), 128);
  });

  it('carries collectives of up to 72 GPUs, and no more', () => {
    for (const ranks of [8, 64, 72])
      assert.ok(allReduceSeconds(bytes, ranks, apart) > 3 * allReduceSeconds(bytes, ranks, rack), `${ranks}`);
    assert.equal(allReduceSeconds(bytes, 144, rack), allReduceSeconds(bytes, 144, apart));
    assert.ok(allToAllSeconds(bytes, 64, 1, apart) > 10 * allToAllSeconds(bytes, 64, 1, rack));
    // 128 ranks leave the rack with (128 - 72) / 128 of what they send, nodes apart with 124 / 128
    const [joined, single] = [rack, apart].map((cluster) => allToAllSeconds(bytes, 128, 1, cluster));
    assert.ok(Math.abs((single ?? 0) / (joined ?? 0) / (124 / 56) - 1) < 0.01);
  });

  it('carries sends between stages and the gradient exchange where all of them are inside', () => {
    const on = (cluster: NodeGroup, pipeline: number) => ({
      ...request('B200', gpt(48, 4096, 32, 51200), { training: {}, layout: { tensor: 4, pipeline, data: 4 } }),
      cluster,
    });
    const stage = { layers: 12 };
    const sends = [
      { send: megatronBoundary, times: 1.8 },
      { send: terapipeBoundary, times: 1.5 },
    ];
    for (const { send, times } of sends) {
      assert.ok(send(on(apart, 4), 1, 2048) > times * send(on(rack, 4), 1, 2048));
      assert.equal(send(on(apart, 8), 1, 2048), send(on(rack, 8), 1, 2048));
    }
    assert.ok(gradientExchangeTime(on(apart, 4), stage) > 3 * gradientExchangeTime(on(rack, 4), stage));
  });

  it('lets gradients of replicas in several racks leave by the cards of all their ranks', () => {
    const exchange = (cluster: NodeGroup, data: number): number =>
      gradientExchangeTime(
        { ...request('B200', gpt(48, 4096, 32, 51200), { training: { zeroStage: 1 }, layout: { tensor: 4, data } }), cluster },
        { layers: 48 },
      );
    // a rack has 18 ranks of a group, whose cards carry more than the NVLink of one; a node has one, with one card
    assert.ok(exchange(rack, 32) < 1.6 * exchange(rack, 18), `${exchange(rack, 18)} ${exchange(rack, 32)}`);
    assert.ok(exchange(apart, 32) > 10 * exchange(rack, 32));
  });

  it('decides at which speed context parallelism exchanges heads for tokens', () => {
    const { cluster, ...run } = request('H100-80GB', gpt(8, 8192, 64, 51200), {
      training: { microBatch: 1, sequenceLength: 32_768, attention: 'flash', contextParallelComm: 'all-to-all' },
      layout: { tensor: 2, context: 8 },
    });
    const forward = (kind: NodeGroup, nicGBps: number): number =>
      stageCost({ ...run, cluster: { ...kind, links: { ...kind.links, nicGBps } } }, 1, { first: false, last: false })(1, 32_768, 0)
        .forwardMs;
    assert.ok(forward(cluster, 4) > 10 * forward(cluster, 400));
    assert.ok(forward(cluster, 400) > forward({ ...cluster, gpusPerNode: 16 }, 400));
    assert.equal(forward({ ...cluster, gpusPerNode: 16 }, 4), forward({ ...cluster, gpusPerNode: 16 }, 400));
    assert.equal(forward({ ...cluster, links: { ...cluster.links, nvlinkDomain: 72 } }, 4), forward({ ...cluster, gpusPerNode: 16 }, 4));
  });

  it('reports that experts or tensor ranks cross nodes only where they leave it', () => {
    const reason = (cluster: NodeGroup, layout: object): string =>
      toText(
        rooflineProvenance(
          { ...request('B200', mixtral(8), { training: {}, layout }), cluster: { ...cluster, gpu: { ...gpu, gemmEfficiencyKnown: true } } },
          1,
          4096,
        ).errorBecause,
      );
    assert.match(reason(apart, { expert: 8 }), /between nodes/);
    assert.doesNotMatch(reason(rack, { expert: 8 }), /between nodes/);
    assert.match(reason(apart, { tensor: 8 }), /crosses nodes/);
    assert.doesNotMatch(reason(rack, { tensor: 8 }), /crosses nodes/);
    assert.deepEqual(
      [say(crossingText(rack)), say(crossingText(apart))],
      ['leaves the 72 GPUs that NVLink joins', 'crosses nodes of 4 GPUs'],
    );
  });

  it('lets a search and the findings have tensor groups of several nodes', async () => {
    const config = (links: object, tensor: object = {}) => ({
      model: { layers: 8, hidden: 16384, heads: 128, vocab: 50304 },
      cluster: { gpu: 'GB200', nodes: 16, ...links },
      training: { sequenceLength: 4096, globalBatch: 64, microBatch: 1, recompute: 'none' },
      schedule: 'GPipe',
      layout: { pipeline: 1, context: 1, ...tensor },
    });
    const tensors = async (links: object): Promise<number> => {
      const run = await loadObject(config(links));
      const problem = toSearchProblem(run, resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
      return Math.max(...[...candidateGroups(problem)].map(({ layout }) => layout.tensor));
    };
    assert.deepEqual([await tensors({}), await tensors({ links: { nvlinkDomain: 4 } })], [64, 4]);
    const beyond = async (links: object): Promise<string[]> =>
      runFindings(await loadObject(config(links, { tensor: 16 })), null)
        .filter(({ code }) => code === 'tensor-beyond-node')
        .map(({ message }) => say(message));
    assert.deepEqual(await beyond({}), []);
    assert.deepEqual(await beyond({ links: { nvlinkDomain: 8 } }), [
      'A tensor size of 16 leaves the 8 GPUs that NVLink joins: every layer waits for the network',
    ]);
  });

  it('is a key of terapipe.json and of --set, and stays when another figure is replaced', async () => {
    const run = await loadObject({
      model: { layers: 4, hidden: 512, heads: 4, vocab: 0 },
      cluster: { gpu: 'GB300', links: { nicGBps: 50 } },
    });
    assert.deepEqual([run.links?.value.nvlinkDomain, run.links?.value.nicGBps, run.links?.value.hostGBps], [72, 50, 180]);
    assert.equal(applyOverrides(run, ['cluster.links.nvlinkDomain=36']).links?.value.nvlinkDomain, 36);
  });
});

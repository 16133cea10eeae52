import assert from 'node:assert/strict';
import { instanceNames, instances } from '../../../../src/core/cluster/instances';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { inspectAnswer } from '../../../../src/cli/answers/inspect';
import type { Run } from '../../../../src/core/run/run';
import { loadObject } from '../config-files/files';
import type { ExpectedError } from '../../../../src/core/errors';
import { say } from '../../../../src/core/sentence';

const model = { layers: 4, hidden: 512, heads: 4, vocab: 0 };
const load = (cluster: object): Promise<Run> => loadObject({ model, cluster });
const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

describe('machine types of clouds', () => {
  it('have the links of their GPU inside, and a network and PCIe of their own with a source', () => {
    for (const name of instanceNames) {
      const { gpu, links, gpusPerNode } = instances[name];
      assert.deepEqual(links.intraNodeBusGBps, gpuPresets[gpu].links.intraNodeBusGBps, name);
      assert.ok([50, 100, 200, 400].includes(links.nicGBps), name);
      assert.equal(gpusPerNode, 8, name);
      assert.match(links.source, /Gbit\/s/, name);
    }
  });

  it('stand for GPU, GPUs a node and links', async () => {
    const run = await load({ instance: 'p4d.24xlarge', nodes: 2 });
    const { cluster } = resolveRun(run, defaults);
    assert.deepEqual([cluster.gpu.name, cluster.gpusPerNode, cluster.nodes, cluster.links.nicGBps], ['A100-40GB', 8, 2, 50]);
    assert.deepEqual(run.gpu?.source, run.instance?.source);
    const inspected = inspectAnswer(run).json as { readonly cluster: object };
    assert.deepEqual(inspected.cluster, {
      instance: 'p4d.24xlarge',
      gpu: 'A100-40GB',
      memoryBytes: 40_960 * 2 ** 20,
      nodes: 2,
      gpusPerNode: 8,
      groups: null,
    });
  });

  it('can be given with figures of links and of the GPU, and with part of a node', async () => {
    const run = await load({
      instance: 'a3-megagpu-8g',
      gpu: { preset: 'H100-80GB', memoryGB: 70 },
      gpusPerNode: 4,
      links: { nicGBps: 90 },
    });
    const { cluster } = resolveRun(run, defaults);
    assert.deepEqual([cluster.links.nicGBps, cluster.links.hostGBps, cluster.gpusPerNode], [90, 50.4, 4]);
    assert.equal(cluster.gpu.memoryBytes, 70 * 2 ** 30);
  });

  it('are refused with another GPU or more GPUs than they have, and where nobody knows them', async () => {
    await assert.rejects(load({ instance: 'p5.48xlarge', gpu: 'A100-80GB' }), (error: ExpectedError) => {
      assert.deepEqual([error.code, error.message], ['config-inconsistent', 'cluster.gpu is A100-80GB, and p5.48xlarge has H100-80GB']);
      return say(error.remedy) === 'remove gpu, or name another instance';
    });
    await assert.rejects(load({ instance: 'p5.48xlarge', gpusPerNode: 16 }), /cluster\.gpusPerNode is 16, and p5\.48xlarge has 8 GPUs/);
    await assert.rejects(load({ instance: 'p5.24xlarge' }), /cluster\.instance/);
    await assert.rejects(load({ instance: 'p5.48xlarge', groups: [{ gpu: 'H200', nodes: 1 }] }), /both groups and instance/);
  });

  it('can be the nodes of a group', async () => {
    const run = await load({
      groups: [
        { instance: 'p5.48xlarge', nodes: 2 },
        { instance: 'p4de.24xlarge', nodes: 4 },
      ],
    });
    assert.deepEqual(
      run.groups?.value.map(({ gpu, links, nodes, gpusPerNode }) => [gpu.name, links.nicGBps, nodes, gpusPerNode]),
      [
        ['H100-80GB', 400, 2, 8],
        ['A100-80GB', 50, 4, 8],
      ],
    );
    await assert.rejects(load({ groups: [{ nodes: 2 }, { gpu: 'H200', nodes: 1 }] }), /cluster\.groups\[0\] has no gpu/);
  });

  it('can be set overriding the files', async () => {
    const run = applyOverrides(await load({ gpu: 'H200', gpusPerNode: 4 }), ['cluster.instance=ND96isr_MI300X_v5']);
    assert.deepEqual([run.gpu?.value.name, run.gpusPerNode?.value, run.links?.value.nicGBps], ['MI300X', 8, 400]);
    const same = applyOverrides(run, ['cluster.gpu=MI300X']);
    assert.equal(same.links, run.links);
    const other = applyOverrides(run, ['cluster.gpu=B200']);
    assert.deepEqual([other.instance, other.links?.value], [undefined, gpuPresets.B200.links]);
  });
});

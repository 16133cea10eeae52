import assert from 'node:assert/strict';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { errorOf, load, loadObject, pointedAt } from '../config-files/files';
import { say } from '../../../../src/core/sentence';

const model = { layers: 8, hidden: 1024, heads: 16 };
const text = (cluster: object, layout: object = {}) => JSON.stringify({ model, cluster, layout });
const refused = async (cluster: object, layout: object = {}) => {
  const written = text(cluster, layout);
  const error = await errorOf(load({ 'terapipe.json': written }));
  return [error.code, error.message, pointedAt(error, written)];
};

describe('cluster.groups', () => {
  it('are read with the links and GPUs a node that their presets have, or their own', async () => {
    const { groups, gpu, remarks } = await loadObject({
      model,
      cluster: {
        groups: [
          { gpu: 'H100-80GB', nodes: 2 },
          { gpu: { preset: 'A100-80GB', gemmEfficiency: 0.8 }, nodes: 4, gpusPerNode: 4, links: { nicGBps: 50 } },
        ],
      },
    });
    const [first, second] = groups?.value ?? [];
    assert.deepEqual(first, { ...gpuPresets['H100-80GB'], nodes: 2 });
    assert.deepEqual([second?.gpu.name, second?.gpu.gemmEfficiency, second?.gpusPerNode, second?.links.nicGBps], ['A100-80GB', 0.8, 4, 50]);
    assert.equal(gpu, undefined);
    assert.deepEqual(remarks, []);
  });

  it('of one kind are the plain cluster they make', async () => {
    const { groups, gpu, links, nodes, gpusPerNode } = await loadObject({
      model,
      cluster: { groups: [{ gpu: 'L40S', nodes: 2 }, { gpu: 'L40S', nodes: 3, gpusPerNode: 8 }] }, // prettier-ignore
    });
    assert.equal(groups, undefined);
    assert.deepEqual([gpu?.value, links?.value, nodes?.value, gpusPerNode?.value], [gpuPresets.L40S.gpu, gpuPresets.L40S.links, 5, 8]);
  });

  it('are refused at their place where they are unclear', async () => {
    const groups = [{ gpu: 'L40S', nodes: 2 }];
    assert.deepEqual((await refused({ groups, gpu: 'L40S' })).slice(0, 2), ['config-inconsistent', 'cluster has both groups and gpu']);
    assert.deepEqual(await refused({ groups: [] }), ['config-out-of-range', 'cluster.groups is a list of 0', '[]']);
    assert.deepEqual(await refused({ groups: 4 }), ['config-wrong-type', 'cluster.groups is not a list', '4']);
    assert.deepEqual(await refused({ groups: [{ nodes: 2 }] }), ['config-inconsistent', 'cluster.groups[0] has no gpu', '{"nodes":2}']);
    assert.deepEqual((await refused({ groups: [...groups, { gpu: 'H200' }] })).slice(0, 2), [
      'config-inconsistent',
      'cluster.groups[1] has no nodes',
    ]);
    assert.deepEqual(await refused({ groups: [{ gpu: 'H2000', nodes: 1 }] }), [
      'config-unknown-preset',
      '"H2000" is not a GPU preset',
      '"H2000"',
    ]);
    assert.deepEqual(await refused({ groups: [{ gpu: 'H200', nodes: 0 }] }), ['config-out-of-range', 'cluster.groups[0].nodes is 0', '0']);
    assert.deepEqual(await refused({ gpu: 'L40S' }, { stageNodeGroups: [0, 0] }), [
      'config-inconsistent',
      'layout.stageNodeGroups is given, and the cluster has no groups',
      '[0,0]',
    ]);
  });

  it('remark on a key that is misspelt, with fixes at its place', async () => {
    const { remarks, texts } = await loadObject({ model, cluster: { groups: [{ gpu: 'L40S', nodes: 2 }, { gpu: 'H200', nodes: 1, gpuPerNode: 4 }] } }); // prettier-ignore
    const [remark, other] = remarks ?? [];
    assert.deepEqual([say(remark!.message), other], ['"gpuPerNode" is not a key of cluster.groups[1] and is ignored', undefined]);
    const [rename, remove] = remark!.fixes;
    assert.equal(say(rename!.title), 'Rename to "gpusPerNode"');
    const [edit] = remove?.edits ?? [];
    const whole = texts?.get('terapipe.json') ?? '';
    assert.match(whole.slice(edit!.place.range.start, edit!.place.range.end), /^,\s*"gpuPerNode": 4$/);
  });

  it('leave nothing else of the cluster to be set', async () => {
    const run = await loadObject({ model, cluster: { groups: [{ gpu: 'L40S', nodes: 2 }, { gpu: 'H200', nodes: 1 }] } }); // prettier-ignore
    for (const set of ['cluster.gpu=H200', 'cluster.nodes=2', 'cluster.gpu.memoryGB=40', 'cluster.links.nicGBps=10'])
      assert.throws(() => applyOverrides(run, [set]), { code: 'config-inconsistent' }, set);
    assert.deepEqual(applyOverrides(run, ['layout.stageNodeGroups=[0,1]']).layout.stageNodeGroups?.value, [0, 1]);
  });
});

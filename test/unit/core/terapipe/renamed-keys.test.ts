import assert from 'node:assert/strict';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { changeJson } from '../../../../src/core/terapipe/change-json';
import { errorOf, load, loadFixture } from '../config-files/files';
import { say } from '../../../../src/core/sentence';

const now = `{
  "model": { "layers": 8, "hidden": 128, "heads": 4 },
  "cluster": { "groups": [{ "gpu": "H100-80GB", "nodes": 1 }, { "gpu": "H200", "nodes": 1, "links": { "intraNodeBusGBps": { "8": 300 } } }] },
  "training": {
    "contextParallelComm": "ring", "overlapGradReduce": true, "overlapParamGather": true,
    "activationOffloadLayers": 1, "gradAccumulationFp32": true
  },
  "layout": { "stageNodeGroups": [0, 1] }
}`;
const names = [
  ['contextExchange', 'contextParallelComm'],
  ['overlapGradients', 'overlapGradReduce'],
  ['overlapParameters', 'overlapParamGather'],
  ['offloadLayers', 'activationOffloadLayers'],
  ['fp32Gradients', 'gradAccumulationFp32'],
  ['stageGroups', 'stageNodeGroups'],
  ['nodeBusGBps', 'intraNodeBusGBps'],
] as const;
const before = names.reduce((text, [old, today]) => text.replaceAll(`"${today}"`, `"${old}"`), now);
const read = (text: string): ReturnType<typeof load> => load({ 'terapipe.json': text });

describe('keys with new names', () => {
  it('are read by their old names as by the new ones', async () => {
    const run = await read(now);
    const values = ({ training, layout, groups }: typeof run): unknown =>
      JSON.parse(JSON.stringify([training, layout, groups], (key, value: unknown) => (key === 'source' ? undefined : value)));
    assert.deepEqual(values(await read(before)), values(run));
    assert.deepEqual(run.remarks, []);
  });

  it('are remarked on once for each file, with a fix that renames them all', async () => {
    const { remarks = [] } = await read(before);
    assert.deepEqual(
      remarks.map(({ code, severity }) => [code, severity]),
      [['renamed-key', 'information']],
    );
    for (const [old, today] of names) assert.ok(say(remarks[0]!.message).includes(`"${old}" is "${today}" now`), old);
    const edits = remarks[0]?.fixes[0]?.edits ?? [];
    const fixed = edits
      .toSorted((a, b) => b.place.range.start - a.place.range.start)
      .reduce((text, { place: { range }, newText }) => text.slice(0, range.start) + newText + text.slice(range.end), before);
    assert.equal(fixed, now);
  });

  it('are refused where a file gives both names', async () => {
    const twice =
      '{ "model": { "layers": 8, "hidden": 128, "heads": 4 }, "training": { "offloadLayers": 1, "activationOffloadLayers": 2 } }';
    const error = await errorOf(read(twice));
    assert.equal(error.code, 'config-duplicate-key');
    assert.match(error.message, /"offloadLayers".*"activationOffloadLayers"/);
    assert.equal(twice.slice(error.place?.range.start, error.place?.range.end), '"offloadLayers"');
  });

  it('are set on a terminal by either name', async () => {
    const run = await loadFixture('pipeline/terapipe.json');
    for (const key of ['training.offloadLayers', 'training.activationOffloadLayers'])
      assert.equal(applyOverrides(run, [`${key}=2`]).training.activationOffloadLayers?.value, 2);
    for (const key of ['cluster.links.nodeBusGBps.8', 'cluster.links.intraNodeBusGBps.8'])
      assert.equal(applyOverrides(run, [`${key}=77`]).links?.value.intraNodeBusGBps[8], 77);
  });

  it('are changed where a file has them by their old names', () => {
    const text = '{ "training": { "offloadLayers": 1 } }';
    const change = changeJson(text, [{ path: ['training', 'activationOffloadLayers'], value: 2 }]);
    assert.deepEqual(change && text.slice(0, change.start) + change.newText + text.slice(change.end), text.replace('1', '2'));
  });
});

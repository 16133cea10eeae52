import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  boundaryRange,
  sizesOfSets,
  steppedSizes,
  whatIfKeys,
  whatIfSets,
  whatIfSizes,
  withBoundary,
  type WhatIfKey,
  type WhatIfSizes,
} from '../../../../src/core/layout-search/what-if';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { splitsModel } from '../../../../src/core/model/mixers';
import { requestOf } from './what-if-requests';

const stepped = (request: PlanRequest, key: WhatIfKey, direction: 1 | -1, from: WhatIfSizes = whatIfSizes(request)): WhatIfSizes | null =>
  steppedSizes(request, 'several', from, key, direction);

describe('sizes to step through', () => {
  it('give replicas what tensor, pipeline and context leave, and nodes what replicas need', () => {
    const request = requestOf();
    assert.deepEqual(stepped(request, 'layout.tensor', 1), { ...whatIfSizes(request), 'layout.tensor': 8, 'layout.data': 2 });
    assert.deepEqual(stepped(request, 'layout.data', 1), { ...whatIfSizes(request), 'layout.data': 8, 'cluster.nodes': 16 });
    assert.deepEqual(stepped(request, 'cluster.nodes', -1), { ...whatIfSizes(request), 'layout.data': 2, 'cluster.nodes': 4 });
    assert.deepEqual(stepped(request, 'layout.context', 1), { ...whatIfSizes(request), 'layout.context': 2, 'layout.data': 2 });
  });

  it('are those that launchers accept: from every one a walk in both directions stays among them', () => {
    const request = requestOf();
    let walked = 0;
    for (const key of whatIfKeys)
      for (const direction of [1, -1] as const)
        for (
          let sizes = stepped(request, key, direction);
          sizes !== null && walked < 500;
          sizes = stepped(request, key, direction, sizes)
        ) {
          walked += 1;
          const { model, training, cluster } = request;
          const gpus = sizes['layout.tensor'] * sizes['layout.pipeline'] * sizes['layout.context'] * sizes['layout.data'];
          assert.equal(gpus, sizes['cluster.nodes'] * cluster.gpusPerNode);
          assert.ok(splitsModel(model, sizes['layout.tensor']), key);
          assert.equal(training.globalBatch % sizes['layout.data'], 0);
          if (sizes['training.microBatch'] > 0)
            assert.equal((training.globalBatch / sizes['layout.data']) % sizes['training.microBatch'], 0);
          if (sizes['layout.virtualStages'] > 1) assert.equal(model.layers % (sizes['layout.pipeline'] * sizes['layout.virtualStages']), 0);
        }
    assert.ok(walked > 20, `${walked} steps`);
  });

  it('are known from what they set, whatever of them no file gives', () => {
    let known = 0;
    for (const assumed of [[], ['layout.data'], ['layout.data', 'cluster.nodes'], ['layout.tensor', 'layout.pipeline', 'layout.data']]) {
      const request = requestOf({ assumed });
      for (const key of whatIfKeys)
        for (const direction of [1, -1] as const) {
          const sizes = stepped(request, key, direction);
          if (sizes === null) continue;
          known += 1;
          assert.deepEqual(sizesOfSets(request, whatIfSets(request, sizes)), sizes, `${key} ${direction}, assumed ${assumed.join()}`);
        }
      assert.deepEqual(sizesOfSets(request, [['schedule', '1F1B']]), whatIfSizes(request));
    }
    assert.ok(known > 30, `${known} steps`);
    const open = requestOf({ assumed: ['training.microBatch'] });
    assert.equal(sizesOfSets(open, [['training.microBatch', 2]])['training.microBatch'], 2);
    assert.equal(sizesOfSets(requestOf(), [['training.microBatch', null]])['training.microBatch'], 0);
  });

  it('stop where nothing is valid: no tensor parallelism over nodes, no experts without any, no cut that a file sets', () => {
    const request = requestOf({ layout: { tensor: 8 } });
    assert.equal(stepped(request, 'layout.tensor', 1), null);
    assert.equal(stepped(request, 'layout.expert', 1), null);
    assert.equal(stepped(requestOf({ layout: { stageLayers: [40, 40] } }), 'layout.pipeline', 1), null);
    assert.equal(steppedSizes(request, 1, whatIfSizes(request), 'layout.virtualStages', 1), null);
    assert.equal(steppedSizes(request, 2, whatIfSizes(request), 'layout.virtualStages', 1)?.['layout.virtualStages'], 2);
  });

  it('lose a micro-batch and virtual stages that no longer divide', () => {
    const request = requestOf({ training: { microBatch: 8 }, layout: { virtualStages: 20 } });
    const more = stepped(request, 'cluster.nodes', 1);
    assert.deepEqual([more?.['layout.data'], more?.['training.microBatch']], [8, 8]);
    const most = stepped(request, 'cluster.nodes', 1, more ?? undefined);
    assert.deepEqual([most?.['layout.data'], most?.['training.microBatch']], [16, 4]);
    assert.equal(stepped(request, 'layout.pipeline', 1)?.['layout.virtualStages'], 1);
  });

  it('hold the batch, and take the nearest that divides where no file gives it and it cannot be held', () => {
    const open = requestOf({ assumed: ['training.globalBatch'] });
    const tensor = stepped(open, 'layout.tensor', 1) ?? assert.fail();
    assert.equal(tensor['training.globalBatch'], 64);
    assert.deepEqual(whatIfSets(open, tensor)[0], ['training.globalBatch', 64], 'set, so that it is the same where it is written');
    const nodes = stepped(open, 'cluster.nodes', 1) ?? assert.fail();
    assert.deepEqual([nodes['cluster.nodes'], nodes['layout.data'], nodes['training.globalBatch']], [10, 5, 65]);
    assert.deepEqual(sizesOfSets(open, whatIfSets(open, nodes)), nodes);
    const back = stepped(open, 'cluster.nodes', -1, nodes) ?? assert.fail();
    assert.equal(back['training.globalBatch'], 64);
    assert.equal(stepped(requestOf(), 'cluster.nodes', 1)?.['cluster.nodes'], 16, 'a batch that a file gives is not changed');
  });

  it('are set by as few keys as keep the rest: what follows by itself is not written, what would be chosen again is', () => {
    const tensor = (request: PlanRequest): WhatIfSizes => stepped(request, 'layout.tensor', 1) ?? assert.fail();
    const given = requestOf();
    assert.deepEqual(whatIfSets(given, whatIfSizes(given)), []);
    assert.deepEqual(whatIfSets(given, tensor(given)), [
      ['layout.tensor', 8],
      ['layout.data', 2],
    ]);
    const derived = requestOf({ assumed: ['layout.data'] });
    assert.deepEqual(whatIfSets(derived, tensor(derived)), [['layout.tensor', 8]]);
    const open = requestOf({ assumed: ['layout.tensor', 'layout.pipeline', 'layout.data'] });
    assert.deepEqual(whatIfSets(open, tensor(open)), [
      ['layout.tensor', 8],
      ['layout.pipeline', 4],
    ]);
    const chosen = requestOf({ assumed: ['training.microBatch'] });
    const one = stepped(chosen, 'training.microBatch', 1) ?? assert.fail();
    assert.deepEqual(whatIfSets(chosen, one), [['training.microBatch', 1]]);
    assert.deepEqual(whatIfSets(given, stepped(given, 'training.microBatch', -1) ?? assert.fail()), [['training.microBatch', null]]);
  });
});

describe('a boundary of stages', () => {
  const request = requestOf();
  const ofLayers = { model: { ...request.model, vocab: 0 } };

  it('moves layers only between its two stages, each of which keeps one unless it has the embedding or the head', () => {
    const cut = [20, 20, 20, 20];
    assert.deepEqual(withBoundary(request, cut, 1, 37), [20, 17, 23, 20]);
    assert.deepEqual(withBoundary(request, cut, 1, -Infinity), [20, 1, 39, 20]);
    assert.deepEqual(withBoundary(request, cut, 1, Infinity), [20, 39, 1, 20]);
    assert.deepEqual(withBoundary(request, cut, 0, 0), [0, 40, 20, 20]);
    assert.deepEqual(withBoundary(request, cut, 2, 80), [20, 20, 40, 0]);
    assert.deepEqual(withBoundary(ofLayers, cut, 0, 0), [1, 39, 20, 20]);
    assert.deepEqual(boundaryRange(request, cut, 2), { least: 41, most: 80 });
  });

  it('stays where neither stage can give a layer', () => {
    assert.deepEqual(withBoundary(request, [2, 1, 0, 2], 1, 2), [2, 1, 0, 2]);
    assert.deepEqual(withBoundary(ofLayers, [1, 1], 0, 0), [1, 1]);
  });

  it('is set with the sizes that no file gives and that the cut would have chosen again', () => {
    const cut = [19, 21, 20, 20];
    assert.deepEqual(whatIfSets(request, whatIfSizes(request), cut), [['layout.stageLayers', cut]]);
    const assumed = requestOf({ assumed: ['layout.tensor', 'layout.pipeline', 'cluster.nodes'] });
    assert.deepEqual(whatIfSets(assumed, whatIfSizes(assumed), cut), [
      ['layout.tensor', 4],
      ['layout.pipeline', 4],
      ['layout.stageLayers', cut],
    ]);
  });
});

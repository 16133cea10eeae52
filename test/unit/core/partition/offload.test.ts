import assert from 'node:assert/strict';
import { hostGBps } from '../../../../src/core/cluster/links';
import type { UnitMemory } from '../../../../src/core/memory-model/chunk-memory';
import { countMemory } from '../../../../src/core/memory-model/count';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chunkCost, offloadWaits } from '../../../../src/core/partition/offload';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import type { PlanRequest, TrainingSpec } from '../../../../src/core/domain/request';
import { cutsFor } from '../../../../src/core/layout-search/cuts';
import { createEvaluator } from '../../../../src/core/layout-search/evaluate';
import { candidateGroups } from '../../../../src/core/layout-search/space';
import { searchKeys } from '../../../../src/core/domain/layout-choices';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { llama3, request } from '../../../golden/requests';
import { toText } from '../../sentence-text';

const shape = { layers: 8, first: true, last: true };
const flash = {
  attention: 'flash',
  precision: 'bf16',
  dropout: false,
  sequenceLength: 8192,
  globalBatch: 4,
  fusedCrossEntropy: true,
} as const;

function llama(training: Partial<TrainingSpec> = {}, links = {}): PlanRequest {
  const wanted = request('H100-80GB', llama3('70b', 8), { training: { ...flash, ...training }, layout: { tensor: 8 } });
  return { ...wanted, schedule: '1F1B', cluster: { ...wanted.cluster, links: { ...wanted.cluster.links, ...links } } };
}

/** What a micro-batch holds on the eight layers. */
function held(activationOffloadLayers: number): UnitMemory {
  const schedule = generateSchedule('1F1B', toScheduleProblem([{ batch: 1, tokens: [8192] }], 1, 1));
  return countMemory(llama({ activationOffloadLayers }), schedule, [shape], 2 ** 40).chunks[0]!.alike[0]!;
}

function activations(activationOffloadLayers: number): number {
  return held(activationOffloadLayers).activations;
}

describe('activations of some layers on the host', () => {
  it('leave those of the others on the GPU', () => {
    const one = activations(7);
    for (const layers of [0, 3, 6]) assert.ok(Math.abs(activations(layers) - (8 - layers) * one) < 1, String(layers));
    assert.equal(activations(8), 0);
    assert.equal(activations(20), 0);
  });

  it('lower the peak by their own, except for one layer on its way back', () => {
    const peak = (activationOffloadLayers: number): number =>
      chosenCandidate(makePlan(llama({ activationOffloadLayers }))).memory.stages[0]!.peakBytes;
    assert.ok(peak(6) < peak(3) && peak(3) < peak(0));
    const layers = (peak(0) - peak(6)) / activations(7);
    assert.ok(layers > 4.99 && layers < 6.01, String(layers));
  });

  it('cost nothing where the copies are done before the layers, and the rest of the copies where not', () => {
    const slow = (hostLink: number) => llama({ activationOffloadLayers: 6 }, { hostGBps: hostLink });
    const at = (inputs: PlanRequest) => chunkCost(inputs, shape)(1, 8192, 0);
    const free = at(llama());
    assert.deepEqual(at(slow(1e4)), free);
    const inputs = slow(1);
    const copyMs = held(6).offloaded! / 1e6;
    const waits = offloadWaits(inputs, shape)(1, 8192, 0);
    assert.ok(waits.forwardMs > waits.backwardMs && waits.forwardMs < copyMs && waits.forwardMs > copyMs - free.forwardMs);
    assert.equal(at(inputs).forwardMs, free.forwardMs + waits.forwardMs);
  });

  it('are shown with the plan: how many bytes, and what it waits for them', () => {
    const offloads = (plan: Plan): string => toText(plan.reasons.find((reason) => toText(reason).includes('wait on the host')));
    assert.equal(offloads(makePlan(llama())), '');
    assert.match(
      offloads(makePlan(llama({ activationOffloadLayers: 2 }))),
      /^activations of 2 layers wait on the host: .* at 50\.4 GB\/s, overlapped with compute$/,
    );
    const slow = makePlan(llama({ activationOffloadLayers: 6 }, { hostGBps: 0.5 }));
    assert.match(offloads(slow), /at 0\.5 GB\/s, which holds its passes up by/);
    assert.equal(slow.limits?.[0]?.limiter, 'offload');
  });

  it('keep the bounds of a search below every layout, though stages recompute more of their layers than one stage of all would', () => {
    const wanted = llama({ activationOffloadLayers: 8, runtime: 'deepspeed', recompute: 'full', recomputeLayers: 2 }, { hostGBps: 5 });
    const evaluator = createEvaluator(wanted);
    const problem = { request: wanted, fixed: new Set(searchKeys.filter((key) => !['tensor', 'pipeline', 'data'].includes(key))) };
    let stages = 0;
    for (const family of candidateGroups(problem))
      for (const stageLayers of cutsFor(problem, family)) {
        const predicted = evaluator.evaluate({ ...family, stageLayers });
        assert.ok(typeof predicted === 'object' && evaluator.groupBound(family).iterationMs <= predicted.iterationMs, stageLayers.join());
        stages = Math.max(stages, stageLayers.length);
      }
    assert.ok(stages >= 4);
  });

  it('take the link of the GPU unless one is given', () => {
    for (const [name, gigabytes] of [
      ['V100-16GB', 12.6],
      ['A100-80GB', 25.2],
      ['H200', 50.4],
      ['MI300X', 50.4],
      ['RTX4090', 25.2],
    ] as const) {
      const { cluster } = request(name, llama3('70b', 1), { training: {}, layout: {} });
      assert.equal(hostGBps(cluster), gigabytes, name);
      assert.equal(hostGBps({ ...cluster, links: { ...cluster.links, hostGBps: 450 } }), 450);
      assert.equal(hostGBps({ ...cluster, gpu: { ...cluster.gpu, name: 'another name' } }), gigabytes, 'the name decides nothing');
    }
  });
});

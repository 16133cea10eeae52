import assert from 'node:assert/strict';
import { elasticTimeline, planElastic } from '../../../../../src/features/elastic/core/make-plan';
import { balanceNames } from '../../../../../src/core/run/elastic';
import { epochVerdict, totalBytes } from '../../../../../src/features/elastic/core/stage-bytes';
import { fitsMemory, verdictOfPeak } from '../../../../../src/core/memory-model/verdict';
import type { ElasticEpoch, ElasticPlan, VariantId } from '../../../../../src/features/elastic/core/plan';
import type { ElasticRequest, Throughput } from '../../../../../src/features/elastic/core/request';
import { operationKind } from '../../../../../src/core/schedules/schedule';
import { bertLarge, requestOf, trainingOf } from './models';
import { toText } from '../../../sentence-text';
import { sentence } from '../../../../../src/core/sentence';

function speedupOf({ variants }: ElasticPlan, id: VariantId): number {
  return variants.find((variant) => variant.id === id)?.speedup ?? NaN;
}

function rates(rows: readonly (readonly [number, number, number])[]): Throughput[] {
  return rows.map(([frozenLayers, pipelineLength, samplesPerSecond]) => ({ frozenLayers, pipelineLength, samplesPerSecond }));
}

/**
 * Rates that the CIFAR-10 log prints once an epoch runs as the one before, and in the first epoch of each setting; the seconds it trained.
 */
const log = {
  steady: rates([[0, 8, 428], [8, 4, 1740], [10, 2, 3832], [12, 1, 16496]]), // prettier-ignore
  first: rates([[6, 4, 588], [8, 4, 1736], [10, 2, 1056], [12, 1, 2304]]), // prettier-ignore
  seconds: [120, 118, 88, 30, 30, 29, 50, 13, 23, 3],
};

describe('an elastic run', () => {
  it('re-splits the data over the replicas as the CIFAR-10 log', () => {
    const { epochs } = planElastic(requestOf({}));
    assert.deepEqual(epochs.map(({ steps }) => steps), [79, 79, 40, 40, 40, 40, 20, 20, 10, 10]); // prettier-ignore
    assert.deepEqual(epochs.map(({ replicas }) => replicas), [2, 2, 4, 4, 4, 4, 8, 8, 16, 16]); // prettier-ignore
    assert.deepEqual(epochs[4]?.firstGpus, [0, 4, 8, 12]);
    assert.ok(epochs.every(({ microBatches, pipelineLength }) => microBatches === (pipelineLength === 1 ? 4 : 16)));
  });

  it('takes the logged rates as cost to within 10 % of every logged epoch', () => {
    const { epochs } = planElastic(requestOf({ throughputs: log.steady, fillingThroughputs: log.first }));
    epochs.forEach(({ trainMs, epoch }) => {
      const seconds = log.seconds[epoch] ?? NaN;
      assert.ok(Math.abs(trainMs / 1e3 / seconds - 1) < 0.1, `epoch ${epoch}: ${trainMs / 1e3} s, logged ${seconds} s`);
    });
  });

  it('predicts the epochs without a change to within 15 % from only the rate of the first one, except for the last', () => {
    const { epochs } = planElastic(requestOf({ throughputs: log.steady.slice(0, 1) }));
    for (const epoch of [0, 1, 4, 5, 7]) {
      const ratio = (epochs[epoch]?.trainMs ?? NaN) / 1e3 / (log.seconds[epoch] ?? NaN);
      assert.ok(Math.abs(ratio - 1) < 0.15, `epoch ${epoch}: ${ratio}`);
    }
  });

  it('gains as the paper measured: nothing by just freezing, some by caching, more by replicas, most by all', () => {
    for (const microBatches of ['table', 'search'] as const)
      for (const alpha of [1 / 5, 1 / 3, 1 / 2]) {
        const plan = planElastic(requestOf({ microBatches, freezing: { kind: 'alpha', alpha } }));
        const [freezing, cache, replicas, all] = (['freezing', 'pipe-cache', 'pipe-dp', 'all'] as const).map((id) => speedupOf(plan, id));
        assert.ok(freezing !== undefined && cache !== undefined && replicas !== undefined && all !== undefined);
        const order = `${freezing} ${cache} ${replicas} ${all}`;
        assert.ok(freezing <= 1 && freezing < cache && cache < replicas && replicas < all && cache > 1, order);
        assert.equal(all, plan.speedup);
      }
  });

  it('gains by alpha as the paper measured on CIFAR-100 (arXiv 2102.03161, 10 epochs of 50,000 images), to within 10 %', () => {
    const published = [[1 / 5, 2.04], [1 / 4, 2.44], [1 / 3, 2.83], [2 / 5, 3.29], [1 / 2, 3.86]] as const; // prettier-ignore
    for (const [alpha, measured] of published) {
      const { speedup } = planElastic(requestOf({ freezing: { kind: 'alpha', alpha } }));
      assert.ok(Math.abs(speedup / measured - 1) < 0.1, `alpha ${alpha}: ${speedup}, measured ${measured}`);
    }
  });

  it('freezes faster with a larger alpha, and is the faster for it', () => {
    const speedups = [1 / 5, 1 / 4, 1 / 3, 2 / 5, 1 / 2].map(
      (alpha) => planElastic(requestOf({ freezing: { kind: 'alpha', alpha } })).speedup,
    );
    assert.deepEqual(
      speedups,
      [...speedups].sort((a, b) => a - b),
    );
  });

  it('gains nothing without frozen layers', () => {
    const plan = planElastic(requestOf({ freezing: { kind: 'given', frozenLayers: [0] } }));
    assert.equal(plan.speedup, 1);
    assert.ok(plan.epochs.every(({ pipelineLength, cache }) => pipelineLength === 8 && !cache.used));
  });

  it('keeps the samples of a step when asked to', () => {
    const { epochs } = planElastic(requestOf({ batchScaling: 'kept' }));
    assert.deepEqual(epochs.map(({ batch, replicas }) => batch * replicas), epochs.map(() => 640)); // prettier-ignore
    assert.ok(epochs.every(({ steps }) => steps === 79));
  });

  it('refuses more replicas than data', () => {
    assert.throws(() => planElastic(requestOf({ datasetSize: 10 })), {
      code: 'elastic-replicas',
      message: /16 pipelines for an epoch of 10 samples/,
    });
    assert.throws(() => planElastic(requestOf({ batch: 4, batchScaling: 'kept' })), {
      code: 'elastic-replicas',
      message: /a step of 8 samples/,
    });
  });

  it('takes another rule for freezing', () => {
    const plan = planElastic(requestOf({ epochs: 4 }), {
      description: sentence`by hand`,
      frozenLayers: (epoch) => [0, 9, 4, 99][epoch] ?? 0,
    });
    assert.deepEqual(plan.epochs.map(({ frozenLayers }) => frozenLayers), [0, 9, 9, 12]); // prettier-ignore
    assert.equal(toText(plan.freezing), 'by hand');
  });

  it('keeps no gradients, states or activations of frozen layers', () => {
    const { epochs } = planElastic(requestOf({}));
    const [first, half] = [epochs[1], epochs[2]];
    assert.ok(first !== undefined && half !== undefined);
    const sum = (epoch: typeof first, part: 'weights' | 'gradients' | 'activations') =>
      epoch.stageBytes.reduce((bytes, stage) => bytes + stage[part], 0);
    const frozen = 742_656 + 6 * (2_363_904 + 4_723_968);
    for (const part of ['weights', 'gradients'] as const) assert.equal(sum(first, part) - sum(half, part), 4 * frozen);
    assert.ok(sum(half, 'activations') < 0.51 * sum(first, 'activations'));
    assert.ok(first.stageBytes.every((stage) => stage.frozen === 0) && (half.stageBytes[0]?.frozen ?? 0) > 4 * frozen);
    assert.ok(epochs.every(({ fits, stageBytes }) => fits && stageBytes.every((stage) => totalBytes(stage) > 0)));
  });

  it('has the limit of every plan: what a card has less what is kept free', () => {
    const request = requestOf({ freezing: { kind: 'given', frozenLayers: [0] }, epochs: 1 });
    const { gpu } = request.cluster;
    for (const balance of balanceNames) {
      const epochsOn = (memoryBytes: number): readonly ElasticEpoch[] =>
        planElastic({ ...request, balance, cluster: { ...request.cluster, gpu: { ...gpu, memoryBytes } } }).epochs;
      const peakBytes = Math.max(...(epochsOn(gpu.memoryBytes)[0]?.stageBytes ?? []).map(totalBytes));
      const least = 1.05 * peakBytes + 2 ** 30;
      // In the last, a card has room only for the context and the tensors, which was the limit once.
      for (const [fits, memoryBytes] of [
        [true, 1.0001 * least],
        [false, 0.9999 * least],
        [false, 1.001 * (peakBytes + 2 ** 30)],
      ] as const) {
        const [epoch] = epochsOn(memoryBytes);
        assert.ok(epoch !== undefined);
        const stages = epoch.stageBytes.map((stage) => ({ peakBytes: totalBytes(stage), capacityBytes: memoryBytes }));
        assert.equal(epoch.fits, fitsMemory({ stages }));
        if (balance !== 'time') assert.equal(epoch.fits, fits);
        else if (fits) assert.ok(epoch.fits);
        const { stage, ...verdict } = epochVerdict(epoch.stageBytes, { memoryBytes });
        assert.deepEqual({ stage, ...verdict }, verdictOfPeak({ ...(stages[stage] ?? assert.fail()), stage, stages: stages.length }));
        assert.ok(stages.every((other) => other.peakBytes <= verdict.peakBytes));
      }
    }
  });

  it('cuts by time only where every stage has room, and shows what the fullest one lacks', () => {
    const request = requestOf({ freezing: { kind: 'given', frozenLayers: [0] }, epochs: 1, balance: 'time' });
    const planOn = (memoryBytes: number): ElasticPlan =>
      planElastic({ ...request, cluster: { ...request.cluster, gpu: { ...request.cluster.gpu, memoryBytes } } });
    const { stageBytes = [] } = planOn(request.cluster.gpu.memoryBytes).epochs[0] ?? {};
    const widest = Math.max(...stageBytes.map(totalBytes));
    const waysOn = (memoryBytes: number): readonly string[] => planOn(memoryBytes).balances[0]?.map(({ name }) => name) ?? [];
    assert.ok(waysOn(1.0001 * (1.05 * widest + 2 ** 30)).includes('time'));
    assert.ok(!waysOn(1.001 * (widest + 2 ** 30)).includes('time'));
    const { reasons } = planOn(2 ** 30 + 2 ** 29);
    const [unfit] = reasons.filter((reason) => toText(reason).includes('does not fit'));
    assert.match(
      toText(unfit),
      /^Epoch 0: Stage \d of 8 needs [\d.]+ GiB, and 488 MiB are usable: does not fit, [\d.]+ GiB over; give a smaller batch, or recompute$/,
    );
  });

  it('runs nothing backward below the lowest layer that trains', () => {
    const whole = planElastic(requestOf({ epochs: 2, freezing: { kind: 'given', frozenLayers: [0, 8] } }));
    const { timeline } = elasticTimeline(whole, 1);
    const backwardOf = (stage: number): number => {
      const rows = Array.from(
        { length: (timeline.rowStart[stage + 1] ?? 0) - (timeline.rowStart[stage] ?? 0) },
        (_, index) => (timeline.rowStart[stage] ?? 0) + index,
      );
      return rows
        .filter((row) => timeline.kind[row] === operationKind.backward)
        .reduce((ms, row) => ms + (timeline.endMs[row] ?? 0) - (timeline.startMs[row] ?? 0), 0);
    };
    // Both stages hold the same two units, but the first needs no gradient of its input.
    assert.ok(backwardOf(0) < 0.9 * backwardOf(1));
  });

  it('draws each epoch as it was timed', () => {
    const plan = planElastic(requestOf({ throughputs: log.steady }));
    for (const { epoch, stepMs, pipelineMs, pipelineLength, microBatches } of plan.epochs) {
      const { timeline, frozenMs, allReduceMs, optimizerMs } = elasticTimeline(plan, epoch);
      assert.ok(Math.abs(timeline.makespanMs - pipelineMs) <= 1e-9 * pipelineMs);
      assert.ok(Math.abs(timeline.makespanMs + frozenMs + allReduceMs + optimizerMs - stepMs) <= 1e-9 * stepMs);
      assert.deepEqual([timeline.stages, timeline.units.length], [pipelineLength, microBatches]);
    }
    assert.throws(() => elasticTimeline(plan, 10), RangeError);
  });

  it('searches the number of micro-batches for the fastest pipeline', () => {
    const [table, search] = (['table', 'search'] as const).map((microBatches) => planElastic(requestOf({ microBatches })).epochs);
    assert.ok(table !== undefined && search !== undefined);
    search.forEach(({ pipelineMs, microBatches, pipelineLength }, epoch) => {
      assert.ok(microBatches >= pipelineLength && microBatches <= 6 * pipelineLength);
      if (pipelineLength > 1) assert.ok(pipelineMs <= (table[epoch]?.pipelineMs ?? NaN));
    });
  });

  it('exchanges the gradients of what trains: all stages over the network of a node, the largest inside one', () => {
    const request = requestOf({});
    const allReduceMs = planElastic(request).epochs[0]?.allReduceMs ?? NaN;
    const bytes = 4 * 85_806_346;
    const seconds = bytes / (request.cluster.links.nicGBps * request.cluster.links.nicEfficiency * 1e9);
    assert.ok(Math.abs(allReduceMs / 1e3 / seconds - 1) < 0.01, `${allReduceMs}`);
    const { nodes, gpusPerNode, links } = request.cluster;
    const joined = { ...request.cluster, links: { ...links, nvlinkDomain: nodes * gpusPerNode } };
    assert.ok(nodes > 1 && (planElastic(requestOf({ cluster: joined })).epochs[0]?.allReduceMs ?? NaN) < 0.1 * allReduceMs);
    const inside = planElastic(requestOf({ cluster: { ...request.cluster, nodes: 1 }, firstLength: 4 })).epochs[0];
    const largest = 4 * Math.max(...(inside?.stageParameters ?? []));
    assert.ok(Math.abs((inside?.allReduceMs ?? NaN) / 1e3 / (largest / (request.cluster.links.intraNodeBusGBps[2] * 1e9)) - 1) < 0.05);
  });

  it("counts the optimizer's state of what trains", () => {
    const stateOf = (optimizer: 'adam' | 'adam-8bit' | 'sgd' | 'none') =>
      planElastic(requestOf({ training: { ...trainingOf(197), optimizer } })).epochs.map(({ stageBytes, stageParameters }) =>
        stageBytes.map((stage, index) => stage.optimizer / (stageParameters[index] ?? NaN)),
      );
    for (const [optimizer, bytes] of [['adam', 8], ['adam-8bit', 2], ['sgd', 4], ['none', 0]] as const) // prettier-ignore
      assert.ok(stateOf(optimizer).flat().every((state) => state === bytes)); // prettier-ignore
  });

  it('computes frozen layers at the speed of the first epoch, however slow a step of only the head was measured', () => {
    const [one, all] = [log.steady.slice(0, 1), log.steady].map(
      (throughputs) => planElastic(requestOf({ throughputs })).epochs[8]?.frozenMs,
    );
    assert.ok(one !== undefined && one > 1000);
    assert.equal(all, one);
  });

  it('lists the greedy cut next to the exact ones, which are not worse by what they balance', () => {
    const { balances } = planElastic(requestOf({ microBatches: 'search' }));
    for (const choices of balances) {
      assert.deepEqual(choices.map(({ name }) => name), ['greedy', 'parameters', 'time']); // prettier-ignore
      const [greedy, parameters] = choices;
      assert.ok((parameters?.largestParameters ?? NaN) <= (greedy?.largestParameters ?? NaN));
    }
    const [first] = balances;
    assert.ok((first?.[2]?.pipelineMs ?? NaN) < 0.9 * (first?.[0]?.pipelineMs ?? NaN));
  });

  it('caches only what host memory and disk can hold, and shows how much that is', () => {
    const bytesPerNode = 25_000 * 197 * 768 * 4;
    const cached = (cache: Partial<ElasticRequest['cache']>) => {
      const request = requestOf({});
      return planElastic({ ...request, cache: { ...request.cache, ...cache } }).epochs[4]?.cache;
    };
    assert.deepEqual([cached({})?.state, cached({})?.hostBytes, cached({})?.diskBytes], ['read', bytesPerNode, 0]);
    assert.equal(toText(cached({ hostMemoryBytes: 1e9 })?.reason), 'the activations exceed host memory and disk');
    const onDisk = cached({ hostMemoryBytes: 1e9, diskBytes: 1e12 });
    assert.deepEqual([onDisk?.state, onDisk?.diskBytes], ['read', bytesPerNode - 1e9]);
    assert.ok((onDisk?.movedMs ?? NaN) > (cached({})?.movedMs ?? NaN));
    assert.equal(cached({ hostMemoryBytes: 1e9, diskBytes: 1e12, diskBytesPerSecond: 1e6 })?.used, false);
    assert.equal(toText(cached({ enabled: false })?.reason), 'caching is switched off');
  });

  it('plans a BERT of which only the head is left at the end', () => {
    const { epochs } = planElastic(
      requestOf({ model: bertLarge, training: trainingOf(384), freezing: { kind: 'alpha', alpha: 0.5 }, batch: 24 }),
    );
    assert.equal(epochs.at(-1)?.frozenLayers, 24);
    assert.deepEqual(epochs.at(-1)?.stageUnits, [1]);
    assert.ok(epochs.every(({ stepMs }) => Number.isFinite(stepMs) && stepMs > 0));
  });
});

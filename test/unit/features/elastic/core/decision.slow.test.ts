import assert from 'node:assert/strict';
import { decideElastic } from '../../../../../src/features/elastic/core/decision';
import { planElastic } from '../../../../../src/features/elastic/core/make-plan';
import { elasticRange } from '../../../../../src/features/elastic/core/open-inputs';
import type { ElasticRequest } from '../../../../../src/features/elastic/core/request';
import { studyElastic } from '../../../../../src/features/elastic/core/study';
import { bertLarge, requestOf, trainingOf } from './models';
import { sentence } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const frozen = [0, 0, 6, 8, 8, 8, 10, 10, 12, 12];
const alpha = { kind: 'alpha', alpha: 1 / 3 } as const;

describe('the decision on an elastic run', () => {
  it('is not to pipeline a model that one GPU trains, at as many samples a step', () => {
    const request = requestOf({});
    const { asked, best, headline, gain } = decideElastic(request, frozen);
    assert.equal(best.pipelineLength, 1);
    assert.equal(best.batch * 16, request.batch * 2);
    assert.ok(best.fits && best.totalMs < asked.totalMs);
    assert.equal(toText(headline), 'Do not pipeline this model: one GPU a replica.');
    assert.match(toText(gain ?? sentence``), /^With 40 samples each \(640 a step\) it takes /);
    const planned = planElastic(requestOf({ firstLength: 1, batch: 40, freezing: { kind: 'given', frozenLayers: frozen } }));
    assert.equal(best.totalMs, planned.totalMs);
    assert.equal(best.withoutFreezingMs, planned.variants.find(({ id }) => id === 'none')?.totalMs);
  });

  it('is the run as it was asked for where that is one GPU a replica', () => {
    const { asked, best, headline, freezing } = decideElastic(requestOf({ firstLength: 1, batch: 40 }), frozen);
    assert.equal(best, asked);
    assert.equal(toText(headline), 'Do not pipeline this model: one GPU a replica, as the config sets.');
    assert.match(toText(freezing ?? sentence``), /^Freezing layers makes it [\d.]+ times as fast: /);
  });

  it('keeps pipelines for a model that one GPU cannot hold', () => {
    const { cluster } = requestOf({});
    const gpu = { ...cluster.gpu, memoryBytes: 3 * 2 ** 30 };
    const request = requestOf({ model: bertLarge, training: trainingOf(256), batch: 16, cluster: { ...cluster, gpu } });
    const { best } = decideElastic(
      request,
      Array.from({ length: 10 }, () => 0),
    );
    assert.ok(best.pipelineLength > 1, `pipelines of ${best.pipelineLength}`);
  });

  it('does not freeze where no layer freezes, and names what to lower where nothing fits', () => {
    const none = Array.from({ length: 10 }, () => 0);
    assert.match(toText(decideElastic(requestOf({}), none).freezing ?? sentence``), /^Freezing layers gains nothing there/);
    const { cluster } = requestOf({});
    const tiny = requestOf({ cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: 2 ** 27 } } });
    assert.match(toText(decideElastic(tiny, frozen).headline), /^Does not fit on pipelines of any length: lower elastic\.batch/);
  });

  it('compares as modelled, since a rate measured on 8 GPUs holds for no other length', () => {
    const rates = [{ frozenLayers: 0, pipelineLength: 8, samplesPerSecond: 1 }];
    assert.deepEqual(decideElastic(requestOf({ throughputs: rates }), frozen), decideElastic(requestOf({}), frozen));
  });
});

describe('the range of an elastic run', () => {
  const rangeOf = (changes: Partial<ElasticRequest>) => elasticRange(requestOf(changes), frozen);

  it('holds the plan, and every combination of what the file leaves open', () => {
    const request = requestOf({});
    const { speedup, totalMs } = planElastic(request);
    const range = elasticRange(request, frozen);
    assert.ok(range.speedup[0] <= speedup && speedup <= range.speedup[1]);
    assert.ok(range.totalMs[0] <= totalMs && totalMs <= range.totalMs[1]);
    for (const workers of [0, 4]) {
      const plan = planElastic({ ...request, loader: { samplesPerSecond: 140, workers } });
      assert.ok(range.totalMs[0] <= plan.totalMs && plan.totalMs <= range.totalMs[1] * (1 + 1e-9), `${workers} workers`);
    }
  });

  it('asks for the loader first, which decides most', () => {
    const first = rangeOf({}).inputs.at(0);
    assert.deepEqual(first?.keys, ['elastic.loaderSamplesPerSecond', 'elastic.loaderWorkers']);
    const planned = first.outcomes.at(0);
    const decoding = first.outcomes.at(2);
    assert.ok(decoding !== undefined && planned !== undefined && decoding.totalMs > 2 * planned.totalMs);
  });

  it('asks for nothing that is given, and not for a loader of texts', () => {
    const given = rangeOf({ loader: { samplesPerSecond: 1000, workers: 4 }, frozenSamplesPerSecond: 138 });
    assert.deepEqual(given.inputs, []);
    assert.equal(given.totalMs[0], given.totalMs[1]);
    const texts = elasticRange(
      requestOf({ model: bertLarge, training: trainingOf(256), batch: 16 }),
      Array.from({ length: 10 }, () => 0),
    );
    assert.ok(texts.inputs.every(({ keys }) => !keys.includes('elastic.loaderWorkers')));
  });
});

describe('the study of an elastic run', () => {
  it('has accuracies of CIFAR-100 for ViT-B/16 on CIFAR-100 only', () => {
    const measured = (changes: Partial<ElasticRequest>): number =>
      studyElastic(planElastic(requestOf({ freezing: alpha, ...changes }))).alphas.filter(
        ({ measuredAccuracy }) => measuredAccuracy !== null,
      ).length;
    assert.equal(measured({ dataset: 'cifar-100' }), 5);
    assert.equal(measured({ dataset: 'cifar-10' }), 0);
    assert.equal(measured({}), 0);
    assert.equal(measured({ dataset: 'cifar-100', model: bertLarge, training: trainingOf(256), batch: 16 }), 0);
  });
});

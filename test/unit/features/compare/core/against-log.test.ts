import assert from 'node:assert/strict';
import { compareWithLog, differenceSentences, judgeLog, logSentences } from '../../../../../src/features/compare/core/against-log';
import { compareWithTimes, timesSentences } from '../../../../../src/features/compare/core/against-times';
import { readTimes } from '../../../../../src/features/compare/core/times';
import type { LogFacts } from '../../../../../src/features/compare/core/logs/facts';
import type { RunLog } from '../../../../../src/features/compare/core/logs/run-log';
import { parameterCount } from '../../../../../src/core/model/parameters';
import { sequenceFlops } from '../../../../../src/core/model/flops';
import { chosenCandidate } from '../../../../../src/core/planner/plan';
import { fourStages, planOf } from './plans';
import { toText } from '../../../sentence-text';

const request = fourStages('1F1B');
const { model, training } = request;
const facts: LogFacts = {
  gpus: 8,
  'layout.tensor': 2,
  'layout.pipeline': 4,
  'layout.data': 1,
  'training.globalBatch': 16,
  'training.sequenceLength': 4096,
  'model.layers': 8,
  'model.hidden': 8192,
  'model.experts': 0,
};
const stepMs = 1000;
const tflops = (16 * sequenceFlops(model, training)) / 8 / stepMs / 1e9;

function logWith(changed: LogFacts = {}, tflopsPerGpu: number | null = tflops, kept: LogFacts = facts): RunLog {
  const step = { ms: stepMs, globalBatch: null, tflopsPerGpu, skipped: false };
  return {
    program: 'megatron',
    facts: { ...kept, ...changed },
    startsAfter: null,
    steps: [{ ...step, iteration: 85 }],
    memory: [],
    runs: 1,
  };
}

describe('A log', () => {
  it('is of the planned run where all that it shows is the same', () => {
    assert.equal(judgeLog(logWith(), request).match, 'same');
    assert.equal(judgeLog(logWith({ parameters: 1.01 * parameterCount(model) }), request).match, 'same');
  });

  it('of other replicas or another batch is a step of another run, each difference with both values', () => {
    const judged = judgeLog(logWith({ gpus: 16, 'layout.data': 2, 'training.globalBatch': 64 }), request);
    assert.equal(judged.match, 'replicas');
    assert.match(
      toText(differenceSentences(judged)[0]),
      /different batch or number of replicas: GPUs 16 \(planned 8\), data parallel size 2 \(planned 1\), global batch 64 \(planned 16\)\.$/,
    );
  });

  it('of other sizes, another model, GPU, runtime or recompute is of another run', () => {
    const others: readonly LogFacts[] = [
      { 'layout.tensor': 4 },
      { 'layout.pipeline': 2 },
      { 'training.sequenceLength': 8192 },
      { 'training.microBatch': 2 },
      { 'training.recompute': 'full' },
      { 'training.precision': 'fp16' },
      { 'training.runtime': 'torchtitan' },
      { 'cluster.gpu': 'A100-80GB' },
      { 'model.layers': 80 },
      { 'model.experts': 8 },
      { parameters: 70e9 },
    ];
    for (const other of others) {
      const judged = judgeLog(logWith(other), request);
      assert.deepEqual([judged.match, judged.differences.map(({ key }) => key)], ['other', Object.keys(other)]);
    }
  });

  it('without sizes is known by its TFLOP/s: of causal attention counted whole or in half, and no others', () => {
    const bare: LogFacts = { 'training.globalBatch': 16 };
    const whole = tflops * (1 + (3 * 8 * model.heads * 2 * model.headDim * 4096 ** 2) / sequenceFlops(model, training));
    for (const logged of [tflops, whole, 1.05 * tflops]) assert.equal(judgeLog(logWith({}, logged, bare), request).match, 'same');
    for (const logged of [0.5 * tflops, 2 * tflops]) {
      const judged = judgeLog(logWith({}, logged, bare), request);
      assert.equal(judged.match, 'other');
      assert.match(
        toText(differenceSentences(judged)[0]),
        /The log is from another run: .* TFLOP\/s per GPU \(the planned model and batch make/,
      );
    }
    assert.equal(judgeLog(logWith({}, 2 * tflops), request).match, 'same', 'its sizes are known');
  });

  it('of another sequence length differs in that only: its TFLOP/s are counted at its own', () => {
    const long = 2 * training.sequenceLength;
    const logged = (16 * sequenceFlops(model, { ...training, sequenceLength: long })) / 8 / stepMs / 1e9;
    const judged = judgeLog(logWith({}, logged, { 'training.globalBatch': 16, 'training.sequenceLength': long }), request);
    assert.equal(judged.match, 'other');
    assert.equal(judged.flops?.agree, true);
    assert.match(toText(differenceSentences(judged)[0]), /^The log is from another run: sequence length 8,192 \(planned 4,096\)\.$/);
  });

  it('names what the log does not have, which is taken as planned', () => {
    const plan = planOf('1F1B');
    const sentences = (log: RunLog): string => logSentences(compareWithLog(plan, log)).map((one) => toText(one)).join(' '); // prettier-ignore
    assert.match(
      sentences(logWith({}, null, {})),
      /does not say its model, sequence length, global batch, parallel sizes: taken as planned/,
    );
    assert.match(sentences(logWith({}, tflops, { 'training.globalBatch': 16 })), /does not say its parallel sizes: taken as planned/);
    assert.doesNotMatch(sentences(logWith()), /does not say/);
  });

  it('compares peak memory of each stage with what is predicted', () => {
    const plan = planOf('1F1B');
    const memory = [0, 1, 2, 3, 6, 7].map((rank) => ({ rank, allocatedBytes: (30 + rank) * 2 ** 30, reservedBytes: 60 * 2 ** 30 }));
    const compared = compareWithLog(plan, { ...logWith(), memory });
    const { stages } = chosenCandidate(plan).memory;
    assert.deepEqual(
      compared.memory,
      [[0, 31], [1, 33], [3, 37]].map(([stage, gib]) => ({ stage, of: 'allocated', measuredBytes: gib! * 2 ** 30, predictedBytes: stages[stage!]?.peakBytes })), // prettier-ignore
    );
    assert.match(toText(logSentences(compared)[0]), /^Peak memory allocated is 37 GiB, predicted [\d.]+ GiB on stage 3\.$/);
    const reserved = compareWithLog(plan, { ...logWith(), memory: [{ rank: null, allocatedBytes: null, reservedBytes: 2 ** 30 }] });
    assert.deepEqual(reserved.memory, [
      {
        stage: null,
        of: 'reserved',
        measuredBytes: 2 ** 30,
        predictedBytes: Math.max(...stages.map(({ reservedBytes }) => reservedBytes)),
      },
    ]);
  });

  it('of another run is reported first, and no plan is to be calibrated to it', () => {
    const plan = planOf('1F1B');
    const text = `using world size: 8, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 4
 iteration 85/ 100 | elapsed time per iteration (ms): ${3 * chosenCandidate(plan).iterationMs} | global batch size: 16 |`;
    const sentences = timesSentences(compareWithTimes(plan, readTimes(text, 'run.log'))).map((one) => toText(one));
    assert.match(sentences[0] ?? '', /^The log is from another run: tensor parallel size 1 \(planned 2\)/);
    assert.doesNotMatch(sentences.join('\n'), /calibration\.iterationMs/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { CancelledError, ExpectedError } from '../../../src/core/errors';
import type { Cell, LayerShape } from '../../../src/core/domain/profile';
import { randomNumbers } from '../../../src/core/numbers';
import { measureProfile, type MeasureTask, type MeasureHost } from '../../../src/profiler/measure';
import type { TimedPart } from '../../../src/protocol/profiler';
import { sentence } from '../../../src/core/sentence';

type Profiler = Parameters<typeof measureProfile>[0];

/** Seconds pass as fast as the simulated device works. */
interface Bench {
  readonly profiler: Profiler;
  readonly world: MeasureHost;
  readonly measured: { readonly part: TimedPart; readonly cell: Cell }[];
}

/** A device whose layer takes `forwardMs`, twice that backward, with `noise` on top and some bursts. @param waits for this much of that. */
function bench(
  forwardMs: (cell: Cell) => number,
  noise = 0.02,
  answer?: (part: TimedPart, cell: Cell) => Awaited<ReturnType<Profiler['measure']>> | null,
  waits = 0,
): Bench {
  const random = randomNumbers(7);
  const measured: Bench['measured'] = [];
  let nowMs = 0;
  const timed = (ms: number): number => ms * (1 + noise * random() + (random() < 0.1 ? 20 * noise * random() : 0));
  const profiler: Profiler = {
    provider: 'cpu',
    device: { kind: 'cpu', name: 'simulated', memoryBytes: 2 ** 34, driver: null },
    attention: { forward: 'MatMul, Softmax, MatMul', backward: 'explicit' },
    versions: { onnxruntime: '0' },
    warnings: [],
    tf32: null,
    placement: () =>
      Promise.resolve({ operators: [], warnings: [], launches: { perNodeUs: 4.3, perProductUs: 17, forwardMs: 0.137, backwardMs: 0.6 } }),
    measure: (part, cell) => {
      measured.push({ part, cell });
      const given = answer?.(part, cell) ?? null;
      if (given !== null) return Promise.resolve(given);
      const ms = forwardMs(cell) * (part === 'layers2' ? 2 : part === 'layer' ? 1 : 0.1);
      const [forward, backward] = [timed(ms), timed(2 * ms)];
      nowMs += forward + backward;
      return Promise.resolve({
        ...({ type: 'measured', id: 1, forwardMs: forward + 0.01, backwardMs: backward + 0.02 } as const),
        forwardInputsMs: 0.01,
        backwardInputsMs: 0.02,
        rssBytes: 1e8,
        workMs: forward + backward,
        waitedMs: waits * (forward + backward),
      });
    },
  };
  return { profiler, measured, world: { clock: () => nowMs, now: () => '2026-01-01T00:00:00.000Z' } };
}

const shape: LayerShape = {
  hidden: 256,
  heads: 4,
  kvHeads: 4,
  headDim: 64,
  ffn: 1024,
  gatedMlp: false,
  norm: 'layernorm' as const,
  rotary: false,
  qkvBias: true,
  attentionOutputBias: true,
  mlpBias: true,
  qkNorm: false,
  experts: null,
  vocab: 1024,
  learnedPositions: true,
};

function task(budgetMs = 600_000): MeasureTask {
  const limits = { batch: 4, tokens: 1024, sequence: 1024 };
  return {
    title: 'small',
    tensor: 1,
    unit: 8,
    budgetMs,
    warnings: [],
    job: { shape, precision: 'fp32', gradAccumulationFp32: true, attention: 'fused', threads: 1, limits },
  };
}

/** A layer on a CPU: linear in tokens, attention on top. */
const smooth = ({ batch, tokens, context }: Cell): number => batch * (0.05 + 0.02 * tokens + 1.5e-5 * tokens * (context + tokens / 2));

describe('measuring a layer', () => {
  it('ends with a mean error under 2 % on slices it kept apart, on a device with noise and bursts', async () => {
    const { profiler, world: host } = bench(smooth);
    const { status, errors, samples, fit } = await measureProfile(profiler, task(), host);
    assert.equal(status, 'complete');
    assert.ok(errors !== null && fit !== null);
    assert.ok(errors.forward.meanPercent < 2 && errors.backward.meanPercent < 2, JSON.stringify(errors));
    assert.equal(errors.forward.method, 'hold-out');
    assert.ok(samples.layer.filter(({ holdOut }) => holdOut).length >= 8);
    assert.ok(samples.head.length >= 3 && samples.embedding.length >= 3);
  });

  it('takes away the time of making the inputs', async () => {
    const { profiler, world: host } = bench(smooth, 0);
    const { samples } = await measureProfile(profiler, task(), host);
    const [first] = samples.layer;
    assert.ok(first !== undefined);
    assert.ok(Math.abs(first.forwardMs - smooth(first)) < 1e-9, String(first.forwardMs));
  });

  it('checks once that two layers take twice as long as one', async () => {
    const { profiler, world: host } = bench(smooth, 0);
    const { twoLayerRatio } = await measureProfile(profiler, task(), host);
    assert.ok(twoLayerRatio !== null && Math.abs(twoLayerRatio - 2) < 1e-6, String(twoLayerRatio));
  });

  it('records what launches take and whether fp32 was TF32', async () => {
    const { profiler, world: host } = bench(smooth, 0);
    const { launches, tf32 } = await measureProfile({ ...profiler, tf32: true }, task(), host);
    assert.deepEqual(launches, (await profiler.placement()).launches);
    assert.equal(tf32, true);
  });

  it('lets cells take turns instead of repeating one', async () => {
    const { profiler, world: host, measured } = bench(smooth);
    await measureProfile(profiler, task(), host);
    const repeated = measured.slice(3).filter(({ part, cell }, i) => measured[i + 2]?.part === part && measured[i + 2]?.cell === cell);
    assert.ok(repeated.length < measured.length / 20, `${repeated.length} of ${measured.length}`);
  });

  it('keeps the samples so far, with the reason, when the child dies', async () => {
    let calls = 0;
    const dead = new ExpectedError('profiler-died', sentence`The profiler was killed`, sentence`measure again`);
    const { profiler, world: host } = bench(smooth);
    const dying: Profiler = { ...profiler, measure: (part, cell) => (++calls > 100 ? Promise.reject(dead) : profiler.measure(part, cell)) };
    const { status, error, samples, fit } = await measureProfile(dying, task(), host);
    assert.equal(status, 'partial');
    assert.equal(error, 'The profiler was killed; measure again');
    assert.ok(samples.layer.length > 20);
    assert.notEqual(fit, null);
  });

  it('keeps the samples so far when it is cancelled', async () => {
    let calls = 0;
    const { profiler, world: host } = bench(smooth);
    const cancelled: Profiler = {
      ...profiler,
      measure: (part, cell) => (++calls > 50 ? Promise.reject(new CancelledError()) : profiler.measure(part, cell)),
    };
    const { status, error, samples } = await measureProfile(cancelled, task(), host);
    assert.deepEqual([status, error], ['partial', 'cancelled']);
    assert.ok(samples.layer.length > 10);
  });

  it('lets bugs through', async () => {
    const { profiler, world: host } = bench(smooth);
    const broken: Profiler = { ...profiler, measure: () => Promise.reject(new TypeError('oops')) };
    await assert.rejects(measureProfile(broken, task(), host), TypeError);
  });

  it('stops when the budget is spent and shows what is missing', async () => {
    const { profiler, world: host } = bench(smooth);
    const { warnings, seconds } = await measureProfile(profiler, task(2500), host);
    assert.ok(seconds < 3, String(seconds));
    assert.ok(
      warnings.some((warning) => warning.includes('larger budget')),
      warnings.join('\n'),
    );
  });

  it('measures shorter slices, at all contexts, when whole sequences cost more than the budget holds', async () => {
    const { profiler, world: host } = bench((cell) => 20 * smooth(cell));
    const { samples, warnings, sequenceLength, errors } = await measureProfile(profiler, task(60_000), host);
    const longest = Math.max(...samples.layer.filter(({ batch }) => batch === 1).map(({ tokens }) => tokens));
    assert.ok(longest < 1024, String(longest));
    assert.equal(sequenceLength, 1024);
    assert.ok(errors !== null && errors.forward.meanPercent < 2);
    assert.ok(
      warnings.some((warning) => warning.includes('extrapolated')),
      warnings.join('\n'),
    );
  });

  it('records a cell that runs out of memory and continues without it', async () => {
    const {
      profiler,
      world: host,
      measured,
    } = bench(smooth, 0.01, (_, { batch, tokens }) =>
      batch * tokens > 1024 ? { type: 'skipped', id: 1, reason: 'out-of-memory', detail: 'it needs 40 GB' } : null,
    );
    const { skipped, status, errors } = await measureProfile(profiler, task(), host);
    assert.equal(status, 'complete');
    assert.ok(errors !== null && errors.forward.meanPercent < 2);
    assert.ok(skipped.length >= 1);
    for (const cell of skipped) {
      assert.equal(cell.reason, 'out-of-memory');
      const tries = measured.filter(
        ({ cell: { batch, tokens, context } }) => batch === cell.batch && tokens === cell.tokens && context === cell.context,
      );
      assert.equal(tries.length, 1);
    }
  });

  it('asks once for two layers that do not fit, and keeps watching the reference', async () => {
    const {
      profiler,
      world: host,
      measured,
    } = bench(smooth, 0.01, (part) =>
      part === 'layers2' ? { type: 'skipped', id: 1, reason: 'out-of-memory', detail: 'it needs 40 GB' } : null,
    );
    const { skipped, twoLayerRatio, status } = await measureProfile(profiler, task(), host);
    assert.equal(measured.filter(({ part }) => part === 'layers2').length, 1);
    assert.deepEqual([skipped.length, twoLayerRatio, status], [0, null, 'complete']);
  });

  it('continues with the layer when the head does not fit', async () => {
    const { profiler, world: host } = bench(smooth, 0.03, (part, { tokens }) =>
      part === 'head' && tokens >= 8 ? { type: 'skipped', id: 1, reason: 'out-of-memory', detail: 'it needs 40 GB' } : null,
    );
    const { errors, fit, samples } = await measureProfile(profiler, task(), host);
    assert.ok(errors !== null && errors.forward.meanPercent < 2 && errors.backward.meanPercent < 2);
    assert.equal(fit?.head, null);
    assert.ok(samples.layer.length > 25);
  });

  it('reports that nothing could be measured rather than that it is complete', async () => {
    const { profiler, world: host } = bench(smooth, 0.01, () => ({
      type: 'skipped',
      id: 1,
      reason: 'out-of-memory',
      detail: 'it needs 40 GB',
    }));
    const { status, error, warnings } = await measureProfile(profiler, task(), host);
    assert.equal(status, 'partial');
    assert.match(error ?? '', /no slices could be run \(it needs 40 GB\)/);
    assert.ok(warnings.every((warning) => !warning.includes('extrapolated')));
  });

  it('counts the time that opening the provider took', async () => {
    const { profiler, world: host } = bench(smooth);
    const { seconds, samples } = await measureProfile(profiler, task(60_000), host, -120_000);
    assert.equal(samples.layer.length, 0);
    assert.equal(seconds, 120);
  });

  it('shows what other work took of the processor', async () => {
    const warningsOf = async (waits: number): Promise<readonly string[]> => {
      const { profiler, world: host } = bench(smooth, 0.02, undefined, waits);
      return (await measureProfile(profiler, task(), host)).warnings;
    };
    assert.ok((await warningsOf(1)).some((warning) => warning.startsWith('Other work took the processor for 50 % of the time')));
    assert.ok(!(await warningsOf(0.01)).some((warning) => warning.includes('Other work')));
  });

  it('warns of a device that slows down', async () => {
    let calls = 0;
    const { profiler, world: host } = bench((cell) => smooth(cell) * (1 + (0.3 * ++calls) / 400), 0.001);
    const { warnings } = await measureProfile(profiler, task(), host);
    assert.ok(
      warnings.some((warning) => warning.includes('slowed down')),
      warnings.join('\n'),
    );
  });

  it('reports samples and error while it measures', async () => {
    const { profiler, world: host } = bench(smooth);
    const lines: string[] = [];
    await measureProfile(profiler, task(), { ...host, onProgress: ({ doing }) => lines.push(doing) });
    assert.ok(lines.length >= 4);
    assert.match(lines.at(-1) ?? '', /slices measured.*error .* % forward, .* % backward/);
  });
});

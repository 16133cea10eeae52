import assert from 'node:assert/strict';
import {
  cellMs,
  firstCells,
  isSettled,
  nextCells,
  noiseWarnings,
  shuffled,
  stopReason,
} from '../../../../src/core/measured-profile/design';
import type { Domain } from '../../../../src/core/measured-profile/uncertainty';
import { fitErrors, fitPart, timeFunction } from '../../../../src/core/measured-profile/fit';
import type { Cell, FitError, Sample } from '../../../../src/core/domain/profile';
import { randomNumbers } from '../../../../src/core/numbers';
import { cpu, experiment, gpu, jumpy, type Device } from './devices';

const coarse: Domain = { tokens: 1024, sequence: 1024, unit: 64, batches: [1, 2] };
const fine: Domain = { tokens: 2048, sequence: 2048, unit: 16, batches: [1, 2, 4] };

/** Mean relative error, percent, of the fit against the noise-free truth over a grid of the whole domain. */
function trueError(truth: Device, { tokens, sequence, unit }: Domain, samples: readonly Sample[]): number {
  const part = fitPart(samples)!;
  const errors: number[] = [];
  for (const [fit, ms] of [[part.forward, truth.forwardMs] as const, [part.backward, truth.backwardMs] as const]) {
    const time = timeFunction(fit);
    for (let length = unit; length <= tokens; length += unit)
      for (let context = 0; length + context <= sequence; context += 4 * unit)
        errors.push(100 * Math.abs(time(1, length, context) / ms({ batch: 1, tokens: length, context }) - 1));
  }
  return mean(errors);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Cells drawn anywhere in the domain, as the adaptive choice's rival. */
function atRandom(seed: number): typeof nextCells {
  const random = randomNumbers(seed);
  return ({ tokens, sequence, unit }, _samples, _skipped, count) =>
    Array.from({ length: count }, (): Cell => {
      const length = unit * (1 + Math.floor((random() * tokens) / unit));
      return { batch: 1, tokens: length, context: unit * Math.floor(random() * ((sequence - length) / unit + 1)) };
    });
}

describe('experiment', () => {
  for (const [name, truth, domain] of [
    ['a CPU', cpu, coarse],
    ['a CPU in fine units', cpu, fine],
    ['a GPU with tiles', gpu, coarse],
    ['a device with a jump', jumpy, coarse],
  ] as const)
    it(`recovers the noise-free times of ${name} within 2 % from 40 noisy cells`, () => {
      for (const seed of [1, 2, 3, 4, 5]) {
        const samples = experiment(truth, domain, seed, 40);
        assert.ok(samples.filter(({ holdOut }) => !holdOut).length <= 40);
        const { forward, backward } = fitErrors(fitPart(samples)!, samples)!;
        assert.ok(forward.cells >= 10 && forward.method === 'hold-out');
        assert.ok(forward.meanPercent < 2 && backward.meanPercent < 2, `${seed}: ${forward.meanPercent} ${backward.meanPercent}`);
        assert.ok(trueError(truth, domain, samples) < 1, `${seed}: ${trueError(truth, domain, samples)}`);
      }
    });

  it('stops by itself when it is accurate, before the table of a smooth device is full', () => {
    const samples = experiment(cpu, fine, 3, Infinity);
    assert.ok(samples.length < 60, String(samples.length));
    const { forward, backward } = fitErrors(fitPart(samples)!, samples)!;
    assert.ok(forward.meanPercent < 2 && backward.meanPercent < 2);
  });

  it('errs less with chosen cells than with as many random ones', () => {
    for (const [truth, domain, factor] of [
      [gpu, coarse, 0.5],
      [jumpy, coarse, 0.6],
      [jumpy, fine, 0.5],
      [cpu, fine, 1],
    ] as const) {
      const seeds = [1, 2, 3, 4, 5];
      const chosen = mean(seeds.map((seed) => trueError(truth, domain, experiment(truth, domain, seed, 40))));
      const random = mean(seeds.map((seed) => trueError(truth, domain, experiment(truth, domain, seed, 40, atRandom(seed)))));
      assert.ok(chosen < factor * random, `${chosen} against ${random}`);
    }
  });
});

describe('first cells', () => {
  it('are a table, corners and batches, and hold-out cells elsewhere', () => {
    const { fit, holdOut } = firstCells(fine, 5);
    const table = fit.filter(({ batch, context }) => batch === 1 && context === 0).map(({ tokens }) => tokens);
    assert.ok(table.length >= 10 && table.length <= 12);
    assert.deepEqual([table[0], table.at(-1)], [16, 2048]);
    assert.ok(fit.some(({ tokens, context }) => tokens + context === 2048 && context > 0));
    assert.ok(fit.filter(({ batch }) => batch > 1).length >= 2);
    assert.equal(holdOut.length, 12);
    assert.ok(holdOut.filter(({ tokens }) => !table.includes(tokens)).length >= 6);
    const quadrants = new Set(holdOut.map(({ tokens, context }) => `${tokens > 512},${context > 512}`));
    assert.equal(quadrants.size, 4);
  });

  it('are the same for the same seed and others for another', () => {
    assert.deepEqual(firstCells(coarse, 9), firstCells(coarse, 9));
    assert.notDeepEqual(firstCells(coarse, 9).holdOut, firstCells(coarse, 10).holdOut);
  });

  it('exist for a domain of one unit', () => {
    assert.deepEqual(firstCells({ tokens: 8, sequence: 8, unit: 8, batches: [1] }, 1), {
      fit: [{ batch: 1, tokens: 8, context: 0 }],
      holdOut: [],
    });
  });
});

describe('next cells', () => {
  const samples = experiment(cpu, coarse, 1, 18);

  it('go where a step hides', () => {
    const withStep: Device = { forwardMs: ({ tokens }) => (tokens > 700 ? 20 : 10), backwardMs: ({ tokens }) => (tokens > 700 ? 20 : 10) };
    const measured = [64, 256, 512, 768, 1024].map((tokens) => ({ batch: 1, tokens, context: 0 }));
    const known: Sample[] = measured.map((cell) => ({
      ...cell,
      forwardMs: withStep.forwardMs(cell),
      backwardMs: withStep.backwardMs(cell),
      rounds: 4,
      holdOut: false,
    }));
    const [first] = nextCells({ ...coarse, batches: [1] }, known, [], 30).filter(({ context }) => context === 0);
    assert.ok(first !== undefined && first.tokens > 512 && first.tokens < 768);
  });

  it('go to long and short slices with long contexts when the table is smooth and no context was measured', () => {
    const cells = [64, 256, 512, 768, 1024].map((tokens) => ({ batch: 1, tokens, context: 0 }));
    const flat = cells.map((cell): Sample => ({ ...cell, forwardMs: cell.tokens, backwardMs: 2 * cell.tokens, rounds: 4, holdOut: false }));
    const next = nextCells({ ...coarse, batches: [1] }, flat, [], 4);
    assert.ok(
      next.every(({ context }) => context > 0),
      JSON.stringify(next),
    );
    assert.ok(next.some(({ tokens, context }) => tokens === 64 && context > 800) && next.some(({ tokens }) => tokens >= 256));
  });

  it('leave out what cannot be run and what needs more memory than that', () => {
    const skipped = [{ batch: 1, tokens: 512, context: 256, part: 'layer', reason: 'out-of-memory', detail: '' }] as const;
    const cells = nextCells(coarse, samples, skipped, 200);
    assert.ok(cells.length > 20);
    assert.ok(!cells.some(({ tokens, context }) => tokens >= 512 && context >= 256));
    const failed = nextCells(coarse, samples, [{ ...skipped[0], reason: 'failed' } as Cell], 200);
    assert.ok(failed.some(({ tokens, context }) => tokens >= 512 && context >= 256));
  });

  it('are the first ones while there is no fit', () => {
    assert.deepEqual(nextCells(coarse, [], [], 3), firstCells(coarse, 0).fit.slice(0, 3));
  });
});

describe('rounds', () => {
  it('are enough when the faster half of four and more is known within 0.4 %, or after sixteen', () => {
    assert.equal(isSettled([1, 1, 1]), false);
    assert.equal(isSettled([1.2, 1, 1.4, 1.007]), true);
    assert.equal(isSettled([1.2, 1, 1.4, 1.02]), false);
    assert.equal(isSettled([1.2, 1, 1.4, 1.02, 1.5, 1, 1.3, 1.01]), false);
    assert.equal(isSettled([1.2, 1, 1.4, 1.01, 1.5, 1, 1.3, 1.005]), true);
    assert.equal(isSettled(Array.from({ length: 15 }, (_, i) => 1 + i)), false);
    assert.equal(isSettled(Array.from({ length: 16 }, (_, i) => 1 + i)), true);
  });

  it('count by the mean of their faster half', () => {
    assert.equal(cellMs([5]), 5);
    assert.equal(cellMs([9, 1, 2]), 1.5);
    assert.equal(cellMs([4, 30, 2, 8]), 3);
  });

  it('meet the cells in an order of their own, each once', () => {
    const cells = ['a', 'b', 'c', 'd', 'e'];
    assert.deepEqual([...shuffled(cells, 4)].sort(), cells);
    assert.deepEqual(shuffled(cells, 4), shuffled(cells, 4));
    assert.ok(new Set([1, 2, 3, 4, 5, 6].map((seed) => shuffled(cells, seed).join(''))).size > 3);
  });

  it('warn of drift and of noise with the figures, and not of a calm machine', () => {
    assert.deepEqual(noiseWarnings([10, 10.1, 10, 10.2, 10.1, 10.1]), []);
    const drift = noiseWarnings([10, 10, 10, 10.3, 10.8, 10.8]);
    assert.deepEqual(drift, ['The same slice took 8 % longer at the end than at the start: the device slowed down, as when it gets warm']);
    const noise = noiseWarnings([10, 13, 13, 13, 10.1, 13]);
    assert.deepEqual(noise, [
      'The same slice usually took 30 % longer than at best: something else used the device; times are those of the faster half of the rounds',
    ]);
    assert.deepEqual(noiseWarnings([1, 5]), []);
  });
});

describe('end of measuring', () => {
  const error = (meanPercent: number, method: FitError['method'] = 'hold-out'): FitError => ({
    meanPercent,
    maxPercent: meanPercent,
    cells: 8,
    method,
  });
  const held = (rounds: number): Sample[] =>
    Array.from({ length: 8 }, (_, i) => ({ batch: 1, tokens: i + 1, context: 0, forwardMs: 1, backwardMs: 1, rounds, holdOut: true }));

  it('comes when both directions are under 2 % on eight settled cells', () => {
    const errors = { forward: error(1.9), backward: error(1.9) };
    assert.equal(stopReason({ errors, samples: held(4), spent: 0.1 }), 'accurate');
    assert.equal(stopReason({ errors, samples: held(3), spent: 0.1 }), null);
    assert.equal(stopReason({ errors, samples: held(4).slice(1), spent: 0.1 }), null);
    assert.equal(stopReason({ errors: { ...errors, backward: error(2.1) }, samples: held(4), spent: 0.1 }), null);
    assert.equal(stopReason({ errors: { ...errors, forward: error(1, 'leave-one-out') }, samples: held(4), spent: 0.1 }), null);
  });

  it('comes when the time is up', () => {
    assert.equal(stopReason({ errors: null, samples: [], spent: 1 }), 'budget');
    assert.equal(stopReason({ errors: null, samples: [], spent: 0.99 }), null);
  });
});

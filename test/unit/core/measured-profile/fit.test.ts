import assert from 'node:assert/strict';
import { fitErrors, fitPart, timeFunction } from '../../../../src/core/measured-profile/fit';
import { fitMs } from './fitted-time';
import type { Cell, Sample, TimeFit } from '../../../../src/core/domain/profile';
import { cpu, device, measurer } from './devices';

const noContext = { constant: 0, perRow: 0, perContext: 0, perRowContext: 0, perContextSquare: 0 };

function exact(cells: readonly Cell[], ms: (cell: Cell) => number, holdOut = false): Sample[] {
  return cells.map((cell) => ({ ...cell, forwardMs: ms(cell), backwardMs: 2 * ms(cell), rounds: 4, holdOut }));
}

const one = (tokens: number, context = 0): Cell => ({ batch: 1, tokens, context });
const lengths = [64, 128, 256, 384, 512, 768, 1024];
const contexts = [64, 512, 768]
  .flatMap((tokens) => [128, 256].map((context) => one(tokens, context)))
  .concat([one(64, 960), one(256, 768)]);

describe('fitted time', () => {
  const fit: TimeFit = { rows: { tokens: [100, 200, 300], ms: [2, 3, 5] }, square: 0, context: noContext };

  it('is linear in the table, level below it, and continues as its last line', () => {
    const time = timeFunction(fit);
    assert.deepEqual(
      [1, 100, 150, 200, 250, 300, 400].map((tokens) => time(1, tokens, 0)),
      [2, 2, 2.5, 3, 4, 5, 7],
    );
    assert.equal(time(2, 75, 0), 2.5);
  });

  it('stays level beyond a table that ends falling', () => {
    assert.equal(fitMs({ ...fit, rows: { tokens: [100, 200], ms: [3, 2] } }, one(1000)), 2);
  });

  it('adds square and context terms as the formula does', () => {
    const full = {
      ...fit,
      square: 0.001,
      context: { constant: 0.5, perRow: 0.01, perContext: 0.02, perRowContext: 1e-4, perContextSquare: 1e-5 },
    };
    const expected = 5 + 0.001 * 3 * 100 ** 2 + 0.5 + 0.01 * 300 + 0.02 * 3 * 40 + 1e-4 * 300 * 40 + 1e-5 * 3 * 40 ** 2;
    assert.ok(Math.abs(fitMs(full, { batch: 3, tokens: 100, context: 40 }) - expected) < 1e-12);
  });

  it('is never less with context than half of that without', () => {
    assert.equal(fitMs({ ...fit, context: { ...noContext, perContext: -1 } }, one(100, 500)), 1);
  });
});

describe('fit of a part', () => {
  it('keeps the steps of tiles as they were measured', () => {
    const tiles = (cell: Cell): number => 0.3 + 0.1 * Math.ceil((cell.batch * cell.tokens) / 128);
    const part = fitPart(
      exact(
        [64, 128, 129, 256, 257, 384].map((tokens) => one(tokens)),
        tiles,
      ),
    )!;
    for (const tokens of [100, 128, 129, 200, 256, 257, 300])
      assert.ok(Math.abs(fitMs(part.forward, one(tokens)) - tiles(one(tokens))) < 1e-9);
  });

  it('finds the square term from batches, and with it other batches', () => {
    const ms = ({ batch, tokens }: Cell): number => 0.01 * batch * tokens + 2e-5 * batch * tokens ** 2;
    const part = fitPart(exact([...lengths.map((tokens) => one(tokens)), { batch: 2, tokens: 512, context: 0 }], ms))!;
    assert.ok(Math.abs(part.forward.square / 2e-5 - 1) < 1e-9);
    const unseen = { batch: 4, tokens: 192, context: 0 };
    assert.ok(Math.abs(fitMs(part.forward, unseen) / ms(unseen) - 1) < 1e-9);
  });

  it('takes half the slope of the context for the square term where no batch was measured', () => {
    const ms = ({ tokens, context }: Cell): number => 0.01 * tokens + 1e-5 * tokens * (context + tokens / 2);
    const part = fitPart(exact([...lengths.map((tokens) => one(tokens)), ...contexts], ms))!;
    assert.ok(Math.abs(part.forward.square / 5e-6 - 1) < 1e-6);
  });

  it('carries the table on through batches longer than any slice', () => {
    const ms = ({ batch, tokens }: Cell): number => 1 + 0.01 * batch * tokens + (batch * tokens > 1024 ? 3 : 0);
    const part = fitPart(
      exact([...lengths.map((tokens) => one(tokens)), { batch: 2, tokens: 512, context: 0 }, { batch: 2, tokens: 1024, context: 0 }], ms),
    )!;
    assert.ok(Math.abs(fitMs(part.forward, { batch: 2, tokens: 1024, context: 0 }) - ms({ batch: 2, tokens: 1024, context: 0 })) < 1e-9);
  });

  it('adds the square of the context where the times have it, not where they have only noise', () => {
    const bent = ({ tokens, context }: Cell): number => 0.01 * tokens + 1e-6 * context ** 2;
    const cells = [...lengths.map((tokens) => one(tokens)), ...contexts, one(128, 896), one(384, 640), one(128, 64)];
    assert.ok(Math.abs(fitPart(exact(cells, bent))!.forward.context.perContextSquare / 1e-6 - 1) < 1e-6);
    const straight = device(({ tokens, context }) => 0.01 * tokens + (context > 0 ? 1e-3 * context : 0));
    const added = [1, 2, 3, 4, 5, 6, 7, 8].filter(
      (seed) => fitPart(measurer(straight, seed)(cells, false))!.forward.context.perContextSquare !== 0,
    );
    assert.ok(added.length <= 3, `added ${added.length} times of 8`);
  });

  it('is not bent by a cell that noise hit every time', () => {
    const cells = [...lengths.map((tokens) => one(tokens)), ...contexts, one(384, 512), one(512, 512), one(128, 512), one(256, 128)];
    const samples = exact(cells, cpu.forwardMs).map((sample) =>
      sample.tokens === 384 && sample.context === 512 ? { ...sample, forwardMs: 2 * sample.forwardMs } : sample,
    );
    const fit = fitPart(samples)!.forward;
    for (const cell of [one(512, 300), one(128, 700), one(768, 200)])
      assert.ok(Math.abs(fitMs(fit, cell) / cpu.forwardMs(cell) - 1) < 0.03);
  });

  it('uses no held-out sample, and needs two lengths', () => {
    const good = exact(
      lengths.map((tokens) => one(tokens)),
      cpu.forwardMs,
    );
    const absurd = exact([one(320), one(320, 64)], () => 1e6, true);
    assert.deepEqual(fitPart([...good, ...absurd]), fitPart(good));
    assert.equal(fitPart(good.slice(0, 1)), null);
    assert.equal(fitPart(absurd), null);
    assert.equal(fitPart(exact([one(64, 8), one(128, 8)], cpu.forwardMs)), null);
  });

  it('answers without context where the part has none', () => {
    const part = fitPart(
      exact(
        lengths.map((tokens) => one(tokens)),
        ({ tokens }) => 0.1 * tokens,
      ),
    )!;
    assert.deepEqual(part.forward.context, noContext);
    assert.equal(part.forward.square, 0);
  });
});

describe('error of a fit', () => {
  const fitted = exact(
    lengths.map((tokens) => one(tokens)),
    ({ tokens }) => tokens,
  );

  it('is judged only on the held-out cells', () => {
    const held = [
      { ...one(320), forwardMs: 400, backwardMs: 640, rounds: 4, holdOut: true },
      { ...one(640), forwardMs: 640, backwardMs: 1280, rounds: 4, holdOut: true },
    ];
    const errors = fitErrors(fitPart(fitted)!, [...fitted, ...held])!;
    assert.ok(Math.abs(errors.forward.meanPercent - 10) < 1e-9 && Math.abs(errors.forward.maxPercent - 20) < 1e-9);
    assert.deepEqual([errors.forward.cells, errors.forward.method], [2, 'hold-out']);
    assert.ok(errors.backward.maxPercent < 1e-9);
  });

  it('leaves out each sample in turn where none is held out: a point off the line shows', () => {
    const bent = fitted.map((sample) => (sample.tokens === 384 ? { ...sample, forwardMs: 480 } : sample));
    const { forward, backward } = fitErrors(fitPart(bent)!, bent)!;
    assert.deepEqual([forward.method, forward.cells], ['leave-one-out', lengths.length - 2]);
    assert.ok(Math.abs(forward.maxPercent - 20) < 5, String(forward.maxPercent));
    assert.ok(backward.maxPercent < 1e-9);
  });

  it('is unknown when nothing can be left out', () => {
    const two = fitted.slice(0, 2);
    assert.equal(fitErrors(fitPart(two)!, two), null);
  });
});

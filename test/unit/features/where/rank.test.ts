import assert from 'node:assert/strict';
import fc from 'fast-check';
import { machineNamed, machineSettings, parseMachines } from '../../../../src/features/where/core/machines';
import { gpuHourPrice, parsePrices, readPrices } from '../../../../src/features/where/core/prices';
import { rankMachines, type Limits } from '../../../../src/features/where/core/rank';
import { ExpectedError } from '../../../../src/core/errors';

const noLimits: Limits = { tokens: null, budget: null, days: null };
const h100 = machineNamed('H100-80GB');
const a100 = machineNamed('A100-80GB');

function planned(gpus: number, tokensPerSecond: number, fits = true) {
  return { gpus, tokensPerSecond, fits, iterationMs: 1e9 / tokensPerSecond };
}

describe('machines to plan on', () => {
  it('are GPUs and machine types of clouds with how many GPUs', () => {
    const [one, two] = parseMachines('h100-80gb:64, P5.48xlarge');
    assert.deepEqual([one?.name, one?.gpus, one?.gpusPerNode], ['H100-80GB', 64, 8]);
    assert.deepEqual([two?.name, two?.gpu, two?.gpus], ['p5.48xlarge', 'H100-80GB', null]);
  });

  it('are refused where a name stands for none, or for several, or a count is not whole', () => {
    for (const written of ['H1000', 'A100', 'H100-80GB:0', 'H100-80GB:1.5', 'H100-80GB:8:8', ''])
      assert.throws(() => parseMachines(written), ExpectedError);
  });

  it('are whole nodes, or part of one', () => {
    assert.deepEqual(machineSettings(h100, 64), { 'cluster.gpu': 'H100-80GB', 'cluster.gpusPerNode': 8, 'cluster.nodes': 8 });
    assert.deepEqual(machineSettings(h100, 4), { 'cluster.gpu': 'H100-80GB', 'cluster.gpusPerNode': 4, 'cluster.nodes': 1 });
    assert.deepEqual(machineSettings(machineNamed('p5.48xlarge'), null), { 'cluster.instance': 'p5.48xlarge' });
    assert.throws(() => machineSettings(h100, 12), { code: 'where-nodes' });
  });
});

describe('prices of machines', () => {
  it('are of a GPU, or of a node of a machine type', () => {
    const prices = parsePrices('h100-80gb=2.5,p5.48xlarge=40');
    assert.equal(gpuHourPrice(prices, h100), 2.5);
    assert.equal(gpuHourPrice(prices, machineNamed('p5.48xlarge')), 5);
    assert.equal(gpuHourPrice(prices, machineNamed('p5en.48xlarge')), null);
    assert.equal(gpuHourPrice(prices, a100), null);
    assert.deepEqual(readPrices('{"H100-80GB": 2.5, "p5.48xlarge": 40}'), prices);
  });

  it('are refused where they are not numbers above 0', () => {
    for (const written of ['H100-80GB', 'H100-80GB=', 'H100-80GB=0', 'H100-80GB=-1', 'H100-80GB=x']) assert.throws(() => parsePrices(written), ExpectedError); // prettier-ignore
    for (const text of ['[]', 'null', '{"H100-80GB": "2"}', '{', '{"constructor": 1}'])
      assert.throws(() => readPrices(text), ExpectedError);
  });
});

describe('the rank of machines', () => {
  it('is by cost where each has a price, else by GPU hours', () => {
    const plans = [
      { machine: h100, plan: planned(8, 80_000) },
      { machine: a100, plan: planned(8, 40_000) },
    ];
    const names = (prices: string | null): string[] => {
      const table = prices === null ? new Map<string, number>() : parsePrices(prices);
      return rankMachines(plans, (machine) => gpuHourPrice(table, machine), noLimits).map(({ machine }) => machine.name);
    };
    assert.deepEqual(names(null), ['H100-80GB', 'A100-80GB']);
    assert.deepEqual(names('H100-80GB=3,A100-80GB=1'), ['A100-80GB', 'H100-80GB']);
    assert.deepEqual(names('A100-80GB=1'), ['H100-80GB', 'A100-80GB']);
  });

  it('counts cost and days of the whole run by hand', () => {
    const [row] = rankMachines([{ machine: h100, plan: planned(64, 1e6) }], () => 2, { tokens: 864e9, budget: null, days: null });
    assert.ok(row !== undefined);
    assert.deepEqual([row.days, row.cost], [10, 64 * 240 * 2]);
    assert.ok(Math.abs(row.gpuHoursPerBillion - (64 * 1000) / 3600) < 1e-9);
  });

  it('puts last what does not fit, and before it what is over budget or too slow', () => {
    const plans = [
      { machine: h100, plan: planned(8, 1e6, false) },
      { machine: a100, plan: planned(8, 1e5) },
      { machine: machineNamed('H200'), plan: planned(8, 1e4) },
    ];
    const rows = rankMachines(plans, () => 1, { tokens: 1e9, budget: null, days: 1 });
    assert.deepEqual(rows.map(({ shortfall }) => shortfall), [null, 'too-slow', 'does-not-fit']); // prettier-ignore
    const [first] = rankMachines(plans.slice(1, 2), () => 1, { tokens: 1e12, budget: 10, days: null });
    assert.equal(first?.shortfall, 'over-budget');
  });

  it('has the faster of two that cost the same first', () => {
    const given = [
      { speed: 14, price: 18 },
      { speed: 28, price: 36 },
    ];
    const plans = given.map(({ speed }, gpus) => ({ machine: { ...h100, gpus }, plan: planned(8, speed) }));
    const [first] = rankMachines(plans, ({ gpus }) => given[gpus ?? 0]?.price ?? null, noLimits);
    assert.ok(first !== undefined && first.isOnFront && first.machine.gpus === 1);
  });

  it('marks those that no other beats in both time and cost', () => {
    const one = fc.record({ speed: fc.integer({ min: 1, max: 50 }), price: fc.integer({ min: 1, max: 50 }), fits: fc.boolean() });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 12 }), (given) => {
        const machines = given.map((_, index) => ({ ...h100, gpus: index }));
        const plans = given.map(({ speed, fits }, index) => ({ machine: machines[index] ?? h100, plan: planned(8, speed, fits) }));
        const rows = rankMachines(plans, ({ gpus }) => given[gpus ?? 0]?.price ?? null, noLimits);
        for (const row of rows) {
          const beaten = rows.some(
            (other) =>
              other.shortfall === null &&
              other.plan.tokensPerSecond >= row.plan.tokensPerSecond &&
              (other.costPerBillion ?? 0) <= (row.costPerBillion ?? 0) &&
              (other.plan.tokensPerSecond > row.plan.tokensPerSecond || (other.costPerBillion ?? 0) < (row.costPerBillion ?? 0)),
          );
          assert.equal(row.isOnFront, row.shortfall === null && !beaten);
        }
        const [best] = rows;
        if (rows.some(({ shortfall }) => shortfall === null)) assert.ok(best?.shortfall === null && best.isOnFront);
      }),
    );
  });
});

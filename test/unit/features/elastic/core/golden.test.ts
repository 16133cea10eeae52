import assert from 'node:assert/strict';
import { placePipelines } from '../../../../../src/features/elastic/core/auto-dp';
import { compressedLength } from '../../../../../src/features/elastic/core/auto-pipe';
import { greedyBalance, stageSums } from '../../../../../src/features/elastic/core/balance';
import { alphaPolicy } from '../../../../../src/features/elastic/core/freeze';
import { frozenUnits } from '../../../../../src/features/elastic/core/units';
import { golden } from '../../../../golden/data';

interface Row {
  readonly frozenLayers: number;
  readonly pipeLen: number;
  readonly subLayers: readonly number[];
  readonly paramsM?: readonly number[];
  readonly activeRanks?: readonly number[];
  readonly replicasPerNode?: number;
  readonly totalReplicas16gpu?: number;
}

interface CifarLog {
  readonly vitB16Params: readonly number[];
  readonly maxParamPerGpuAtBeginning: number;
  readonly logRows: readonly Row[];
  readonly sweepHeadCode: readonly Row[];
  readonly handCraftedFreezeSchedule: Readonly<Record<string, readonly number[]>>;
}

interface PartitionLogs {
  readonly models: readonly { readonly params: readonly number[]; readonly rows: readonly Row[] }[];
}

/** Parameters as the logs print them, in millions. */
function counts(millions: readonly number[]): number[] {
  return millions.map((value) => Math.round(value * 1e6));
}

/** The cut of a model whose first `frozen` units lie apart. */
function cutterOf(parameters: readonly number[]): Parameters<typeof compressedLength>[1] {
  return (stages) => {
    const units = greedyBalance(parameters, stages);
    return { units, largest: Math.max(...stageSums(parameters, units)) };
  };
}

describe('PipeTransformer on its own logs', () => {
  const log = golden('pipetransformer-cifar10') as CifarLog;
  const partitions = golden('pipetransformer-partitions') as PartitionLogs;

  it('cuts, compresses and replicates ViT-B/16 as every row of the CIFAR-10 log and of the sweep over frozen layers', () => {
    const all = counts(log.vitB16Params);
    const first = cutterOf(all)(8)?.largest ?? 0;
    assert.equal(first, Math.round(log.maxParamPerGpuAtBeginning * 1e6));
    for (const row of [...log.logRows, ...log.sweepHeadCode]) {
      const active = all.slice(frozenUnits(row.frozenLayers));
      const length = row.frozenLayers === 0 ? 8 : compressedLength(8, cutterOf(active), first);
      assert.equal(length, row.pipeLen, `${row.frozenLayers} frozen`);
      const units = greedyBalance(active, length);
      assert.deepEqual(units, row.subLayers, `${row.frozenLayers} frozen`);
      if (row.paramsM !== undefined) assert.deepEqual(stageSums(active, units), counts(row.paramsM));
      const placement = placePipelines({ nodes: 2, gpusPerNode: 8 }, 8, length);
      if (row.activeRanks !== undefined) assert.deepEqual(placement.activeRanks, row.activeRanks);
      if (row.replicasPerNode !== undefined) assert.equal(placement.replicasPerNode, row.replicasPerNode);
      if (row.totalReplicas16gpu !== undefined) assert.equal(placement.replicas, row.totalReplicas16gpu);
    }
    assert.equal(log.logRows.length + log.sweepHeadCode.length, 18);
  });

  it('balances all rows of the partition logs of 12, 24 and 32 layers, frozen layers discounted on the first stage', () => {
    let rows = 0;
    for (const { params, rows: logged } of partitions.models) {
      const all = counts(params);
      for (const row of logged) {
        const units = greedyBalance(all, row.pipeLen, frozenUnits(row.frozenLayers));
        assert.deepEqual(units, row.subLayers, `${all.length} units, ${row.frozenLayers} frozen`);
        if (row.paramsM !== undefined) assert.deepEqual(stageSums(all, units), counts(row.paramsM));
        rows += 1;
      }
    }
    assert.equal(rows, 71);
  });

  it('freezes by alpha exactly as the released schedule', () => {
    for (const [fraction, expected] of Object.entries(log.handCraftedFreezeSchedule)) {
      const [numerator = NaN, denominator = NaN] = fraction.split('/').map(Number);
      const policy = alphaPolicy(12, numerator / denominator);
      assert.deepEqual(
        expected.map((_, epoch) => policy.frozenLayers(epoch, 0)),
        expected,
        fraction,
      );
    }
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { before, describe, it } from 'mocha';
import { judgeCheckpoint } from '../../src/core/checkpoints/judge';
import { layoutChange, type CheckpointLayout } from '../../src/core/checkpoints/layout';
import { decidingPart } from '../../src/core/checkpoints/verdict';
import type { LauncherFile } from '../../src/core/run/facts';
import { launcherFile, megatronScript } from '../unit/core/checkpoints/files';
import { cases } from './cases';

const size = fc.constantFrom(1, 2, 4, 8);
const unknown = (value: fc.Arbitrary<number>) => fc.option(value, { nil: null, freq: 8 });
const layouts: fc.Arbitrary<CheckpointLayout> = fc.record({
  tensor: unknown(size),
  pipeline: unknown(size),
  virtualStages: unknown(size),
  stageLayers: fc.constantFrom(null, [4, 4, 4, 4], [3, 5, 4, 4]),
  data: unknown(size),
  context: unknown(size),
  expert: unknown(size),
  expertTensor: unknown(size),
  zeroStage: unknown(fc.constantFrom(0, 1)),
  optimizer: fc.constant('adam'),
});

describe('a checkpoint at another layout', () => {
  const files: LauncherFile[] = [];
  let [plain, reshardable, weights]: (LauncherFile | undefined)[] = [];
  before(async () => {
    plain = await megatronScript('--load ckpt --ckpt-format torch_dist');
    reshardable = await megatronScript('--load ckpt --use-distributed-optimizer --dist-ckpt-optim-fully-reshardable');
    weights = await megatronScript('--load ckpt --use-distributed-optimizer --finetune');
    files.push(plain, reshardable, weights, await megatronScript('--load ckpt --ckpt-format torch --use-distributed-optimizer'));
    files.push(await launcherFile('torchtitan', '[parallelism]\ntensor_parallel_degree = 2\n[checkpoint]\nenable = true\n'));
    files.push(await launcherFile('hf-trainer', 'base_model: m\nresume_from_checkpoint: ckpt\ndeepspeed: zero1.json\n'));
    files.push(
      await launcherFile('hf-trainer', 'base_model: m\nresume_from_checkpoint: ckpt\nfsdp_config:\n  state_dict_type: LOCAL_STATE_DICT\n'),
    );
  });

  it('is not judged where no size that is known differs', () => {
    const check = (file: LauncherFile, layout: CheckpointLayout): void => {
      assert.equal(judgeCheckpoint(file, layout, layout), null);
      const open = Object.fromEntries(Object.keys(layout).map((name) => [name, null])) as unknown as CheckpointLayout;
      assert.equal(judgeCheckpoint(file, open, { ...layout, stageLayers: null }), null);
    };
    fc.assert(
      fc.property(layouts, (layout) => files.forEach((file) => check(file, layout))),
      { numRuns: cases(200, 5_000) },
    );
  });

  it('loads its weights in the format torch_dist whatever changes, and the optimizer state where it is written for that', () => {
    fc.assert(
      fc.property(layouts, layouts, (from, to) => {
        const [first, second] = [from, to].map((layout) => ({ ...layout, zeroStage: null }));
        for (const file of [plain, reshardable, weights]) {
          const judged = judgeCheckpoint(file!, first!, second!);
          if (judged !== null) assert.equal(decidingPart(judged.verdict).outcome, 'loads');
        }
      }),
      { numRuns: cases(500, 20_000) },
    );
  });

  it('is never worse for a size that stays: a change of several sizes is at least as bad as each of them', () => {
    const order = ['loads', 'unknown', 'initialises', 'stops'];
    const outcome = (file: LauncherFile, from: CheckpointLayout, to: CheckpointLayout): number => {
      const judged = judgeCheckpoint(file, from, to);
      return judged === null ? 0 : order.indexOf(decidingPart(judged.verdict).outcome);
    };
    fc.assert(
      fc.property(layouts, layouts, (from, to) => {
        for (const file of files)
          for (const name of ['tensor', 'pipeline', 'data', 'context'] as const)
            assert.ok(outcome(file, from, to) >= outcome(file, from, { ...from, [name]: to[name] }) || isMixed(from, to), name);
      }),
      { numRuns: cases(200, 5_000) },
    );
  });

  /** ZeRO switched on or off is judged before sizes of the optimizer state are. */
  function isMixed(from: CheckpointLayout, to: CheckpointLayout): boolean {
    return layoutChange(from, to).changed.has('zeroStage');
  }

  it('comes with a source for each part, and with a conversion only where it does not load', () => {
    fc.assert(
      fc.property(layouts, layouts, (from, to) => {
        for (const file of files) {
          const judged = judgeCheckpoint(file, from, to);
          if (judged === null) continue;
          const { verdict } = judged;
          for (const part of [verdict.weights, verdict.optimizer]) if (part !== null) assert.match(part.source, / at [0-9a-f]{8}, \S/);
          if (decidingPart(verdict).outcome === 'loads') assert.equal(verdict.conversion, null);
        }
      }),
      { numRuns: cases(200, 5_000) },
    );
  });
});

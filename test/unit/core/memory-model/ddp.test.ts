import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { totalBytes, staticBytes } from '../../../../src/core/memory-model/static';
import { cutContents } from '../../../../src/core/partition/stages';
import { parameterCount } from '../../../../src/core/model/parameters';
import { loadObject } from '../config-files/files';

const model = { layers: 16, hidden: 2048, heads: 16, ffn: 8192, vocab: 32_000 };
const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

/** Bytes a parameter that are always present. */
async function perParameter(training: object): Promise<number> {
  const run = await loadObject({
    model,
    training: { runtime: 'ddp', sequenceLength: 2048, ...training },
    layout: { tensor: 1, pipeline: 1 },
  });
  const inputs = resolveRun(run, node);
  const [stage] = cutContents([16], inputs.model);
  assert.ok(stage);
  return totalBytes(staticBytes(inputs, stage)) / parameterCount(inputs.model);
}

describe('memory under DDP', () => {
  it('has weights, gradients, their buckets and states of fp32 on every replica, and also weights in bf16', async () => {
    assert.ok(Math.abs((await perParameter({})) - (4 + 4 + 4 + 8 + 2)) < 0.05);
  });

  it('has all of it in 16 bits where there is no master weight', async () => {
    assert.ok(Math.abs((await perParameter({ masterWeightBytes: 0 })) - (2 + 2 + 2 + 4)) < 0.05);
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { configError } from '../../src/core/errors';
import type { MemoryProfile } from '../../src/core/memory-model/profile';
import { fitsMemory } from '../../src/core/memory-model/verdict';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../src/core/plan-request/scenario';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate } from '../../src/core/planner/plan';
import type { Run } from '../../src/core/run/run';
import { sentence } from '../../src/core/sentence';
import { applyOverrides } from '../../src/core/terapipe/overrides';
import { largestThatFits } from '../../src/features/largest/core/largest';
import { cases } from './cases';
import { loadRun } from '../load-run';

const reason = sentence`for a test`;
const defaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: 1,
  gpusPerNode: null,
  reasons: { gpu: reason, nodes: reason, gpusPerNode: reason },
};
const refused = (): Promise<never> => Promise.reject(configError('config-not-found', sentence`reads no other file`, sentence`none`));

const models = ['Qwen/Qwen2.5-0.5B', 'Qwen/Qwen2.5-1.5B', 'meta-llama/Llama-3.2-1B'] as const;
const most = 48;

/** An Axolotl run of adapters, near the limit of its GPUs' memory. */
const asked = fc.record({
  model: fc.constantFrom(...models),
  gpus: fc.constantFrom(1, 2),
  length: fc.constantFrom(1024, 2048, 4096),
  microBatch: fc.constantFrom(1, 2),
  /** The rank that the memory is just enough for; 0: for none. */
  enoughFor: fc.integer({ min: 0, max: 60 }),
  is4Bit: fc.boolean(),
  targets: fc.constantFrom('lora_target_linear: true', 'lora_target_modules: [q_proj, v_proj]'),
});
type Case = typeof asked extends fc.Arbitrary<infer T> ? T : never;

/** The run with adapters of a rank: the rank goes through the file, as a person would write it. */
async function runWith({ model, length, microBatch, is4Bit, targets, gpus }: Case, rank: number, memoryGB = 40): Promise<Run> {
  const lines = [
    `base_model: ${model}`,
    `adapter: ${is4Bit ? 'qlora' : 'lora'}`,
    `load_in_4bit: ${is4Bit}`,
    `lora_r: ${rank}`,
    targets,
    `sequence_len: ${length}`,
    `micro_batch_size: ${microBatch}`,
    'gradient_accumulation_steps: 2',
    'bf16: true',
  ];
  const run = await loadRun('lora.yml', lines.join('\n'), refused);
  const machine = [`cluster.gpu.memoryGB=${memoryGB}`, `cluster.gpusPerNode=${gpus}`, 'cluster.nodes=1'];
  return applyOverrides(run, ['cluster.gpu.preset=A100-40GB', ...machine], assumedGpuName);
}

function plannedMemory(run: Run): MemoryProfile {
  return chosenCandidate(makePlan(resolveRun(run, defaults), { isCompared: false })).memory;
}

/** Of a GPU on which a rank just fits: the peak, 5 % of fragmentation and 1 GiB of context. */
async function enoughGB(drawn: Case): Promise<number> {
  const { peakBytes = 0 } = plannedMemory(await runWith(drawn, Math.max(1, drawn.enoughFor))).stages[0] ?? {};
  return (1.05 * peakBytes * (drawn.enoughFor === 0 ? 0.95 : 1)) / 2 ** 30 + 1 + 1e-6;
}

describe('the most columns of adapters that fit', () => {
  it('are those of every rank planned by itself', async () => {
    const found = { all: 0, some: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(asked, async (drawn) => {
        const memory = await enoughGB(drawn);
        const { value } = largestThatFits(await runWith(drawn, 8, memory), 'lora-rank', { defaults, most });
        const ranks: number[] = [];
        for (let rank = 1; rank <= most; rank++) if (fitsMemory(plannedMemory(await runWith(drawn, rank, memory)))) ranks.push(rank);
        assert.equal(value, ranks.at(-1) ?? null);
        found[value === null ? 'none' : value === most ? 'all' : 'some']++;
      }),
      { numRuns: cases(8, 200), seed: 47 },
    );
    assert.ok(found.some > 3, JSON.stringify(found));
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'mocha';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { pickle } from '../../../../src/features/oom/core/pickle';
import { predictedSnapshot } from '../../../../src/features/oom/core/predicted-snapshot';
import { readSnapshot } from '../../../../src/features/oom/core/snapshot';
import { unpickle, type Pickled } from '../../../../src/features/oom/core/unpickle';
import { loadObject } from '../../core/config-files/files';

const python = process.env['TERAPIPE_TORCH_PYTHON'];

async function planned(training: object = {}, schedule = '1F1B'): Promise<Plan> {
  const run = await loadObject({
    model: { layers: 16, hidden: 2048, heads: 16, ffn: 8192, vocab: 32_000 },
    training: { sequenceLength: 2048, globalBatch: 16, ...training },
    layout: { tensor: 2, pipeline: 4, data: 1 },
    schedule,
  });
  return makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 }));
}

/** The plan of a step of which nothing is drawn. */
function withoutTimeline(plan: Plan): Plan {
  return { ...plan, candidates: plan.candidates.map((candidate) => ({ ...candidate, timeline: null })) };
}

/** Plain values of what was read. */
function plain(value: Pickled): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value.kind === 'list') return value.items.map(plain);
  const entries = value.items.flatMap((item, at) =>
    at % 2 === 0 ? [[String(plain(item)), plain(value.items[at + 1] ?? null)] as const] : [],
  );
  return Object.fromEntries(entries);
}

interface Event {
  readonly action: string;
  readonly size: number;
}

describe('the snapshot of a planned step', () => {
  // ZB-H1 and PO-F free in another order than they allocate
  for (const schedule of ['1F1B', 'ZB-H1', 'PO-F'])
    it(`peaks where the plan does, on every stage, and ends with what is always held, of ${schedule}`, async () => {
      const plan = await planned({}, schedule);
      const { memory } = chosenCandidate(plan);
      const snapshot = plain(unpickle(predictedSnapshot(plan), 'a')) as { readonly device_traces: readonly (readonly Event[])[] };
      assert.equal(snapshot.device_traces.length, 4);
      for (const [stage, trace] of snapshot.device_traces.entries()) {
        let [bytes, peak] = [0, 0];
        for (const { action, size } of trace) {
          if (action === 'alloc') bytes += size;
          if (action === 'free_completed') bytes -= size;
          peak = Math.max(peak, bytes);
        }
        const { peakBytes = 0, staticBytes = 0 } = memory.stages[stage] ?? {};
        assert.ok(Math.abs(peak / peakBytes - 1) < 0.001, `stage ${stage}: ${peak} of ${peakBytes}`);
        assert.ok(Math.abs(bytes / staticBytes - 1) < 0.001, `stage ${stage}: ${bytes} of ${staticBytes}`);
      }
    });

  it('is read by our own reader, part by part', async () => {
    const plan = await planned();
    const { parts, device } = readSnapshot(predictedSnapshot(plan), 'a');
    const stage = chosenCandidate(plan).memory.stages[device];
    assert.ok(stage);
    for (const part of ['weights', 'optimizer'] as const) assert.ok(Math.abs(parts[part] - stage.parts[part]) < 1024, part);
    assert.ok(Math.abs(parts.gradients - stage.parts.gradients - stage.parts.dummyGradients) < 2048);
  });

  it('is refused where the viewer could not show it', async () => {
    const plan = await planned({ globalBatch: 16_384 });
    assert.throws(() => predictedSnapshot(plan), { code: 'snapshot-too-large' });
    assert.throws(() => predictedSnapshot(withoutTimeline(plan)), /too many operations/);
  });

  it("is read by PyTorch's own memory viewer", async function () {
    if (python === undefined) return this.skip();
    const folder = mkdtempSync(path.join(tmpdir(), 'snapshot-'));
    try {
      const file = path.join(folder, 'plan.pickle');
      writeFileSync(file, predictedSnapshot(await planned()));
      const script = [
        'import pickle, sys',
        'from torch.cuda import _memory_viz as viz',
        "data = pickle.load(open(sys.argv[1], 'rb'))",
        "assert type(data['segments'][0]['segment_pool_id']) in (list, tuple)",
        'print(viz.segsum(data)); print(viz.trace(data)); viz.trace_plot(data); viz.segment_plot(data); print(viz.memory(data, lambda text: text))',
      ].join('\n');
      const { status, stdout, stderr } = spawnSync(python, ['-c', script, file], { encoding: 'utf8', timeout: 120_000 });
      assert.equal(status, 0, stderr);
      assert.match(stdout, /weights \(init_weights\)/);
      assert.match(stdout, /Device 3/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a pickle of plain data', () => {
  it('gives back what it is made of', () => {
    const value = { a: [1, -1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 0], 'a ü 𝄞': [true, false, ['a', 'a']], empty: [{}, []] };
    assert.deepEqual(plain(unpickle(pickle(value), 'a')), value);
  });

  it('refuses a number that is not whole', () => {
    assert.throws(() => pickle(0.5), /not a whole number/);
  });
});

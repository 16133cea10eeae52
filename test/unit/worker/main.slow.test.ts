import assert from 'node:assert/strict';
import { on } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { comparePlans } from '../../../src/features/compare/core/plans';
import type { ExpectedError } from '../../../src/core/errors';
import { chromeTrace } from '../../../src/core/export/chrome-trace';
import { chosenCandidate } from '../../../src/core/planner/plan';
import { readScheduleFile } from '../../../src/core/schedules/pytorch-csv/schedule-file';
import { loadRun } from '../../load-run';
import { findRemedies, planRemedy } from '../../../src/core/rules/plan/remedies';
import { resolveRun } from '../../../src/core/plan-request/resolve';
import { makePlan } from '../../../src/core/planner/make-plan';
import { answerElastic } from '../../../src/features/elastic/core/answer';
import { answerSearch, type SearchUpdate } from '../../../src/core/layout-search/answer';
import { parseWorkerReply, type WorkerReply, type WorkerRequest } from '../../../src/protocol/worker';
import { createPlannerClient, type PlannerClient } from '../../../src/host/planner/client';
import { plannerProcess } from '../../../src/worker/process';
import { gpt, llama3, request } from '../../golden/requests';
import { preparedRehearsal } from '../../../src/features/rehearsal/core/prepare';
import { asPlanned, tinyPlan } from '../features/rehearsal/profiler/tiny-plan';
import { requestOf, vitBase } from '../features/elastic/core/models';
import { bundlePlanner, type BundledWorker } from './bundle';

const small = request('A100-80GB', gpt(8, 1024, 16, 50304), {
  training: { globalBatch: 4, sequenceLength: 512 },
  layout: { tensor: 2, pipeline: 4 },
});
/** Long enough to report progress: 2048 units and 8 batch sizes. */
const long = {
  ...request('A100-80GB', gpt(96, 12288, 96, 50304, 16384), {
    training: { globalBatch: 8, sequenceLength: 16384 },
    layout: { tensor: 8, pipeline: 48 },
  }),
  slicing: { unit: 8, scheme: null },
};

/** A ViT that freezes a hundredth of its layers after each epoch. */
function freezing() {
  return requestOf({ model: vitBase, epochs: 5, freezing: { kind: 'alpha', alpha: 0.01 }, microBatches: 'search', balance: 'time' });
}

/** In which updates of a search come. */
const order: readonly SearchUpdate['kind'][] = ['searching', 'found', 'helping'];

describe('planner worker', () => {
  let worker: BundledWorker;
  let client: PlannerClient;

  before(async () => {
    worker = await bundlePlanner();
    client = createPlannerClient(plannerProcess(worker.file));
  });
  after(async () => {
    await client.dispose();
    await worker.remove();
  });

  const threadFile = (): string => join(dirname(worker.file), 'planner.js');

  it('is of one byte a character: of others V8 would keep the source in twice the memory', () => {
    const source = readFileSync(threadFile(), 'utf8');
    const wide = [...source.matchAll(/[^\n]{0,40}[^\0-\u00ff]/g)].map(([text]) => text);
    assert.deepEqual(wide, [], 'write the character as an escape');
  });

  /**
   * How a thread of its own, without a client that loses patience, ends a request that is cancelled before it starts or at its first
   * progress.
   */
  async function endOf(message: WorkerRequest, givenUp: 'before' | 'atProgress'): Promise<WorkerReply['type']> {
    const cancelFlag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const giveUp = (): number => Atomics.store(cancelFlag, 0, message.id);
    const thread = new Worker(threadFile(), { workerData: { cancelFlag: cancelFlag.buffer } });
    if (givenUp === 'before') giveUp();
    thread.postMessage(message);
    try {
      for await (const [reply] of on(thread, 'message')) {
        const { type } = parseWorkerReply(reply);
        if (type !== 'progress' && type !== 'searching') return type;
        giveUp();
      }
      return assert.fail('the thread ended');
    } finally {
      await thread.terminate();
    }
  }

  it('returns the plan that the planner makes', async () => {
    assert.deepEqual(await client.plan(small), makePlan(small));
  });

  it('fills in what a run leaves open and finds the changes that fit as on this thread, errors and their places included', async () => {
    const loaded = (config: object) => loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
    const config = {
      model: { layers: 8, hidden: 8192, heads: 64, vocab: 0 },
      cluster: { gpu: { preset: 'A100-80GB', memoryGB: 24 }, nodes: 1, gpusPerNode: 8 },
      training: { sequenceLength: 4096, globalBatch: 8, microBatch: 2, precision: 'bf16' },
      slicing: { unit: 1024 },
      layout: { tensor: 2, pipeline: 4, data: 1 },
      schedule: 'GPipe',
    };
    const run = await loaded(config);
    const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;
    const asked = { run, defaults, found: [] };
    const request = resolveRun(run, defaults);
    assert.deepEqual(await client.resolve(asked), request);
    const plan = makePlan(request);
    const remedies = findRemedies(run, plan, (changed) => planRemedy(changed, plan, { defaults, found: [] }));
    assert.ok(remedies.length > 0);
    assert.deepEqual(await client.remedies(asked, plan), remedies);
    const refused = await loaded({ ...config, layout: { stageLayers: [3, 3] } });
    await assert.rejects(client.resolve({ ...asked, run: refused }), { code: 'plan-stage-layers', place: refused.layout.stageLayers?.source.kind === 'file' ? refused.layout.stageLayers.source.place : null }); // prettier-ignore
  });

  it('returns it again, since nothing it keeps went away with the first answer', async () => {
    assert.deepEqual(await client.plan(small), await client.plan(small));
  });

  it('prepares a rehearsal of a plan in the order that it planned', async () => {
    const plan = await tinyPlan({ schedule: 'ZBVZeroBubble', slicing: { scheme: Array.from({ length: 4 }, () => [1, [64]]) }, training: { globalBatch: 4 } }); // prettier-ignore
    const asked = { scale: asPlanned, steps: 5, clock: null };
    const room = { usableBytes: 1e9, cores: 2 };
    const prepared = await client.prepareRehearsal(plan, asked, room);
    assert.deepEqual(prepared, preparedRehearsal(plan, asked, room));
    assert.deepEqual(prepared.design.schedule.kind, chosenCandidate(plan).timeline?.kind);
    await assert.rejects(client.prepareRehearsal(plan, { ...asked, clock: 'real' }, { ...room, cores: 1 }), { code: 'rehearsal-cores' });
  });

  it('returns the plan of a run that freezes layers', async () => {
    assert.deepEqual(await client.planElastic(freezing()), answerElastic(freezing()));
  });

  it('returns what a search finds and what would help, and reports how far it is', async () => {
    // Of schedules that need no plan of their own, which would take most of the time.
    const schedules = ['1F1B', 'GPipe', 'TeraPipe'] as const;
    const problem = { request: small, fixed: new Set(['tensor' as const, 'recompute' as const]), schedules };
    const asked = { improvements: true };
    const updates: SearchUpdate[] = [];
    const result = await client.search(problem, { ...asked, onUpdate: (update) => updates.push(update) });
    assert.deepEqual(result, answerSearch(problem, asked));
    assert.ok(result.improvements.length > 1);
    const kinds = updates.map(({ kind }) => kind);
    assert.deepEqual(kinds, [...kinds].sort((a, b) => order.indexOf(a) - order.indexOf(b))); // prettier-ignore
    assert.deepEqual(new Set(kinds), new Set(order));
    const helping = updates.filter((update) => update.kind === 'helping');
    assert.deepEqual(
      helping.map(({ index, count, improvements }) => [index, count, improvements.length]),
      result.improvements.map((_, index) => [index, result.improvements.length, index]),
    );
  });

  it('compares two plans by their figures', async () => {
    const [a, b] = [makePlan(small), makePlan({ ...small, schedule: 'GPipe' })];
    assert.deepEqual(await client.compare(a, { kind: 'plan', plan: b }), comparePlans(a, b, { a: 'A', b: 'B' }));
  });

  describe('with a measured run', () => {
    const folder = mkdtempSync(join(tmpdir(), 'terapipe-compare-'));
    const measured = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return { kind: 'measured' as const, path: join(folder, name), file: `file:///w/${name}` };
    };
    const plan = makePlan(small);
    const trace = chromeTrace(chosenCandidate(plan).timeline!, { title: 'a run' });
    const text = [...trace].join('');
    after(() => rmSync(folder, { recursive: true, force: true }));

    it('compares a trace with a plan, and reads it again only when the file is another one', async () => {
      const first = await client.compare(plan, measured('run.json', text));
      assert.ok(first.kind === 'trace' && first.equal);
      const again = await client.compare(plan, measured('run.json', text));
      assert.deepEqual(again, first);
      const times = await client.compare(plan, measured('run.json', '{"stepsMs": [9, 8, 7]}'));
      assert.ok(times.kind === 'times' && times.step?.measuredMs === 7);
    });

    it('reads a large trace piece by piece, reports progress, and can be cancelled between two pieces', async () => {
      const noise = `${JSON.stringify({ ph: 'X', cat: 'cpu_op', name: 'aten::mm', pid: 1, tid: 1, ts: 1, dur: 1, args: { text: 'x'.repeat(200) } })},\n`;
      const large = measured('large.json', text.replace('"traceEvents":[', `"traceEvents":[${noise.repeat(20_000)}`));
      const fractions: number[] = [];
      const compared = await client.compare(plan, large, { onProgress: (fraction) => fractions.push(fraction) });
      assert.ok(compared.kind === 'trace' && compared.equal);
      assert.ok(fractions.length > 4 && fractions.at(-1) === 1, String(fractions.length));
      assert.deepEqual(fractions, [...fractions].sort((a, b) => a - b)); // prettier-ignore
      assert.equal(await endOf({ type: 'compare', id: 1, plan, against: large }, 'atProgress'), 'cancelled');
    });

    it('places what is wrong with the file', async () => {
      for (const [name, content, code] of [
        ['cut.json', '{"traceEvents":[{"name":"PP:0F0"', 'trace-syntax'],
        ['poem.txt', 'Es war einmal\nein Lattenzaun\n', 'measured-unknown'],
        ['bad.csv', 'step_ms\n12\nsoon\n', 'times-value'],
      ] as const)
        await assert.rejects(client.compare(plan, measured(name, content)), (error: ExpectedError) => {
          assert.deepEqual([error.code, error.place?.file], [code, `file:///w/${name}`]);
          return true;
        });
      const missing = { kind: 'measured' as const, path: join(folder, 'nothing.json'), file: 'file:///w/nothing.json' };
      await assert.rejects(client.compare(plan, missing), { code: 'measured-unreadable' });
      await assert.rejects(client.compare(plan, { ...missing, path: folder }), { code: 'measured-unreadable' });
    });
  });

  it('reads a schedule file as the core does', async () => {
    for (const csv of ['0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n', '0F0,0X1\n'])
      assert.deepEqual(await client.readSchedule(csv, 'file:///w/a.csv', 'a.csv'), readScheduleFile(csv, 'file:///w/a.csv', 'a.csv'));
  });

  it('places what is wrong in a log', async () => {
    const norms = {
      file: 'file:///w/norms.csv',
      norms: new Map(),
      places: new Map(),
      end: { file: 'file:///w/norms.csv', range: { start: 3, end: 4 } },
    };
    await assert.rejects(client.planElastic({ ...freezing(), freezing: { kind: 'gradients', alpha: 0.5, norms } }), {
      code: 'elastic-norms',
      place: norms.end,
    });
  });

  it('gives up a plan, a search of a large cluster and a run that freezes layers when they are cancelled', async () => {
    const large = request('H100-80GB', llama3('405b', 126), {
      training: { globalBatch: 2048, sequenceLength: 8192 },
      layout: { tensor: 8, pipeline: 16, data: 128 },
    });
    const problem = { request: large, fixed: new Set<never>() };
    assert.equal(await endOf({ type: 'plan', id: 1, request: long, first: false }, 'atProgress'), 'cancelled');
    assert.equal(await endOf({ type: 'search', id: 1, problem, improvements: false }, 'atProgress'), 'cancelled');
    assert.equal(await endOf({ type: 'elastic', id: 1, request: freezing() }, 'before'), 'cancelled');
  });
});

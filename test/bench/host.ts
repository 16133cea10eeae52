// Prints how long the extension host's thread is held at most while a config is opened and planned: `npm run bench`. What is over the 50 ms
// that other extensions may wait is marked.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { createPlanSessions } from '../../src/host/sessions/plan-sessions';
import { createPlannerClient, type PlannerClient } from '../../src/host/planner/client';
import { plannerProcess } from '../../src/worker/process';
import { bundlePlanner } from '../unit/worker/bundle';

const goalMs = 50;
const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;
const llama70b = {
  layers: 80,
  hidden: 8192,
  heads: 64,
  kvHeads: 8,
  ffn: 28672,
  gatedMlp: true,
  vocab: 128256,
  tiedEmbeddings: false,
};
const groups = [
  { gpu: 'H100-80GB', nodes: 16, gpusPerNode: 8 },
  { gpu: 'A100-80GB', nodes: 16, gpusPerNode: 8 },
];

const configs: Readonly<Record<string, object>> = {
  'Llama-70B, 131,072 tokens, over memory': {
    model: llama70b,
    cluster: { gpu: 'H100-80GB', nodes: 16, gpusPerNode: 8 },
    training: { sequenceLength: 131_072, globalBatch: 16 },
    layout: { tensor: 8, pipeline: 16, data: 1 },
  },
  'Llama-70B, 131,072 tokens, 1F1B asked for': {
    model: llama70b,
    cluster: { gpu: 'H100-80GB', nodes: 16, gpusPerNode: 8 },
    training: { sequenceLength: 131_072, globalBatch: 16 },
    layout: { tensor: 8, pipeline: 16, data: 1 },
    schedule: '1F1B',
  },
  'Llama-70B without a layout or a cluster': { model: llama70b, training: { sequenceLength: 8192 } },
  'Llama-70B on two groups of nodes': { model: llama70b, cluster: { groups }, training: { sequenceLength: 8192, globalBatch: 256 } },
  '1,024 layers on two groups of nodes': {
    model: { ...llama70b, layers: 1024 },
    cluster: { groups },
    training: { sequenceLength: 8192, globalBatch: 256 },
  },
  '10,000 layers on 10,000 stages': {
    model: { layers: 10_000, hidden: 1024, heads: 16, vocab: 50304 },
    cluster: { gpu: 'H100-80GB', nodes: 1250, gpusPerNode: 8 },
    training: { sequenceLength: 1024, globalBatch: 1000 },
    layout: { tensor: 1, pipeline: 10_000, data: 1 },
  },
};

/** Longest that this thread was held while a config was opened, planned, and the changes that fit were looked for. */
async function longestBlock(planner: PlannerClient, config: object): Promise<{ readonly heldMs: number; readonly outcome: string }> {
  const text = JSON.stringify(config);
  let plans = 0;
  const counted = <T>(promise: Promise<T>): Promise<T> => {
    plans += 1;
    return promise.finally(() => (plans -= 1));
  };
  const sessions = createPlanSessions({
    readText: () => Promise.resolve(text),
    resolvePath: (_, path) => path,
    shell: () => Promise.reject(new Error('no script')),
    resolve: (run, found, kept, options) => planner.resolve({ run, found, defaults: { ...defaults, kept } }, options),
    remedies: (run, found, judged, options) => counted(planner.remedies({ run, found, defaults }, judged, options)),
    plan: planner.plan,
    planElastic: planner.planElastic,
    readSchedule: planner.readSchedule,
    profiles: () => Promise.resolve([]),
    defaults: () => defaults,
    switchedOff: () => new Set(),
    delayMs: () => null,
    reportBug: (error) => console.error(error),
  });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await setTimeout(20);
  const state = await sessions.ensure('file:///w/terapipe.json', 'terapipe');
  for (let quiet = 0; quiet < 20; quiet += 1) {
    await setTimeout(10);
    if (plans > 0) quiet = 0;
  }
  delay.disable();
  sessions.dispose();
  return {
    heldMs: delay.max / 1e6,
    outcome:
      state.error?.code ??
      sessions
        .get(state.file)
        ?.findings.map(({ code }) => code)
        .join() ??
      '',
  };
}

async function main(): Promise<void> {
  const worker = await bundlePlanner();
  const planner = createPlannerClient(plannerProcess(worker.file));
  const wanted = process.argv[2];
  for (const [name, config] of Object.entries(configs)) {
    if (wanted !== undefined && !name.includes(wanted)) continue;
    const times = [];
    let outcome = '';
    for (let time = 0; time < 3; time += 1) {
      const opened = await longestBlock(planner, config);
      times.push(opened.heldMs);
      outcome = opened.outcome;
    }
    const mark = Math.min(...times) > goalMs ? ' (over the goal)' : '';
    console.log(`${name}: held ${times.map((ms) => ms.toFixed(0)).join(', ')} ms${mark}; ${outcome}`);
  }
  await planner.dispose();
  await worker.remove();
}

void main();

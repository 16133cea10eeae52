import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommandLine } from './command-line';

/** Takes tens of seconds to plan. */
const large = {
  model: { layers: 96, hidden: 12288, heads: 96, vocab: 51200 },
  cluster: { gpu: 'H100-80GB', nodes: 96, gpusPerNode: 8 },
  training: { sequenceLength: 8192, microBatch: 1, globalBatch: 32768 },
  layout: { tensor: 8, pipeline: 96, data: 1 },
};
const open = {
  ...large,
  cluster: { gpu: 'H100-80GB', nodes: 1024, gpusPerNode: 8 },
  layout: {},
};
const solving = {
  batch: 4,
  tokens: 65536,
  unit: 1,
  stages: 64,
  cost: {
    table: {
      tokens: [1, 65536],
      contexts: [0, 65536],
      ms: [
        [1, 2],
        [900, 1800],
      ],
    },
  },
};
const simulating = {
  schedule: 'ZeroBubbleV',
  stages: 200,
  microBatches: 2000,
  times: { forwardMs: Array.from({ length: 200 }, (_, stage) => 1 + ((stage * 7) % 5) / 10), backwardInputMs: 1.1, backwardWeightMs: 0.9 },
  memory: { forward: 1, backwardInput: -0.5, backwardWeight: -0.5 },
  memoryLimit: 400,
};

/** Command lines, each with what it prints once its work has begun. `-` waits for an input that never ends. */
export const longCommands: readonly { readonly args: readonly string[]; readonly began: RegExp }[] = [
  { args: ['plan', 'large.json'], began: /planning/ },
  { args: ['plan', 'open.json', '--search'], began: /working/ },
  { args: ['plan', 'large.json', '--compare', 'large.json'], began: /planning/ },
  { args: ['check', 'large.json', 'open.json', 'large.json'], began: /checking/ },
  { args: ['memory', 'large.json', '--json'], began: /planning/ },
  { args: ['export', 'large.json', '--to', 'html', '--out', 'plan.html'], began: /planning/ },
  { args: ['elastic', '-'], began: /working/ },
  { args: ['inspect', '-'], began: /working/ },
  { args: ['solve', 'solving.json'], began: /working/ },
  { args: ['simulate', 'simulating.json'], began: /working/ },
  { args: ['profile', '-'], began: /working/ },
];

/** Writes what the commands are about into the current folder of a command line. */
export function writeLongInputs(folder: string): void {
  for (const [name, content] of Object.entries({ large, open, solving, simulating }))
    writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(content));
}

/** How a command ended, and how long after the signal, ms. */
export interface Interrupted {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Whether it ended by itself: it refused its input. */
  readonly refused: boolean;
  readonly endedMs: number;
}

/** How a command ends that gets a signal as soon as it reports that its work has begun. */
export async function interrupted(
  { bundle: bundled, folder }: CommandLine,
  args: readonly string[],
  began: RegExp,
  signal: NodeJS.Signals,
): Promise<Interrupted> {
  const bundle = await bundled();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bundle, ...args], { cwd: folder, env: { ...process.env, TERAPIPE_DEBUG: '1' } });
    let output = '';
    let signalledMs: number | null = null;
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (signalledMs !== null || !began.test(output)) return;
      signalledMs = performance.now();
      child.kill(signal);
    });
    child.stdout.resume();
    child.on('error', reject);
    child.on('close', (exitCode, killedBy) =>
      resolve({ exitCode, signal: killedBy, refused: /\.json:\d+:\d+: /.test(output), endedMs: performance.now() - (signalledMs ?? 0) }),
    );
  });
}

import { matchGpuPreset } from '../../../../core/cluster/presets';
import { bytesPerGiB } from '../../../../core/format';
import type { LogFacts } from './facts';
import { numberIn, timestampIn } from './lines';
import type { LogFormat, LogLines } from './run-log';
import { makeRunRecorder, type RunRecorder } from './recorder';

/*
 * TorchTitan: `MetricsProcessor.log` of components/metrics.py, the mesh of distributed/parallel_dims.py, what trainer.py logs before it
 * starts. Read at b5bcd76c; older forms (`wps`, a mesh of named dimensions) from logs. Every rank may log.
 */

const step = /(?<!validate )\bstep:\s{0,6}(\d+)\s.{0,200}\b(?:tps|wps):/;

export const torchTitanLog: LogFormat = {
  program: 'torchtitan',
  name: 'TorchTitan',
  stepLine: step,
  anyLine: /step:|device mesh|Trainer is|Training starts|capacity: |total parameters|activation checkpointing/,
  read: (): LogLines => {
    const run = makeRunRecorder('torchtitan');
    return {
      push: (line) => {
        if (line.includes('step:')) readStep(line, run);
        else if (line.includes('device mesh')) readMesh(line, run);
        else if (line.includes('Trainer is initialized with')) readBatch(line, run);
        else readHead(line, run);
      },
      end: () => run.end(tokensOfGpu),
    };
  },
};

/** Tokens of a step by GPU, as `tps` counts them: of a data-parallel rank over the GPUs of its replica. */
function tokensOfGpu({ gpus, 'training.globalBatch': batch, 'training.sequenceLength': length }: LogFacts): number | null {
  return gpus === undefined || batch === undefined || length === undefined ? null : (batch * length) / gpus;
}

function readStep(line: string, run: RunRecorder): void {
  const iteration = numberIn(line, step);
  if (iteration === null) return;
  const rate = numberIn(line, /\b(?:tps|wps):\s{0,6}([\d,.]+)/);
  run.step({ iteration, rate, atMs: timestampIn(line), tflopsPerGpu: numberIn(line, /\btflops:\s{0,6}([\d,.]+)/) });
  const reserved = numberIn(line, /\bmemory:\s{0,6}([\d.]+)\s?GiB/);
  const rank = /\[(?:rank|default)?(\d{1,7})\]:/.exec(line)?.[1];
  if (reserved !== null)
    run.memory({ rank: rank === undefined ? null : Number(rank), allocatedBytes: null, reservedBytes: reserved * bytesPerGiB });
}

/** `pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1`, or `with ['dp_shard', 'tp'], [4, 2]`: dimensions of size 1 are left out. */
function readMesh(line: string, run: RunRecorder): void {
  const [, names, degrees] = /with \[([^\]]{0,200})\], \[([^\]]{0,200})\]/.exec(line) ?? [];
  const listed = degrees?.split(',').map(Number) ?? [];
  const pairs =
    names === undefined
      ? [...line.matchAll(/\b([a-z_]{2,20})=(\d{1,9})/g)].map(([, name = '', degree]): [string, number] => [name, Number(degree)])
      : names.split(',').map((name, at): [string, number] => [name.replace(/[' ]/g, ''), listed[at] ?? NaN]);
  if (pairs.length === 0 || !pairs.every(([, degree]) => degree >= 1)) return;
  run.begin();
  const meshSize = (isSize: RegExp): number => pairs.reduce((size, [name, degree]) => (isSize.test(name) ? size * degree : size), 1);
  const sizes = { pipeline: meshSize(/^pp$/), data: meshSize(/^dp/), context: meshSize(/^cp$/), tensor: meshSize(/^tp$/) };
  run.fact('layout.pipeline', sizes.pipeline);
  run.fact('layout.data', sizes.data);
  run.fact('layout.context', sizes.context);
  run.fact('layout.tensor', sizes.tensor);
  run.fact('gpus', sizes.pipeline * sizes.data * sizes.context * sizes.tensor);
  const expert = pairs.find(([name]) => name === 'ep');
  if (expert !== undefined) run.fact('layout.expert', expert[1]);
}

function readBatch(line: string, run: RunRecorder): void {
  const length = numberIn(line, /(?:sequence|maximum context) length (\d+)/);
  const tokens = numberIn(line, /(\d+) tokens per train step/);
  const batch = numberIn(line, /global batch size (\d+)/) ?? (tokens === null || length === null ? null : tokens / length);
  run.fact('training.sequenceLength', length);
  if (batch !== null && Number.isInteger(batch)) run.fact('training.globalBatch', batch);
}

function readHead(line: string, run: RunRecorder): void {
  const started = numberIn(line, /Training starts at step (\d+)/);
  if (started !== null) run.startsAfter(started - 1);
  const [, gpu, memory] = /capacity: (.{3,100}) with ([\d.]+)GiB memory/.exec(line) ?? [];
  if (gpu !== undefined) run.fact('cluster.gpu', matchGpuPreset(gpu, Number(memory) * bytesPerGiB));
  run.fact('parameters', numberIn(line, /\bModel .{0,200}size: ([\d,]+) total parameters/));
  const [, mode] = /Applied (\w{2,20}) activation checkpointing/.exec(line) ?? [];
  if (mode !== undefined) run.fact('training.recompute', /^full/i.test(mode) ? 'full' : 'selective');
}

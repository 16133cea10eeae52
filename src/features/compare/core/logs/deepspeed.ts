import { bytesPerGiB } from '../../../../core/format';
import type { NumberFact } from './facts';
import { countIn, numberIn, timestampIn } from './lines';
import type { LogFormat, LogLines } from './run-log';
import { makeRunRecorder, type RunRecorder } from './recorder';

/*
 * DeepSpeed: `ThroughputTimer` and the timers of utils/timer.py, the pipeline engine's line, `see_memory_usage` of runtime/utils.py, the
 * dump of its config. Read at 38327e07. Its GB are GiB; its samples per second are of all GPUs.
 */

/** `global_step=450`, before 2022 `0/450`. */
const samples = /(?:global_step=|\b\d{1,9}\/)(\d+), RunningAvgSamplesPerSec=\S{1,40} CurrSamplesPerSec=([\d.]+)/;
const pipe = /\bsteps: (\d+) loss: .{0,200}\biter time \(s\): ([\d.]+) samples\/sec: ([\d.]+)/;
const timers = /time \(ms\) \| fwd: ([\d.]+) \| bwd: ([\d.]+) \|.{0,200}\| step: ([\d.]+)/;

export const deepSpeedLog: LogFormat = {
  program: 'deepspeed',
  name: 'DeepSpeed',
  stepLine: new RegExp([samples, pipe, timers].map(({ source }) => source).join('|')),
  anyLine: /config\.py|^worker-|step=|SamplesPerSec|iter time|\| fwd: |_MA /,
  read: (): LogLines => {
    const [run, passes] = [makeRunRecorder('deepspeed'), makeRunRecorder('deepspeed')];
    let iteration: number | null = null;
    return {
      push: (line) => {
        iteration = numberIn(line, /\bstep=(\d+), skipped=/) ?? iteration;
        for (const each of [run, passes]) {
          if (line.includes('DeepSpeedEngine configuration')) each.begin();
          if (line.includes('config.py') || line.startsWith('worker-')) readConfig(line, each);
          readMemory(line, each);
        }
        readPasses(line, iteration, passes);
        readRates(line, run);
      },
      end: () => {
        const logged = run.end(({ 'training.globalBatch': batch }) => batch ?? null);
        return logged !== null && logged.steps.length > 0 ? logged : passes.end();
      },
    };
  },
};

function readRates(line: string, run: RunRecorder): void {
  const [, step, rate] = line.includes('CurrSamplesPerSec=') ? (samples.exec(line) ?? []) : [];
  if (step !== undefined) {
    run.step({ iteration: Number(step), rate: Number(rate), atMs: timestampIn(line) });
    run.fact('logInterval', 1);
  }
  const [, number, seconds, perSecond] = line.includes('iter time (s)') ? (pipe.exec(line) ?? []) : [];
  if (number !== undefined) {
    const batch = Math.round(Number(seconds) * Number(perSecond));
    run.step({ iteration: Number(number), ms: Number(seconds) * 1e3 });
    if (batch > 0) run.fact('training.globalBatch', batch);
  }
}

/** With `wall_clock_breakdown`: passes of a whole step, accumulation included. */
function readPasses(line: string, iteration: number | null, run: RunRecorder): void {
  const [, ...parts] = line.includes('| fwd: ') ? (timers.exec(line) ?? []) : [];
  if (parts.length > 0) {
    run.step({ iteration, ms: parts.reduce((ms, part) => ms + Number(part), 0) });
    run.fact('logInterval', 1);
  }
}

function readMemory(line: string, run: RunRecorder): void {
  const allocated = numberIn(line, /\bMaxMemAllocated=([\d.]+)GB/) ?? numberIn(line, /\bMax_MA ([\d.]+) GB/);
  const reserved = numberIn(line, /(?<!Max_)\bCA ([\d.]+) GB/);
  if (allocated === null && reserved === null) return;
  const bytes = (gigabytes: number | null): number | null => (gigabytes === null ? null : gigabytes * bytesPerGiB);
  run.memory({ rank: 0, allocatedBytes: bytes(allocated), reservedBytes: bytes(reserved) });
}

const counts = new Map<string, NumberFact>(
  Object.entries<NumberFact>({
    train_batch_size: 'training.globalBatch',
    train_micro_batch_size_per_gpu: 'training.microBatch',
    zero_optimization_stage: 'training.zeroStage',
    gradient_accumulation_steps: 'accumulation',
    steps_per_print: 'logInterval',
  }),
);

/** One line of the dump of its config: names of up to 29 characters are followed by dots. */
function readConfig(line: string, run: RunRecorder): void {
  const [, name = '', written = ''] = /\s([a-z][a-z0-9_]{3,60}) \.{0,29} (\S.{0,4000})$/.exec(line) ?? [];
  const value = written.trim();
  const key = counts.get(name);
  if (key !== undefined) run.fact(key, countIn(value));
  else if (name === 'zero_config') run.fact('training.zeroStage', stageIn(value));
  else if (name === 'bfloat16_enabled' && value === 'True') run.fact('training.precision', 'bf16');
  else if (name === 'fp16_enabled' && value === 'True') run.fact('training.precision', 'fp16');
}

function stageIn(text: string): number | null {
  const [, stage] = /(?:^|[\s{"])stage"?\s?[=:]\s?([0-3])\b/.exec(text) ?? [];
  return stage === undefined ? null : Number(stage);
}

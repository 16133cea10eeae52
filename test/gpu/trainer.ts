// Compares the Trainer runs of test/golden/data/h200.json with their predictions: `node --import tsx test/gpu/trainer.ts`, after
// `npm run build`, plans each from the files that launch it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface TrainerRun {
  readonly model: string;
  readonly sequence: number;
  readonly microBatch: number;
  readonly gradient_checkpointing?: true;
  readonly gradient_accumulation_steps?: number;
  readonly torch_compile?: true;
  readonly weights?: 'bf16';
  readonly optim?: string;
  readonly lora?: number;
  readonly stepMs: readonly number[];
  readonly peakBytes: number;
}

interface Plan {
  readonly iterationMs: number;
  readonly rangeMs: readonly [number, number];
  readonly memory: { readonly peakBytes: number };
}

const optionNames = ['gradient_checkpointing', 'gradient_accumulation_steps', 'torch_compile', 'weights', 'optim', 'lora'];
const repository = join(import.meta.dirname, '../..');
const data = JSON.parse(readFileSync(join(repository, 'test/golden/data/h200.json'), 'utf8')) as {
  readonly trainer: { readonly models: Readonly<Record<string, { readonly kind: string }>>; readonly runs: readonly TrainerRun[] };
};

function launch(run: TrainerRun): string {
  const flags = [
    `--per_device_train_batch_size ${run.microBatch}`,
    `--gradient_accumulation_steps ${run.gradient_accumulation_steps ?? 1}`,
    `--block_size ${run.sequence}`,
    `--optim ${run.optim ?? 'adamw_torch_fused'}`,
    ...(run.gradient_checkpointing ? ['--gradient_checkpointing'] : []),
    ...(run.torch_compile ? ['--torch_compile'] : []),
    ...(run.weights === undefined ? ['--config_name config.json'] : ['--model_name_or_path ./ --torch_dtype bfloat16']),
    ...(run.lora === undefined ? [] : [`--use_peft --lora_r ${run.lora} --lora_target_modules all-linear`]),
  ];
  return `#!/bin/bash\naccelerate launch --num_processes 1 run_clm.py --bf16 ${flags.join(' ')}\n`;
}

function planned(run: TrainerRun): Plan {
  const { kind, ...config } = data.trainer.models[run.model]!;
  const folder = mkdtempSync(join(tmpdir(), 'terapipe-trainer-'));
  try {
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...config, model_type: kind }));
    writeFileSync(join(folder, 'run.sh'), launch(run));
    const args = ['dist/cli.js', 'plan', join(folder, 'run.sh'), '--gpu', 'H200', '--gpus', '1', '--json'];
    return (JSON.parse(execFileSync('node', args, { cwd: repository, encoding: 'utf8' })) as { readonly plan: Plan }).plan;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const percent = (ratio: number): string => `${ratio < 1 ? '-' : '+'}${(100 * Math.abs(ratio - 1)).toFixed(1)} %`;
const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
const mean = (values: readonly number[]): string =>
  `${((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(1)} %`;
const errors: { readonly step: number; readonly memory: number; readonly isInside: boolean }[] = [];

console.log('| run | step, ms | predicted | | peak, GiB | predicted | |\n| --- | --: | --: | --: | --: | --: | --: |');
for (const run of data.trainer.runs) {
  const { iterationMs, rangeMs, memory } = planned(run);
  const ms = run.stepMs.toSorted((a, b) => a - b)[Math.floor(run.stepMs.length / 2)]!;
  const [step, peak] = [iterationMs / ms, memory.peakBytes / run.peakBytes];
  const isInside = rangeMs[0] <= ms && ms <= rangeMs[1];
  errors.push({ step: Math.abs(step - 1), memory: Math.abs(peak - 1), isInside });
  const options = optionNames.filter((name) => name in run).map((name) => `, ${name}`);
  const title = `${run.model}, ${run.microBatch} x ${run.sequence}${options.join('')}`;
  const cells = [
    title,
    ms.toFixed(0),
    iterationMs.toFixed(0),
    `${percent(step)}${isInside ? '' : ' (outside)'}`,
    gib(run.peakBytes),
    gib(memory.peakBytes),
  ];
  console.log(`| ${[...cells, percent(peak)].join(' | ')} |`);
}
console.log(
  `\n${errors.length} runs: step off by ${mean(errors.map(({ step }) => step))} on average, ${errors.filter(({ isInside }) => isInside).length} inside their range; ` +
    `memory off by ${mean(errors.map(({ memory }) => memory))} on average`,
);

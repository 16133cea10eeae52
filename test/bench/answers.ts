// Prints how long a pull request and an agent wait: `node --import tsx test/bench/answers.ts`, after `npm run build -- --production`.
// `terapipe diff` of 200 changed scripts in a fresh process, and `terapipe_where` on five machines, called again and again in this one.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { usualDefaults } from '../../src/features/agents/core/load';
import { runTool } from '../../src/features/agents/core/run-tool';
import type { ToolHost } from '../../src/features/agents/core/tool';
import { freshMs, terminal } from './fresh';

const configs = 200;
const calls = 5;
const sizes = [
  { hidden: 4096, layers: 32, heads: 32, ffn: 14_336 },
  { hidden: 5120, layers: 40, heads: 40, ffn: 13_824 },
  { hidden: 8192, layers: 80, heads: 64, ffn: 28_672 },
];

/** A script of Megatron-LM by its number; in HEAD it has twice the batch, sequence or tensor parallelism, or recompute. */
function script(index: number, isHead: boolean): string {
  const of = (values: readonly number[], divisor: number): number => values[Math.floor(index / divisor) % values.length] ?? 1;
  const model = sizes[index % sizes.length] ?? { hidden: 0, layers: 0, heads: 0, ffn: 0 };
  const changed = isHead ? index % 4 : -1;
  const tensor = of([1, 2, 4], 3) * (changed === 2 ? 2 : 1);
  const pipeline = of([2, 4, 8], 9);
  const data = of([1, 2], 27);
  const tokens = of([2048, 4096], 54) * (changed === 1 ? 2 : 1);
  const batch = 16 * data * (changed === 0 ? 2 : 1);
  const gpus = tensor * pipeline * data;
  return [
    `torchrun --nproc_per_node ${Math.min(8, gpus)} --nnodes ${Math.max(1, gpus / 8)} pretrain_gpt.py`,
    `--tensor-model-parallel-size ${tensor} --pipeline-model-parallel-size ${pipeline} --num-layers ${model.layers}`,
    `--hidden-size ${model.hidden} --num-attention-heads ${model.heads} --ffn-hidden-size ${model.ffn} --swiglu`,
    `--seq-length ${tokens} --max-position-embeddings ${tokens} --micro-batch-size 1 --global-batch-size ${batch} --vocab-size 32000`,
    `--bf16 --use-flash-attn --use-distributed-optimizer --sequence-parallel${changed === 3 ? ' --recompute-activations' : ''}`,
  ].join(' \\\n  ');
}

function diffOfScripts(): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-diff-'));
  for (const side of ['base', 'head'])
    for (let index = 0; index < configs; index++) {
      const own = path.join(folder, side, String(index));
      mkdirSync(own, { recursive: true });
      writeFileSync(path.join(own, 'train.sh'), script(index, side === 'head'));
    }
  const emptyMs = freshMs(['-e', '0']);
  // Exit status 1: some no longer fit.
  const ms = freshMs([terminal, 'diff', path.join(folder, 'base'), path.join(folder, 'head')], process.env, 1);
  console.log(
    `diff of ${configs} changed scripts: ${(ms / 1000).toFixed(1)} s of processor time, ${(ms / emptyMs).toFixed(0)} empty processes`,
  );
  rmSync(folder, { recursive: true });
}

async function machinesForAgents(): Promise<void> {
  const model = { model_type: 'llama', hidden_size: 8192, num_hidden_layers: 80, num_attention_heads: 64, num_key_value_heads: 8 };
  const text = JSON.stringify({ ...model, intermediate_size: 28_672, vocab_size: 128_256, max_position_embeddings: 8192 });
  const refused = (): Promise<never> => Promise.reject(new Error('nothing is read'));
  const host: ToolHost = {
    open: refused,
    read: refused,
    shell: refused,
    defaults: usualDefaults,
    signal: { aborted: false },
    progress: () => undefined,
    clock: () => performance.now(),
  };
  const on = ['A100-80GB', 'H100-80GB', 'H200', 'B200', 'MI300X'].map((gpu) => `${gpu}:64`);
  const set = { 'training.globalBatch': 512, 'training.sequenceLength': 8192 };
  for (let call = 1; call <= calls; call++) {
    const [startMs, cpu] = [performance.now(), process.cpuUsage()];
    const { data } = await runTool('terapipe_where', { text, name: 'config.json', on, set }, host);
    const seconds = (performance.now() - startMs) / 1000;
    const planned = (data['machines'] as readonly unknown[]).length;
    console.log(
      `terapipe_where, call ${call}: ${seconds.toFixed(2)} s, ${(process.cpuUsage(cpu).user / 1e6).toFixed(2)} s of processor time, ${planned} of ${on.length} machines planned`,
    );
  }
}

diffOfScripts();
void machinesForAgents();

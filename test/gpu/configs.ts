// Writes the configs that test/gpu/run.sh measures: `configs.ts full|small FOLDER`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , size, folder = '.'] = process.argv;
const isSmall = size === 'small';

const gpt2 = { layers: 12, hidden: 768, heads: 12, ffn: 3072, vocab: 50257, positions: 'learned', norm: 'layernorm', tiedEmbeddings: true };
const llama = {
  layers: 4,
  hidden: 4096,
  heads: 32,
  kvHeads: 8,
  ffn: 14336,
  gatedMlp: true,
  vocab: 128256,
  positions: 'rotary',
  norm: 'rmsnorm',
};
const models = {
  gpt2: isSmall ? { ...gpt2, layers: 4, hidden: 128, heads: 2, ffn: 512, vocab: 512 } : gpt2,
  llama: isSmall ? { ...llama, hidden: 128, heads: 4, kvHeads: 2, ffn: 352, vocab: 512 } : llama,
};
const sequenceLength = isSmall ? 128 : 2048;

/** `precision`: a rehearsal runs in fp32, and training in bf16, which no processor measures. */
function write(name: string, model: object, precision: 'fp32' | 'bf16'): void {
  const attention = precision === 'fp32' ? 'unfused' : 'flash';
  const config = {
    model,
    cluster: { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 2 },
    training: { sequenceLength, microBatch: 1, globalBatch: 2, precision, attention, recompute: 'none', dropout: false },
    layout: { tensor: 1, pipeline: 2, data: 1 },
    schedule: 'TeraPipe',
    slicing: { scheme: Array.from({ length: 2 }, () => [1, Array.from({ length: 4 }, () => sequenceLength / 4)]) },
  };
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'terapipe.json'), `${JSON.stringify(config, null, 2)}\n`);
}

for (const [name, model] of Object.entries(models)) {
  write(name, model, 'fp32');
  if (!isSmall) write(`${name}-bf16`, model, 'bf16');
}

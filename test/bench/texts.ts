import { randomNumbers } from '../../src/core/numbers';
import { below, pick } from '../fuzz/mutate';

const shellHead = `#!/bin/bash
#SBATCH --nodes=16
GPUS=8
TP=\${TP:-4}
ARGS=(--num-layers 46 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096)
`;
const shellTail = `ARGS+=(
  --tensor-model-parallel-size $TP
  --pipeline-model-parallel-size 4 # stages
  --micro-batch-size 2 --global-batch-size 510
  --bf16
)
torchrun --nproc-per-node $GPUS --nnodes 16 pretrain_gpt.py "\${ARGS[@]}" "\${DATA[@]}" \${MORE}
`;

/** Kinds of lines that long launchers are made of. */
const shellLines: readonly ((index: number) => string)[] = [
  (index) => `# Step ${index} of the recipe; see the notes of run ${index * 7}`,
  (index) => `export SETTING_${index}="\${SETTING_${index}:-${index}}"`,
  (index) => `DATA+=(${index} "\${ROOT:-/data}/shard-${index}.bin")`,
  (index) => `SIZE_${index}=$((${index} * 2 + $GPUS))`,
  (index) => `if [[ "\${STAGE:-0}" -eq ${index} ]]; then MORE="$MORE --eval-iters ${index}"; fi`,
  (index) => `ARGS+=(--lr-warmup-iters ${index} --log-interval ${index + 1})`,
  (index) => `echo "starting part ${index} on $(hostname)" >> "$LOG/part-${index}.log"`,
];

/** A launch script of about this many lines, of assignments, lists that grow, conditions and comments, with faults in its flags. */
export function longShell(lines: number): string {
  const around = (shellHead + shellTail).split('\n').length;
  const middle = Array.from({ length: lines - around }, (_, index) => pickOf(shellLines, index)(index));
  return `${shellHead}${middle.join('\n')}\n${shellTail}`;
}

const yamlHead = `ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
MODEL_ARGS:
  --num-layers: 46
  --hidden-size: 4096
  --num-attention-heads: 32
  --seq-length: 4096
  --max-position-embeddings: 2048
  --tensor-model-parallel-size: 4
  --pipeline-model-parallel-size: 4 # stages
  --micro-batch-size: 2
  --global-batch-size: 510
`;
const yamlLines: readonly ((index: number) => string)[] = [
  (index) => `  --setting-${index}: ${index}`,
  (index) => `  # what the next one is for, in run ${index}`,
  (index) => `  --path-${index}: \${DATA_PATH}/shard-${index}.bin`,
  (index) => `  --switch-${index}: true`,
  (index) => `  --list-${index}: [${index}, ${index + 1}, "${index + 2}"]`,
];

/** The arguments of a functional test of about this many lines, with faults. */
export function longYaml(lines: number): string {
  const middle = Array.from({ length: lines - yamlHead.split('\n').length }, (_, index) => pickOf(yamlLines, index)(index));
  return `${yamlHead}${middle.join('\n')}\n`;
}

const words = ['name', 'version', 'build', 'image', 'services', 'model', 'size', 'steps', 'run', 'config', 'hidden', 'layers', 'train', 'path', 'env', 'ports', 'cache', 'stage']; // prettier-ignore

/** Files of other tools, a few kilobytes each: JSON, YAML, TOML and scripts, the same ones each time. */
export function others(count: number): readonly { readonly file: string; readonly text: string }[] {
  const random = randomNumbers(20);
  const value = () => (random() < 0.5 ? String(below(random, 5000)) : `"${pick(random, words)}-${below(random, 99)}"`);
  const entries = () =>
    Array.from({ length: 20 + below(random, 120) }, (_, index) => [`${pick(random, words)}_${index}`, value()] as const);
  const kinds: readonly (() => readonly [ending: string, text: string])[] = [
    () => ['json', `{\n${entries().map(([key, of]) => `  "${key}": { "${pick(random, words)}": ${of} }`).join(',\n')}\n}\n`], // prettier-ignore
    () => [
      'yaml',
      entries()
        .map(([key, of]) => `${key}:\n  ${pick(random, words)}: ${of}\n`)
        .join(''),
    ],
    () => [
      'toml',
      entries()
        .map(([key, of]) => `[${key}]\n${pick(random, words)} = ${of}\n`)
        .join(''),
    ],
    () => ['sh', `#!/bin/sh\n${entries().map(([key, of]) => `${key}=${of}\ntool --batch-size ${below(random, 9)} --${key} "$${key}"\n`).join('')}`], // prettier-ignore
  ];
  return Array.from({ length: count }, (_, index) => {
    const [ending, text] = pickOf(kinds, index)();
    return { file: `folder-${index % 100}/file-${index}.${ending}`, text };
  });
}

function pickOf<T>(items: readonly T[], index: number): T {
  return items[index % items.length]!;
}

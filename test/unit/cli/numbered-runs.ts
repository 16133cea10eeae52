import type { Answer } from '../../../src/cli/answer';
import { searchAnswer } from '../../../src/cli/answers/search';
import { planRun, type Planned, requireRun } from '../../../src/core/export/planned-config';
import { ExpectedError } from '../../../src/core/errors';
import { loadConfig, type LoadedConfig } from '../../../src/core/config-files/load-config';
import type { Run } from '../../../src/core/run/run';
import { applyOverrides } from '../../../src/core/terapipe/overrides';
import { sentence } from '../../../src/core/sentence';
import { shellReader } from '../core/launchers/shell/shell-reader';

type NamedText = readonly [file: string, text: string];

const llama = { model_type: 'llama', vocab_size: 128_256, num_key_value_heads: 8, max_position_embeddings: 8192 };
const llama8b = { ...llama, hidden_size: 4096, num_hidden_layers: 32, num_attention_heads: 32, intermediate_size: 14_336 };
const mixtral = { ...llama8b, model_type: 'mixtral', vocab_size: 32_000, num_local_experts: 8, num_experts_per_tok: 2 };
const tooLarge = `#!/bin/bash
TP=4 # of a node
torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --tensor-model-parallel-size $TP --pipeline-model-parallel-size 2 \\
  --micro-batch-size 2 --global-batch-size 64 --seq-length 4096 --max-position-embeddings 4096 --num-layers 80 --hidden-size 8192 \\
  --num-attention-heads 64 --vocab-size 32000 --sequence-parallel --bf16 --use-distributed-optimizer --swiglu \\
  --position-embedding-type rope
`;
const torchtitan = `[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 2
seq_len = 8192
[parallelism]
data_parallel_shard_degree = -1
[activation_checkpoint]
mode = "full"
`;
const sliced = {
  model: { layers: 16, hidden: 4096, heads: 32, vocab: 50_257 },
  cluster: { gpu: 'V100-16GB', nodes: 2, gpusPerNode: 8 },
  training: { sequenceLength: 2048, globalBatch: 4 },
  layout: { tensor: 2, pipeline: 8, data: 1 },
  schedule: 'TeraPipe',
};

/** Files of several kinds, of which every surface must say the same numbers. */
export const numberedRuns = {
  'a dense model': ['config.json', JSON.stringify(llama8b)],
  'a model with experts': ['config.json', JSON.stringify(mixtral)],
  'a script that does not fit': ['train.sh', tooLarge],
  'a TOML of TorchTitan': ['llama3_8b.toml', torchtitan],
  'token slices': ['terapipe.json', JSON.stringify(sliced)],
} as const satisfies Readonly<Record<string, NamedText>>;

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

export function loadedOf([file, text]: NamedText): Promise<LoadedConfig> {
  const place = { file, range: { start: 0, end: 0 } };
  const nothing = (): Promise<never> =>
    Promise.reject(new ExpectedError('config-not-found', sentence`There is no such file`, sentence`fix the path`, place));
  return loadConfig(file, text, { read: nothing, shell: () => shellReader() });
}

/** Plans a file as `terapipe plan` does. @param run planned in place of its own. */
export async function plannedOf(named: NamedText, run?: Run): Promise<Planned> {
  const config = await loadedOf(named);
  return planRun(run === undefined ? config : { ...config, run }, defaults);
}

/** Searches the layouts of a file as `terapipe plan --search --all --tokens 1e12` does. */
export async function searchedOf(named: NamedText): Promise<Answer> {
  const watcher = { progress: () => undefined, clock: () => 0, signal: new AbortController().signal };
  const config = await loadedOf(named);
  return searchAnswer(
    { ...config, run: applyOverrides(requireRun(config), ['training.tokens=1e12']) },
    defaults,
    { improvements: true, free: null, all: true },
    watcher,
  );
}

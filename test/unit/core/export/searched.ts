import { configError } from '../../../../src/core/config/errors';
import type { LauncherFile, LauncherReader } from '../../../../src/core/config/facts';
import type { Run } from '../../../../src/core/config/run';
import { isLauncher, readerOf } from '../../../../src/core/launch/readers';
import { loadConfig } from '../../../../src/core/launch/load-config';
import { resolveRun } from '../../../../src/core/planner/resolve';
import { answerSearch } from '../../../../src/core/planner/search/answer';
import { freeNames, searchProblemOf } from '../../../../src/core/planner/search/problem';
import type { SearchResult } from '../../../../src/core/planner/search/result';
import { shellReader } from '../config/shell/shell-reader';

/** A Megatron script whose tensor size crosses nodes. */
export const wideScript = `#!/bin/bash
# A Llama of 7B on two nodes.
GPUS_PER_NODE=8
NUM_NODES=2
TP=16 # too wide
PP=1
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \\
  --tensor-model-parallel-size $TP \\
  --pipeline-model-parallel-size $PP \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 128 \\
  --use-distributed-optimizer --sequence-parallel --use-flash-attn \\
  --vocab-size 50257 --bf16
`;

/** A config, read, with what a search of its layouts answers: all that a launcher's file fixes is let go of. */
export interface Searched {
  readonly run: Run;
  readonly launcher: LauncherFile | null;
  readonly read: LauncherReader | null;
  readonly result: SearchResult;
}

export async function searched(name: string, text: string, others: Readonly<Record<string, string>> = {}): Promise<Searched> {
  const file = `file:///w/${name}`;
  const shell = () => shellReader();
  const { run, launcher, noRun } = await loadConfig(file, text, {
    shell,
    read: (from, path) => {
      const other = others[path];
      const missing = configError('config-not-found', 'There is no such file', 'mend the path', {
        file: from,
        range: { start: 0, end: 0 },
      });
      return other === undefined ? Promise.reject(missing) : Promise.resolve({ file: new URL(path, from).href, text: other });
    },
  });
  if (run === null) throw noRun ?? new Error('no run');
  const request = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
  const free = isLauncher(run.format) ? freeNames.all : [];
  const result = answerSearch(searchProblemOf(run, request, free), { tokenBudget: null, improvements: false });
  return { run, launcher, read: isLauncher(run.format) ? await readerOf(run.format, shell) : null, result };
}

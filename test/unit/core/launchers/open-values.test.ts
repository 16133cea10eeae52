import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import type { ComposingReader } from '../../../../src/core/launchers/composition';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { ExpectedError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { sentence } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

let shell: ComposingReader;

before(async () => {
  shell = await shellReader();
});

function load(text: string, file = 'run.sh'): Promise<LoadedConfig> {
  const read = (_from: string, path: string): Promise<never> =>
    Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(path)));
  return loadConfig(file, text, { read, shell: () => Promise.resolve(shell) });
}

const model = '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048';
const bad = ({ findings }: LoadedConfig): readonly string[] =>
  findings.filter(({ severity }) => severity !== 'information').map(({ code }) => code);

describe('values that a launch leaves open', () => {
  it('are those of a template, which are not mistakes', async () => {
    const loaded = await load(
      `#!/bin/bash\n{% if fast %}\ntorchrun --nproc_per_node {{ gpus }} --nnodes {{nodes}} pretrain_gpt.py ${model} --micro-batch-size {{ train.mbs }} --global-batch-size 64\n{% endif %}\n`,
    );
    assert.deepEqual(bad(loaded), []);
    assert.deepEqual(loaded.launcher?.placeholders, ['gpus', 'nodes', 'train_mbs']);
    assert.equal(loaded.launcher.facts.globalBatch?.value, 64);
    assert.match(loaded.launcher.text, /\{\{ gpus \}\}/);
  });

  it('are the vocabulary where it is 0: the tokenizer has it', async () => {
    const loaded = await load(`torchrun pretrain_gpt.py ${model} --micro-batch-size 1 --global-batch-size 64 --vocab-size 0\n`);
    assert.deepEqual(bad(loaded), []);
    assert.equal(loaded.launcher?.facts.vocab, undefined);
  });

  it('are not read from Python that a script runs', async () => {
    const inner = `import sys; sys.argv += ['x', ' --num-layers 99', ' --tensor-model-parallel-size 8', ' --hidden-size 4']`;
    const loaded = await load(`torchrun pretrain_gpt.py ${model} --micro-batch-size 1 --global-batch-size 64\npython3 -c "${inner}"\n`);
    assert.deepEqual([loaded.launcher?.facts.layers?.value, loaded.launcher?.facts.tensor], [24, undefined]);
  });

  // yanring/Megatron-MoE-ModelZoo at e8650517, model_configs/benchmarking/Mixtral-8x7B.yaml, shortened
  it('are sizes that the environment gives to arguments of Megatron-LM', async () => {
    const yaml = `MODEL_ARGS:
  --tensor-model-parallel-size: \${TP}
  --pipeline-model-parallel-size: \${PP}
  --expert-model-parallel-size: \${EP}
  --sequence-parallel: true
  --num-layers: 32
  --hidden-size: 4096
  --num-attention-heads: 32
  --num-experts: 8
  --micro-batch-size: \${MBS}
`;
    const { launcher, run, findings } = await load(yaml, 'mixtral.yaml');
    assert.deepEqual([launcher?.facts.tensor, launcher?.facts.expert, launcher?.facts.context?.value], [undefined, undefined, 1]);
    assert.deepEqual([run?.layout.tensor, run?.layout.pipeline, run?.layout.expert], [undefined, undefined, undefined]);
    assert.ok(!findings.some(({ code }) => code === 'sp-no-effect'));
  });
});

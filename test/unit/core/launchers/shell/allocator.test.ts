import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import type { ComposingReader } from '../../../../../src/core/launchers/composition';
import { shellReader } from './shell-reader';

const launch = 'torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 8';

describe('the allocator of PyTorch, as a script sets it', () => {
  let read: ComposingReader;
  before(async () => {
    read = await shellReader();
  });

  const setBy = (text: string): boolean | undefined => read('run.sh', text).facts.expandableSegments?.value;

  it('is read from variables of the script and of the command', () => {
    const value = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';
    for (const text of [
      `export ${value}\n${launch}`,
      `${value} ${launch}`,
      `env ${value} ${launch}`,
      `export PYTORCH_ALLOC_CONF='expandable_segments:true'\n${launch}`,
      `export PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:512, expandable_segments:True"\n${launch}`,
      `export PYTORCH_CUDA_ALLOC_CONF=\${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}\n${launch}`,
      `export ${value}\nexport OMP_NUM_THREADS=1\ndeepspeed --num_gpus 8 train.py --model_name_or_path gpt2 --output_dir out --deepspeed ds.json`,
    ])
      assert.equal(setBy(text), true, text);
  });

  it('is off where it is set so, and open where nothing about segments is known', () => {
    assert.equal(setBy(`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False ${launch}`), false);
    for (const value of ['max_split_size_mb:128', '$GIVEN', 'my_expandable_segments:True', 'expandable_segments:maybe'])
      assert.equal(setBy(`export PYTORCH_CUDA_ALLOC_CONF=${value}\n${launch}`), undefined, value);
    assert.equal(setBy(`# export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n${launch}`), undefined);
  });

  it('is taken from the newer name where both are set, and from the command before the script', () => {
    const [on, off] = ['expandable_segments:True', 'expandable_segments:False'];
    assert.equal(setBy(`export PYTORCH_CUDA_ALLOC_CONF=${off} PYTORCH_ALLOC_CONF=${on}\n${launch}`), true);
    assert.equal(setBy(`export PYTORCH_CUDA_ALLOC_CONF=${off}\nPYTORCH_CUDA_ALLOC_CONF=${on} ${launch}`), true);
  });

  it('is not taken from other commands, nor from words after the program', () => {
    const value = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';
    for (const text of [`echo ${value} helps\n${launch}`, `${value} python preprocess.py\n${launch}`, `${launch} ${value}`])
      assert.equal(setBy(text), undefined, text);
    assert.equal(setBy(`env ${value} python preprocess.py\n${launch}`), undefined);
    assert.equal(setBy(`env B=1 ${value} ${launch}`), true);
  });

  it('is open where the newer name is set to something else, and the last of a repeated key counts', () => {
    const [on, off] = ['expandable_segments:True', 'expandable_segments:False'];
    assert.equal(setBy(`export PYTORCH_ALLOC_CONF=max_split_size_mb:128\nexport PYTORCH_CUDA_ALLOC_CONF=${on}\n${launch}`), undefined);
    assert.equal(setBy(`export PYTORCH_CUDA_ALLOC_CONF=${on},${off}\n${launch}`), false);
  });

  it('is placed at its value', () => {
    const text = `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n${launch}`;
    const { source } = read('run.sh', text).facts.expandableSegments ?? {};
    assert.ok(source?.kind === 'file');
    assert.equal(text.slice(source.place.range.start, source.place.range.end), 'expandable_segments:True');
  });
});

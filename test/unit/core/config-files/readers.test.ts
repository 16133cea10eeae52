import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { readDeepSpeed } from '../../../../src/core/launchers/deepspeed/reader';
import { readTorchTitan } from '../../../../src/core/launchers/torchtitan/reader';
import { yamlReaders } from '../launchers/tables/yaml-readers';
import type { Fix } from '../../../../src/core/findings';
import { launchFindings } from '../../../../src/core/rules/launch-findings';
import { shellReader } from '../launchers/shell/shell-reader';
import { say } from '../../../../src/core/sentence';

let readShell: LauncherReader;

const script = `#!/bin/bash
GPUS_PER_NODE=8
NODES=1
LAYOUT=(
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 16   # deep
    --sequence-parallel
)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NODES pretrain_gpt.py "\${LAYOUT[@]}" \\
    --num-layers 90 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --max-position-embeddings 2048 --bf16 \\
    --micro-batch-size 1 --global-batch-size 1536 --step-batch-size-schedule "0:16 2B:320"
`;

const texts: Readonly<Record<string, readonly [read: LauncherReader, text: string, codes: readonly string[]]>> = {
  'run.sh': [(file, text) => readShell(file, text), script, ['pp-layers-not-divisible', 'step-batch-schedule-with-global-batch', 'world-size-factor']],
  'nemo.yaml': [
    yamlReaders.nemo,
    "trainer:\n  devices: 8\n  num_nodes: 2 # two\nmodel:\n  micro_batch_size: 2\n  global_batch_size: 30 # odd\n  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 1\n  num_layers: 24\n  hidden_size: 1024\n  num_attention_heads: 18\n  sequence_parallel: true\n  encoder_seq_length: 1001\n",
    ['gbs-not-divisible', 'heads-tp', 'hidden-heads'],
  ],
  'titan.toml': [
    readTorchTitan,
    '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 3 # few\nseq_len = 2050\n[parallelism]\ntensor_parallel_degree = 4\npipeline_parallel_degree = 4\npipeline_parallel_schedule = "1F1B"\n',
    ['microbatches-below-stages', 'sp-tp-seq'],
  ],
  'ds.json': [
    readDeepSpeed,
    '{\n  "train_batch_size": 100,\n  "train_micro_batch_size_per_gpu": 3,\n  "gradient_accumulation_steps": 8,\n  "zero_optimization": { "stage": 2 },\n  "pipeline": { "stages": 2 }\n}\n',
    ['ds-batch-triangle', 'zero-with-pp'],
  ],
}; // prettier-ignore

describe('launch findings of files as they are read', () => {
  before(async () => {
    readShell = await shellReader();
  });

  for (const [file, [read, text, codes]] of Object.entries(texts))
    it(`${file}: each fix removes its finding and touches only its setting`, () => {
      const findings = launchFindings(read(file, text)).filter(({ severity }) => severity !== 'information');
      assert.deepEqual(findings.map(({ code }) => code).sort(), [...codes].sort()); // prettier-ignore
      for (const { code, fixes, place } of findings) {
        assert.ok(fixes.length > 0, `${code} at ${text.slice(place.range.start, place.range.end)}`);
        for (const fix of fixes) {
          const after = edited(text, fix);
          const left = launchFindings(read(file, after)).map((finding) => finding.code);
          assert.ok(!left.includes(code), `${say(fix.title)} leaves ${code} in ${after}`);
          const kept = text.split('\n').filter((line) => !after.includes(line));
          assert.ok(kept.length <= fix.edits.length, `${say(fix.title)} changes ${kept.join()}`);
        }
      }
    });
});

function edited(text: string, { edits }: Fix): string {
  const sorted = [...edits].sort((a, b) => b.place.range.start - a.place.range.start);
  return sorted.reduce((t, { place: { range }, newText }) => t.slice(0, range.start) + newText + t.slice(range.end), text);
}

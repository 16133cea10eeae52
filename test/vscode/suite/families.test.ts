import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'families');

const ours = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');

/** Opens a file and waits until the extension has read it: then it has a code lens. */
async function open(name: string, text: string): Promise<vscode.TextDocument> {
  const uri = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document, { preview: false });
  await until(`lens of ${name}`, async () => {
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
    return lenses.some(({ command }) => command?.command.startsWith('terapipe.') === true) ? true : undefined;
  });
  return document;
}

/** A script of BigScience's fork: old recompute flag, ALiBi, its partition method, uneven layers, DeepSpeed's JSON in a here-document. */
const bloom = `#!/bin/bash
#SBATCH --nodes=24
#SBATCH --gres=gpu:8
cd $WORK/code/bigscience/Megatron-DeepSpeed
NHIDDEN=7168
GPT_ARGS=" \\
    --pp-partition-method 'type:transformer|embedding' \\
    --num-layers 46 --hidden-size $NHIDDEN --num-attention-heads 56 \\
    --seq-length 2048 --max-position-embeddings 2048 \\
    --micro-batch-size 2 --rampup-batch-size 192 16 9_765_625 --global-batch-size 1024 \\
    --position-embedding-type alibi --embed-layernorm --checkpoint-activations --bf16 \\
    --pad-vocab-size-to 250880 \\
    "
config_json="./ds_config.$SLURM_JOB_ID.json"
cat <<EOT > $config_json
{ "train_micro_batch_size_per_gpu": 2, "train_batch_size": 1024, "zero_optimization": { "stage": 0 }, "bf16": { "enabled": true } }
EOT
DEEPSPEED_ARGS="--deepspeed --deepspeed_config \${config_json} --zero-stage 0 --deepspeed-activation-checkpointing"
export LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes $SLURM_NNODES --tee 3"
export CMD=" \\
    \`pwd\`/pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 \\
    $GPT_ARGS $DEEPSPEED_ARGS --distributed-backend nccl"
srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD" 2>&1 | tee log.txt
`;

const yalm = `MP_SIZE=8
HPARAM_ARGS="\\
    --pos-encoding-type rotary --num-layers 40 --embedding-size 1024 --hidden-size 5120 --intermediate-size 13655 \\
    --activation-type geglu --num-attention-heads 64 --max-position-embeddings 1024 --fp16"
torchrun --nproc_per_node $MP_SIZE megatron_lm/tools/generate_samples_gpt2.py $HPARAM_ARGS \\
    --num-samples 0 --batch-size 1 --model-parallel-size $MP_SIZE --make-vocab-size-divisible-by 1
`;

const neox = `{
  "pipe-parallel-size": 4,
  "model-parallel-size": 2,
  "num-layers": 44,
  "hidden-size": 6144,
  "num-attention-heads": 64,
  "seq-length": 2048,
  "max-position-embeddings": 2048,
  "norm": "layernorm",
  "pos-emb": "rotary",
  "rotary-pct": 0.25,
  "no-weight-tying": true,
  "gpt-j-residual": true,
  "optimizer": { "type": "Adam", "params": { "lr": 0.97e-4 } },
  "zero_optimization": { "stage": 1 },
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 32,
  "checkpoint-activations": true,
  "checkpoint-num-layers": 1,
  "partition-activations": false,
  "tokenizer-type": "HFTokenizer",
  "vocab-file": "./20B_checkpoints/20B_tokenizer.json",
}
`;

const deepseek = JSON.stringify({
  vocab_size: 102400, dim: 2048, inter_dim: 10944, moe_inter_dim: 1408, n_layers: 27, n_dense_layers: 1, n_heads: 16,
  n_routed_experts: 64, n_shared_experts: 2, n_activated_experts: 6, route_scale: 1.0, q_lora_rank: 0, kv_lora_rank: 512,
  qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128, mscale: 0.707,
}, null, 2); // prettier-ignore

const llama = '{"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3, "multiple_of": 1024, "norm_eps": 1e-05, "rope_theta": 500000.0}'; // prettier-ignore

/** Files with the traits of the files that launch known models. */
const files: readonly (readonly [name: string, text: string])[] = [
  ['bloom.slurm', bloom],
  ['opt.sh', '#!/bin/bash\nopt-baselines -n 124 -g 8 -p opt --model-size 175b --azure --checkpoint-dir /shared/opt\n'],
  ['yalm.sh', yalm],
  ['neox-20B.yml', neox],
  ['config_16B.json', deepseek],
  ['params.json', llama],
];

describe('launch files of known models in the editor', () => {
  before(() => vscode.workspace.fs.createDirectory(folder));
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  for (const [name, text] of files)
    it(`shows no squiggle in ${name}, and at most five informations with a line for the rest`, async () => {
      const document = await open(name, text);
      const found = ours(document.uri);
      const squiggles = found.filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning);
      assert.deepEqual(squiggles.map(({ message }) => message), []); // prettier-ignore
      assert.ok(found.length <= 6, found.map(({ message }) => message).join('\n'));
    });

  it('shows the one that is deserved, so that silence above is not an accident', async () => {
    const document = await open('wrong.slurm', bloom.replace('--num-attention-heads 56', '--num-attention-heads 57'));
    const heads = await until('finding of heads', () => ours(document.uri).find(({ message }) => message.startsWith('57 attention heads')));
    assert.equal(heads.severity, vscode.DiagnosticSeverity.Error);
    assert.match(document.getText(heads.range), /^(4|57)$/);
  });
});

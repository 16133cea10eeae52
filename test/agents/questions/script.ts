/** Input of a tool: a script that starts Megatron-LM on two nodes of eight GPUs; its first flag is on line 3. */
export const script = (flags: string): { readonly text: string; readonly name: string } => ({
  name: 'train.sh',
  text: `#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\\n${flags
    .trim()
    .split('\n')
    .map((line) => `  ${line.trim()}`)
    .join(' \\\n')}\n`,
});

/** A LLaMA 2 7B without its parallel sizes and batch, from `--num-layers` on. */
export const llamaFlags = `--num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 11008
  --num-attention-heads 32
  --seq-length 4096
  --max-position-embeddings 4096
  --swiglu
  --normalization RMSNorm
  --untie-embeddings-and-output-weights
  --position-embedding-type rope
  --tokenizer-type NullTokenizer
  --vocab-size 32000
  --bf16
  --disable-bias-linear`;

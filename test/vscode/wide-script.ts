/** A Megatron script whose tensor size crosses nodes: far from the best layout of its model, GPUs and batch. */
export const wideScript = `#!/bin/bash
# A Llama of 7B on two nodes.
GPUS_PER_NODE=8
NUM_NODES=2
TP=16 # too wide
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \\
  --tensor-model-parallel-size $TP \\
  --pipeline-model-parallel-size 1 \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 128 \\
  --use-distributed-optimizer --sequence-parallel --use-flash-attn \\
  --vocab-size 50257 --bf16
`;

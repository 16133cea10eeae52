#!/usr/bin/env bash
#SBATCH --job-name=llama3-8b
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive

# llama3-8b, as planned by TeraPipe: tensor 1 x pipeline 2 x data 8 on 16 H100-80GB.
# Predicted: 3.49 s a step (3.07 to 4.36 s); 65.2 / 74.9 GiB on the fullest GPU.
# For Megatron-LM core 0.12 and newer.
set -euo pipefail

export PYTORCH_CUDA_ALLOC_CONF=${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}

# What no plan knows: a clone of Megatron-LM, the data, the tokenizer, where to save.
MEGATRON=${MEGATRON:-.}
DATA_PATH=${DATA_PATH:?set it to the prefix of the preprocessed data}
TOKENIZER=${TOKENIZER:?set it to the folder or name of the tokenizer}
CHECKPOINTS=${CHECKPOINTS:-checkpoints}

GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-2}

MODEL_ARGS=(
  --num-layers 32
  --hidden-size 4096
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --ffn-hidden-size 14336
  --swiglu
  --position-embedding-type rope
  --rotary-base 500000
  --normalization RMSNorm
  --norm-epsilon 0.00001
  --disable-bias-linear
  --untie-embeddings-and-output-weights
  --vocab-size 128256
  --seq-length 8192
  --max-position-embeddings 8192
  --attention-backend fused
  --attention-dropout 0.0
  --hidden-dropout 0.0
  --cross-entropy-loss-fusion
)

# Data parallelism is what these sizes leave of the GPUs.
PARALLEL_ARGS=(
  --tensor-model-parallel-size 1
  --pipeline-model-parallel-size 2
  --context-parallel-size 1
  --expert-model-parallel-size 1
  --num-layers-per-virtual-pipeline-stage 2
  --use-distributed-optimizer
)

TRAINING_ARGS=(
  --micro-batch-size 1
  --global-batch-size 64
  --bf16
  --train-iters 1000 # as long as you train
  --lr 1.0e-4
  --lr-decay-style cosine
)

DATA_ARGS=(
  --data-path "$DATA_PATH"
  --tokenizer-type HuggingFaceTokenizer
  --tokenizer-model "$TOKENIZER"
  --save "$CHECKPOINTS"
  --save-interval 500 # without it, --save stops the run
)

if [ -n "${SLURM_JOB_ID:-}" ]; then
  HOSTS=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
  LAUNCH=(srun torchrun --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d
    --rdzv-endpoint "${HOSTS%%$'\n'*}:${MASTER_PORT:-29500}")
else
  # start this script on each of the 2 nodes
  LAUNCH=(torchrun --node-rank "${NODE_RANK:?set it to the number of this node, 0 to 1}"
    --master-addr "${MASTER_ADDR:?set it to the host name of node 0}" --master-port "${MASTER_PORT:-29500}")
fi
"${LAUNCH[@]}" --nnodes "$NNODES" --nproc-per-node "$GPUS_PER_NODE" \
  "$MEGATRON/pretrain_gpt.py" \
  "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}" "${DATA_ARGS[@]}"

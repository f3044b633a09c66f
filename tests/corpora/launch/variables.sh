#!/bin/bash
TP=$PP
PP=${TP}
GPUS=4294967296
torchrun --nproc-per-node $GPUS pretrain_gpt.py \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size 0 \
  --num-layers 18446744073709551616 --hidden-size -1 --num-attention-heads 32 \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 3 --bf16 "unclosed

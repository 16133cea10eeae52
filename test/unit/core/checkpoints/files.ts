import type { CheckpointLayout } from '../../../../src/core/checkpoints/layout';
import { judgeCheckpoint } from '../../../../src/core/checkpoints/judge';
import { decidingPart, verdictName } from '../../../../src/core/checkpoints/verdict';
import { loadReader } from '../../../../src/core/config-files/readers';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import type { LauncherFile } from '../../../../src/core/run/facts';
import { say } from '../../../../src/core/sentence';
import { shellReader } from '../launchers/shell/shell-reader';

/** A layout from which tests change single sizes. */
export const layout: CheckpointLayout = {
  tensor: 4,
  pipeline: 4,
  virtualStages: 1,
  stageLayers: null,
  data: 2,
  context: 1,
  expert: 4,
  expertTensor: 1,
  zeroStage: 1,
  optimizer: 'adam',
};

export async function launcherFile(format: LauncherFormat, text: string): Promise<LauncherFile> {
  return (await loadReader(format, shellReader))(`run.${format}`, text);
}

/** A launch script of Megatron-LM. */
export function megatronScript(flags: string): Promise<LauncherFile> {
  const sizes =
    '--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4';
  return launcherFile('megatron-shell', `#!/bin/bash\ntorchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py ${sizes} ${flags}\n`);
}

/** A verdict in short: `stops megatron/training/checkpointing.py 220`; null where nothing is judged. */
export function verdict(file: LauncherFile, change: Partial<CheckpointLayout>, before: CheckpointLayout = layout) {
  const judged = judgeCheckpoint(file, before, { ...before, ...change });
  if (judged === null) return null;
  const found = judged.verdict;
  const { outcome, source } = decidingPart(found);
  const { format, weights, optimizer, conversion } = found;
  return {
    name: verdictName(found),
    outcome,
    source,
    format,
    weights: weights.outcome,
    optimizer: optimizer?.outcome ?? null,
    conversion: conversion === null ? null : say(conversion),
  };
}

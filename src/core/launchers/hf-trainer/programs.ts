import { setBy, zero3WithAutoTensor, wholeLayersOnly } from '../../domain/capabilities';
import type { Capabilities, Facts, Program } from '../../run/facts';

/** Defaults of a trainer that checkpoints unless it is turned off: layer by layer. */
const checkpoints: Capabilities['silent'] = { recomputeGranularity: 'full', recomputeMethod: 'uniform', recomputeLayers: 1 };

/** Sharding is that of the DeepSpeed JSON or the Accelerate YAML that a launch names; a model that is loaded with a plan is split. */
const ofTrainer = setBy(['microBatch', 'recompute'], ['tensor', 'context', 'expert', 'zeroStage', 'offloadOptimizer']);

/** `TrainingArguments` and what Trainer hands to Accelerate. */
export const trainer: Capabilities = {
  name: 'the Trainer of Transformers',
  source: 'transformers 5.24.0, trainer.py 777, 2417, 2583 and training_args.py 777, 849, 926',
  setBy: ofTrainer,
  refuses: [zero3WithAutoTensor],
  recomputes: wholeLayersOnly,
  silent: { microBatch: 8, gradientAccumulation: 1, recomputeGranularity: 'none' },
};

export const trl: Capabilities = {
  ...trainer,
  name: 'TRL',
  source: 'huggingface/trl at f2cd5771, trl/trainer/base_config.py 61, 105 and sft_config.py 205, 283',
  silent: { ...trainer.silent, ...checkpoints, precision: 'bf16', sequenceLength: 1024, fusedCrossEntropy: true },
};

/** Arguments of its own, by their names in the Trainer; checkpointing is off. */
export const openInstruct: Capabilities = {
  ...trainer,
  name: 'open-instruct',
  source: 'allenai/open-instruct at e6c3044a, open_instruct/finetune.py 320 and configs/ds_configs',
  silent: { ...trainer.silent, precision: 'bf16' },
};

/** Megatron's layouts only with `USE_MCA` or `USE_MEGATRON_BRIDGE` in the environment. */
export const llamaFactory: Capabilities = {
  ...trainer,
  name: 'LLaMA-Factory',
  source: 'hiyouga/LLaMA-Factory at ff6d4d12, src/llamafactory/hparams/model_args.py 145, data_args.py 46 and megatron_bridge_args.py 32',
  setBy: setBy(['microBatch', 'recompute'], ['tensor', 'pipeline', 'context', 'expert', 'zeroStage', 'offloadOptimizer']),
  silent: { ...trainer.silent, ...checkpoints, sequenceLength: 2048 },
};

/** Two of micro-batch, accumulation and batch must be set. */
export const axolotl: Capabilities = {
  ...trainer,
  name: 'Axolotl',
  source: 'axolotl-ai-cloud/axolotl at 067b021c, src/axolotl/utils/schemas/config.py 600, 665, 1091 to 1125 and validation.py 221, 1228',
  setBy: setBy(['microBatch', 'recompute', 'tensor', 'context'], ['expert', 'zeroStage', 'offloadOptimizer']),
  silent: { gradientAccumulation: 1, recomputeGranularity: 'none', precision: 'bf16', sequenceLength: 512 },
};

/** Arguments of transformers, with checkpointing on. */
export const swift: Capabilities = {
  ...trainer,
  name: 'ms-swift',
  source: 'modelscope/ms-swift at 3602360a, swift/trainers/arguments.py 134 and sequence_parallel/sequence_parallel.py 653',
  silent: { ...trainer.silent, ...checkpoints, microBatch: 1 },
};

/** What divides the states of a Trainer's run over its replicas; `ddp`: nothing does. */
type TrainerRuntime = 'deepspeed' | 'fsdp1' | 'ddp';

/**
 * A program of the Trainer's family. FSDP and DDP keep and exchange other things than DeepSpeed, and have no AutoTP to refuse. Weights that
 * are in 16 bits are updated as they are: there is no master copy, and gradients have their type.
 * @param isPure `pure_bf16`: weights are in 16 bits, even where the program would not do that.
 */
export function buildTrainerProgram(capabilities: Capabilities, runtime: TrainerRuntime, facts: Facts, isPure: boolean): Program {
  const { name, silent, refuses } = capabilities;
  if (runtime === 'deepspeed') return { name, traits: {}, capabilities };
  const isHalf = isPure || (runtime === 'ddp' && keepsHalf(name, facts));
  return {
    name,
    traits: { runtime },
    capabilities: {
      ...capabilities,
      refuses: refuses.filter((refusal) => refusal !== zero3WithAutoTensor),
      silent: {
        fusedCrossEntropy: false,
        ...(runtime === 'ddp' && { zeroStage: 0 }),
        ...(isHalf && { masterWeightBytes: 0, gradAccumulationFp32: false }),
        ...silent,
      },
    },
  };
}

/**
 * Whether a program under DDP leaves weights in bf16 as it loads them. (FSDP makes its shards fp32 whatever they are loaded in:
 * `fsdp2_prepare_model` of accelerate/utils/fsdp_utils.py.) Axolotl loads in bf16 (utils/config/__init__.py 191), ms-swift in the
 * checkpoint's type (usually bf16); LLaMA-Factory and TRL make trained weights fp32 (`model/adapter.py` 338, `trainer/utils.py` 1144), and
 * of other scripts of a Trainer nothing is known.
 */
function keepsHalf(program: string, { precision }: Facts): boolean {
  return [axolotl.name, swift.name].includes(program) && (precision?.value ?? 'bf16') === 'bf16';
}

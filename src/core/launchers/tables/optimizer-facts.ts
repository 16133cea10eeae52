import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import { from, type Located } from '../../domain/located';
import { optimizerNamed, type MasterBytes } from '../../domain/optimizer';
import type { TrainingSpec } from '../../domain/request';
import { quoted } from '../../text';
import type { Facts } from '../../run/facts';
import type { LocatedPartial } from '../../run/given';
import { fixed, on } from '../../languages/reads';
import { row, type Table } from './table';
import { anyOf, word } from './reads';

/** Bytes of a number type by any of its names: `bf16`, `torch.bfloat16`, `fp8`; undefined: another name. */
export function bytesOfType(written: string): 1 | 2 | 4 | undefined {
  const name = written.split('.').at(-1)?.toLowerCase() ?? '';
  if (/^(fp32|float32|float)$/.test(name)) return 4;
  if (/^(fp16|bf16|float16|bfloat16|half)$/.test(name)) return 2;
  return /^(fp8|uint8|float8)/.test(name) ? 1 : undefined;
}

/** Bytes of a moment by the name of its type. */
export const typeBytes = anyOf(bytesOfType);

/** Bytes of master weights by the name of their type, which has at least 16 bits. */
export const masterType = anyOf((written) => {
  const bytes = bytesOfType(written);
  return bytes === 1 ? undefined : bytes;
});

/** Whether gradients add up in fp32, by the name of their type: not in 16 bits or fewer; with fp32 the default decides. */
export const gradientType = anyOf((written) => ((bytesOfType(written) ?? 4) < 4 ? false : undefined));

/** Fields of Megatron Core's `OptimizerConfig`, without their section. */
export const optimizerKeys: Table = {
  optimizer: [row('optimizer', word)],
  precisionAware: [row('use_precision_aware_optimizer', on(true))],
  firstMomentBytes: [row('exp_avg_dtype', typeBytes)],
  secondMomentBytes: [row('exp_avg_sq_dtype', typeBytes)],
  masterWeightBytes: [row('main_params_dtype', masterType)],
  gradAccumulationFp32: [row('main_grads_dtype', gradientType)],
  offloadOptimizer: [row('optimizer_cpu_offload', fixed('cpu'))],
};

/** Names of a Trainer of Hugging Face, whose `sgd` has no momentum. */
export const trainerOptimizer = anyOf((written) => (/^sgd$/i.test(written) ? 'sgd-no-momentum' : written === '' ? undefined : written));

/** `rank=64` of the arguments that a Trainer hands to the optimizer. */
export const rankArgument = anyOf((written) => {
  const rank = /(?:^|[\s,{"'])rank["']?\s*[=:]\s*(\d{1,6})/.exec(written)?.[1];
  return rank === undefined ? undefined : Number(rank);
});

/**
 * Switches of LLaMA-Factory that take another optimizer than `optim` names. Source: hparams/finetuning_args.py and train/trainer_utils.py
 * (`create_custom_optimizer`).
 */
export const factorySwitches = {
  use_galore: 'galore_adamw',
  use_apollo: 'apollo_adamw',
  use_muon: 'muon',
  use_adam_mini: 'adam_mini',
} as const;

/** The optimizer of a launcher's file as planning takes it; nothing of one that is not known (`optimizerRemarks`). */
export function readOptimizer(
  facts: Facts,
): LocatedPartial<Pick<TrainingSpec, 'optimizer' | 'optimizerStateBytes' | 'masterWeightBytes' | 'optimizerRank'>> {
  const { optimizer, optimizerRank } = facts;
  const name = optimizer === undefined ? null : optimizerNamed(optimizer.value);
  const [states, master] = [optimizerStateBytes(facts), masterWeightBytes(facts)];
  return {
    ...(optimizer && name !== null && { optimizer: from(optimizer, name) }),
    ...(states && { optimizerStateBytes: states }),
    ...(master && { masterWeightBytes: master }),
    ...(optimizerRank && { optimizerRank: from(optimizerRank, optimizerRank.value) }),
  };
}

/** Both moments, where a file gives the type of one: the other is in fp32. */
function optimizerStateBytes({ firstMomentBytes, secondMomentBytes, precisionAware }: Facts): Located<number> | undefined {
  const given = firstMomentBytes ?? secondMomentBytes ?? (precisionAware?.value === true ? precisionAware : undefined);
  return given && from(given, (firstMomentBytes?.value ?? 4) + (secondMomentBytes?.value ?? 4));
}

/**
 * Of fp32 master weights of bf16 weights the precision-aware optimizer of Megatron-LM keeps the 16 bits that bf16 leaves out
 * (`store_param_remainders` of `OptimizerConfig`, on by default). With FP8 weights that are not scaled by history Megatron Core keeps whole
 * master weights (`use_precision_aware_optimizer_no_fp8_or_ds_fp8`).
 */
function masterWeightBytes({ masterWeightBytes, precisionAware, precision, fp8Recipe }: Facts): Located<MasterBytes> | undefined {
  const isDelayed = fp8Recipe === undefined || fp8Recipe.value === 'delayed';
  const keepsRemainder = precision?.value === 'bf16' || (precision?.value === 'fp8' && isDelayed);
  if (precisionAware?.value === true && keepsRemainder) return from(masterWeightBytes ?? precisionAware, 2);
  return masterWeightBytes && from(masterWeightBytes, masterWeightBytes.value);
}

/**
 * Warns of an optimizer that is not known, which is planned as Adam.
 *
 * @finding optimizer-unknown
 * The file names an optimizer that is not in the table of optimizers, so its states are not known. Memory and the time of its step are
 * planned as those of Adam: 8 bytes of states a parameter. Give what it keeps as `training.optimizerStateBytes` (and
 * `training.masterWeightBytes`) in a terapipe.json.
 * @example `optimizer: my_optimizer` in an Axolotl YAML. "The optimizer "my_optimizer" is not known: its memory and time are planned as
 * those of Adam"
 * @source The table of optimizers in `src/core/domain/optimizer.ts`, with its sources.
 * @ignore it keeps two moments in fp32, as Adam does.
 */
export function optimizerRemarks({ optimizer }: Facts): Finding[] {
  if (optimizer?.source.kind !== 'file' || optimizerNamed(optimizer.value) !== null) return [];
  return [
    {
      code: 'optimizer-unknown',
      severity: 'warning',
      place: optimizer.source.place,
      message: sentence`The optimizer ${quoted(optimizer.value)} is not known: its memory and time are planned as those of Adam`,
      remedy: sentence`give the bytes of its states a parameter as "training.optimizerStateBytes" in a terapipe.json`,
      fixes: [],
    },
  ];
}

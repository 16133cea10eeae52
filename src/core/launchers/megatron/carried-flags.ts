import type { ListedSettings, WrittenSetting } from '../../run/run-settings';
import type { Carried } from '../writing/editor';
import { flagKey } from './megatron-flags';
import { shellValue } from './shell-syntax';
import { asMegatronFlags } from './counterparts';

/**
 * Flags of Megatron-LM (megatron/training/arguments.py and config/ at d98e8a64) that no plan has and that a new script takes over: `!` is
 * behind a switch. Optimizer, schedule of the learning rate, length of the run.
 */
const trainingFlags = `
train-iters train-samples lr min-lr lr-decay-style lr-decay-iters lr-decay-samples lr-warmup-iters lr-warmup-samples lr-warmup-fraction
optimizer adam-beta1 adam-beta2 adam-eps sgd-momentum weight-decay start-weight-decay end-weight-decay weight-decay-incr-style clip-grad
init-method-std init-method-xavier-uniform! seed loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis
override-opt-param-scheduler! use-checkpoint-opt-param-scheduler! exit-interval exit-duration-in-mins exit-signal-handler!
distributed-backend distributed-timeout-minutes empty-unused-memory-level`;

/** Data, tokenizer, checkpoints, evaluation and logging. */
const dataFlags = `
data-path split train-data-path valid-data-path test-data-path data-cache-path num-workers dataloader-type reset-position-ids!
reset-attention-mask! eod-mask-loss! tokenizer-type tokenizer-model vocab-file merge-file vocab-extra-ids save load save-interval
no-save-optim! no-save-rng! no-load-optim! no-load-rng! finetune! use-checkpoint-args! exit-on-missing-checkpoint!
eval-interval eval-iters log-interval log-params-norm! log-num-zeros-in-grad! log-memory-to-tensorboard! log-timers-to-tensorboard!
log-validation-ppl-to-tensorboard! log-world-size-to-tensorboard! timing-log-level timing-log-option tensorboard-dir
tensorboard-log-interval tensorboard-queue-size`;

/** Newer than release 23.06, which forks with token slices started from. */
const newerTrainingFlags = `
lr-warmup-init lr-wsd-decay-style lr-wsd-decay-iters lr-wsd-decay-samples decoupled-lr decoupled-min-lr muon-momentum
calculate-per-token-loss! manual-gc! manual-gc-interval no-check-for-nan-in-loss-and-grad!`;
const newerDataFlags = `
data-args-path per-split-data-args-path mock-data! no-mmap-bin-files! num-dataset-builder-threads no-create-attention-mask-in-dataloader!
pretrained-checkpoint ckpt-step ckpt-format use-dist-ckpt! async-save! ckpt-fully-parallel-save! dist-ckpt-strictness auto-detect-ckpt-format!
save-retain-interval non-persistent-save-interval non-persistent-ckpt-type log-throughput! log-progress! log-loss-scale-to-tensorboard!
wandb-project wandb-exp-name wandb-save-dir wandb-entity`;

/** A flag that a new script takes over. */
interface CarriedFlag {
  readonly isSwitch: boolean;
  /** Of data, checkpoints or logging, not of training. */
  readonly isOfData: boolean;
  readonly isNewer: boolean;
}

function listed(flags: string, kind: Omit<CarriedFlag, 'isSwitch'>): [string, CarriedFlag][] {
  return flags
    .trim()
    .split(/\s+/)
    .map((name) => [name.replace('!', ''), { ...kind, isSwitch: name.endsWith('!') }]);
}

export const knownFlags: ReadonlyMap<string, CarriedFlag> = new Map([
  ...listed(trainingFlags, { isOfData: false, isNewer: false }),
  ...listed(newerTrainingFlags, { isOfData: false, isNewer: true }),
  ...listed(dataFlags, { isOfData: true, isNewer: false }),
  ...listed(newerDataFlags, { isOfData: true, isNewer: true }),
]);

/** Whether a flag that is taken over is of data, checkpoints or logging, not of training. */
export function isDataFlag(key: string): boolean {
  return knownFlags.get(key)?.isOfData === true;
}

/**
 * What a new script for Megatron-LM takes over from the file of the planned run.
 * @param isOlder it is for a fork of an older release, which does not know newer flags.
 */
export function carriedFlags({ names, settings }: ListedSettings, isOlder: boolean): Carried {
  return names === 'megatron' ? ownFlags(settings, isOlder) : translatedFlags(asMegatronFlags(names, settings), isOlder);
}

/** Flags of Megatron-LM itself, spelled as they are; keys of a YAML become flags. */
function ownFlags(settings: readonly WrittenSetting[], isOlder: boolean): Carried {
  const values = new Map<string, string>();
  const left: string[] = [];
  for (const setting of settings) {
    const { name, words, isPlanned } = setting;
    const key = flagKey(name);
    const line = flagLine(key, name.startsWith('--') ? name : `--${key}`, words, isOlder);
    if (line !== null) values.set(key, line);
    else if ((knownFlags.has(key) || !isPlanned) && !isOff(words)) left.push(settingText(setting));
  }
  return { values, left };
}

function translatedFlags(translated: ReturnType<typeof asMegatronFlags>, isOlder: boolean): Carried {
  const values = new Map<string, string>();
  const left: string[] = [];
  for (const { setting, flags } of translated) {
    for (const [key, word] of flags ?? []) {
      const line = flagLine(key, `--${key}`, [word], isOlder);
      if (line !== null) values.set(key, setting === null ? `${line} # the default of the planned run` : line);
    }
    if (setting !== null && flags === null && !setting.isPlanned && !isOff(setting.words)) left.push(settingText(setting));
  }
  return { values, left };
}

/** `--lr 1.5e-4`; null: it is not taken over, or its value is not known. */
function flagLine(key: string, flag: string, words: readonly string[] | null, isOlder: boolean): string | null {
  const carried = knownFlags.get(key);
  if (carried === undefined || words === null || (isOlder && carried.isNewer)) return null;
  if (carried.isSwitch) return isOff(words) ? null : flag;
  return words.length === 0 || isOff(words) ? null : `${flag} ${words.map(shellValue).join(' ')}`;
}

/** Whether words switch something off, or set nothing. */
export function isOff(words: readonly string[] | null): boolean {
  return words?.length === 1 && /^(false|no|off|null|none|~|)$/i.test(words[0] ?? '');
}

/** A setting as its file has it, to be listed as not taken over. */
export function settingText({ name, words }: WrittenSetting): string {
  return words === null ? `${name} (its value is known only to the run)` : [name, ...words].join(' ').slice(0, 80);
}

import type { CarryTarget, Into } from '../megatron/carried-into';

/**
 * Flags of Megatron-LM that sections of a `ConfigContainer` take under the same name with underscores (Megatron-Bridge at 067f987d,
 * src/megatron/bridge/training/config.py, with the configs of megatron/training/config that it builds on).
 */
const alike: Readonly<Record<string, string>> = {
  optimizer: `lr min-lr decoupled-lr decoupled-min-lr adam-beta1 adam-beta2 adam-eps sgd-momentum muon-momentum clip-grad optimizer
    loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis log-num-zeros-in-grad`,
  scheduler: `lr-decay-style lr-decay-iters lr-decay-samples lr-wsd-decay-style lr-wsd-decay-iters lr-wsd-decay-samples lr-warmup-iters
    lr-warmup-samples lr-warmup-init start-weight-decay end-weight-decay weight-decay-incr-style
    override-opt-param-scheduler use-checkpoint-opt-param-scheduler`,
  train: `exit-interval exit-duration-in-mins exit-signal-handler manual-gc manual-gc-interval
    empty-unused-memory-level`,
  validation: 'eval-interval eval-iters',
  dist: 'distributed-backend distributed-timeout-minutes',
  rng: 'seed',
  dataset: `data-path split num-workers dataloader-type reset-position-ids reset-attention-mask eod-mask-loss num-dataset-builder-threads`,
  tokenizer: 'tokenizer-type tokenizer-model vocab-file merge-file vocab-extra-ids',
  checkpoint: `save load save-interval finetune use-checkpoint-args exit-on-missing-checkpoint pretrained-checkpoint ckpt-step ckpt-format
    async-save dist-ckpt-strictness auto-detect-ckpt-format save-retain-interval non-persistent-save-interval non-persistent-ckpt-type`,
  logger: `log-interval log-params-norm log-throughput log-progress log-memory-to-tensorboard log-timers-to-tensorboard
    log-validation-ppl-to-tensorboard log-world-size-to-tensorboard log-loss-scale-to-tensorboard timing-log-level timing-log-option
    tensorboard-dir tensorboard-log-interval tensorboard-queue-size wandb-project wandb-exp-name wandb-save-dir wandb-entity`,
  model: 'calculate-per-token-loss',
};

/**
 * Flags that switch something off, flags with another name, and flags that also replace what a recipe may have: a length in iterations, and
 * the scheduler's weight decay, which overrides that of the optimizer.
 */
const otherwise: Readonly<Record<string, Into>> = {
  'weight-decay': (word, given) => [
    ['optimizer.weight_decay', word],
    ...(given('start-weight-decay') === undefined
      ? [['scheduler.start_weight_decay', word] as const, ['scheduler.end_weight_decay', word] as const]
      : []),
  ],
  'train-iters': (word, given) => [
    ['train.train_iters', word],
    ...(given('lr-decay-iters') === undefined ? [['scheduler.lr_decay_iters', 'null'] as const] : []),
  ],
  'train-samples': (word) => [
    ['train.train_samples', word],
    ['train.train_iters', 'null'],
    ['scheduler.lr_decay_iters', 'null'],
    ['scheduler.lr_warmup_iters', '0'],
  ],
  'lr-warmup-fraction': (word) => [
    ['scheduler.lr_warmup_fraction', word],
    ['scheduler.lr_warmup_iters', '0'],
  ],
  'no-save-optim': () => [['checkpoint.save_optim', 'false']],
  'no-save-rng': () => [['checkpoint.save_rng', 'false']],
  'no-load-optim': () => [['checkpoint.load_optim', 'false']],
  'no-load-rng': () => [['checkpoint.load_rng', 'false']],
  'no-mmap-bin-files': () => [['dataset.mmap_bin_files', 'false']],
  'no-create-attention-mask-in-dataloader': () => [['dataset.create_attention_mask', 'false']],
  'no-check-for-nan-in-loss-and-grad': () => [['rerun_state_machine.check_for_nan_in_loss', 'false']],
  'ckpt-fully-parallel-save': 'checkpoint.fully_parallel_save',
  'data-cache-path': 'dataset.path_to_cache',
  // the model has it
  'init-method-std': () => [],
};

/** New overrides of a recipe, whose own values are not known. */
export const bridgeTarget: CarryTarget = {
  keys: {
    ...Object.fromEntries(
      Object.entries(alike).flatMap(([section, flags]) =>
        flags.split(/\s+/).map((flag) => [flag, `${section}.${flag.replaceAll('-', '_')}`] as const),
      ),
    ),
    ...otherwise,
  },
  defaults: {},
};

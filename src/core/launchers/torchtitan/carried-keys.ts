import { own } from '../../records';
import type { CarryTarget, Into } from '../megatron/carried-into';
import { titanDefaults } from '../megatron/counterparts';

/** What a number is of another, in a few digits. */
function ratio(part: string, whole: string | undefined): string | null {
  const value = Number(part) / Number(whole ?? NaN);
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : null;
}

/** A number of samples in whole steps of the plan's batch. */
const inSteps =
  (path: string, globalBatch: number): Into =>
  (word) =>
    Number(word) > 0 ? [[path, String(Math.ceil(Number(word) / globalBatch))]] : [];

const decays: Readonly<Record<string, readonly [path: string, word: string]>> = {
  linear: ['lr_scheduler.decay_type', 'linear'],
  cosine: ['lr_scheduler.decay_type', 'cosine'],
  constant: ['lr_scheduler.decay_ratio', '0.0'],
};

/** The share of the run in which the learning rate grows. */
const warmup: Into = (word, given) => {
  const steps = Number(given('lr-decay-iters') ?? given('train-iters') ?? NaN) * Number(word);
  return Number.isFinite(steps) ? [['lr_scheduler.warmup_steps', String(Math.round(steps))]] : null;
};

/** Flags of Megatron-LM in keys of TorchTitan's TOML (torchtitan/config/job_config.py at v0.2.2). @param globalBatch of the plan. */
export function titanTarget(globalBatch: number): CarryTarget {
  return {
    keys: {
      lr: 'optimizer.lr',
      'adam-beta1': 'optimizer.beta1',
      'adam-beta2': 'optimizer.beta2',
      'adam-eps': 'optimizer.eps',
      'weight-decay': 'optimizer.weight_decay',
      // Megatron-LM's is AdamW
      optimizer: (word) => (word === 'adam' ? [['optimizer.name', 'AdamW']] : null),
      'min-lr': (word, given) => {
        const share = ratio(word, given('lr'));
        return share === null ? null : [['lr_scheduler.min_lr_factor', share]];
      },
      'lr-warmup-iters': 'lr_scheduler.warmup_steps',
      'lr-warmup-fraction': warmup,
      'lr-warmup-samples': inSteps('lr_scheduler.warmup_steps', globalBatch),
      'lr-decay-style': (word) => {
        const decay = own(decays, word);
        return decay === undefined ? null : [decay];
      },
      // TorchTitan has no decay that ends before the run
      'lr-decay-iters': (word, given) => {
        const steps = Number(given('train-iters') ?? NaN);
        return Number(word) === steps ? [] : Number(word) > steps ? [['lr_scheduler.total_steps', word]] : null;
      },
      'train-iters': 'training.steps',
      'train-samples': inSteps('training.steps', globalBatch),
      'clip-grad': (word) => (Number(word) > 0 ? [['training.max_norm', word]] : null),
      seed: 'debug.seed',
      'tokenizer-type': (word) => (word === 'HuggingFaceTokenizer' ? [] : null),
      'tokenizer-model': (word, given) => (given('tokenizer-type') === 'HuggingFaceTokenizer' ? [['model.hf_assets_path', word]] : null),
      save: (word) => [
        ['checkpoint.enable', 'true'],
        ['checkpoint.folder', word],
      ],
      'save-interval': 'checkpoint.interval',
      // it resumes from the folder where it saves
      load: (word, given) => (word === given('save') ? [] : null),
      'log-interval': 'metrics.log_freq',
      'tensorboard-dir': (word) => [
        ['metrics.enable_tensorboard', 'true'],
        ['metrics.save_tb_folder', word],
      ],
      'distributed-backend': (word) => (word === 'nccl' ? [] : null),
    },
    defaults: titanDefaults,
  };
}

import { own } from '../../records';
import type { RunSettings, WrittenSetting } from '../../run/run-settings';

/** Flags of Megatron-LM by `flagKey`, each with its word. */
export type Flags = readonly (readonly [key: string, word: string])[];

/**
 * A setting of another launcher in flags of Megatron-LM: the flag that takes the same word, or what a word becomes; none where the setting
 * has no effect, null where there is no counterpart.
 */
type Counterpart = string | ((word: string, given: (name: string) => string | undefined) => Flags | null);

/** Names of a decay as Megatron-LM has them. */
const decayStyles: Readonly<Record<string, string>> = {
  linear: 'linear',
  cosine: 'cosine',
  constant: 'constant',
  constant_with_warmup: 'constant',
  inverse_sqrt: 'inverse-square-root',
};

const decay: Counterpart = (word) => {
  const style = own(decayStyles, word.toLowerCase());
  return style === undefined ? null : [['lr-decay-style', style]];
};

/** A number that counts only above zero. */
const above =
  (key: string): Counterpart =>
  (word) =>
    Number(word) > 0 ? [[key, word]] : [];

/** A period in steps; below 1 it is a share of the run, which Megatron-LM does not take. */
const period =
  (key: string): Counterpart =>
  (word) =>
    Number(word) >= 1 ? [[key, word]] : null;

const tokenizer: Counterpart = (word) => [
  ['tokenizer-type', 'HuggingFaceTokenizer'],
  ['tokenizer-model', word],
];

/** `TrainingArguments` of Transformers, and what Axolotl and LLaMA-Factory add to them. */
const trainer: Readonly<Record<string, Counterpart>> = {
  learning_rate: 'lr',
  weight_decay: 'weight-decay',
  adam_beta1: 'adam-beta1',
  adam_beta2: 'adam-beta2',
  adam_epsilon: 'adam-eps',
  max_grad_norm: 'clip-grad',
  lr_scheduler_type: decay,
  lr_scheduler: decay,
  warmup_steps: above('lr-warmup-iters'),
  warmup_ratio: (word, given) => (Number(given('warmup_steps') ?? 0) > 0 ? [] : [['lr-warmup-fraction', word]]),
  max_steps: above('train-iters'),
  num_train_epochs: (_, given) => (Number(given('max_steps') ?? 0) > 0 ? [] : null),
  seed: 'seed',
  base_model: tokenizer,
  model_name_or_path: tokenizer,
  tokenizer_name: tokenizer,
  tokenizer_name_or_path: tokenizer,
  output_dir: 'save',
  save_steps: period('save-interval'),
  eval_steps: period('eval-interval'),
  logging_steps: period('log-interval'),
  logging_dir: 'tensorboard-dir',
  dataloader_num_workers: 'num-workers',
  wandb_project: 'wandb-project',
  wandb_entity: 'wandb-entity',
  wandb_name: 'wandb-exp-name',
  run_name: 'wandb-exp-name',
};

/** What TorchTitan takes where its TOML leaves a key out (torchtitan/config/job_config.py at a25dd8f8 and v0.2.2). */
export const titanDefaults = {
  'optimizer.lr': '8e-4',
  'optimizer.beta1': '0.9',
  'optimizer.beta2': '0.95',
  'optimizer.eps': '1e-8',
  'optimizer.weight_decay': '0.1',
  'lr_scheduler.warmup_steps': '200',
  'lr_scheduler.decay_type': 'linear',
  'lr_scheduler.min_lr_factor': '0.0',
  'training.max_norm': '1.0',
  'training.steps': '10000',
} as const;

/** Keys of TorchTitan's TOML (torchtitan/config/job_config.py at a25dd8f8). */
const torchtitan: Readonly<Record<string, Counterpart>> = {
  'optimizer.lr': 'lr',
  'optimizer.beta1': 'adam-beta1',
  'optimizer.beta2': 'adam-beta2',
  'optimizer.eps': 'adam-eps',
  'optimizer.weight_decay': 'weight-decay',
  'lr_scheduler.warmup_steps': above('lr-warmup-iters'),
  'lr_scheduler.decay_type': decay,
  'lr_scheduler.min_lr_factor': (word, given) => {
    const least = Number(word) * Number(given('optimizer.lr') ?? titanDefaults['optimizer.lr']);
    return least > 0 ? [['min-lr', String(Number(least.toPrecision(12)))]] : [];
  },
  'training.steps': 'train-iters',
  'training.max_norm': 'clip-grad',
  'training.seed': 'seed',
  'debug.seed': 'seed',
  'model.tokenizer_path': tokenizer,
  'model.hf_assets_path': tokenizer,
  'checkpoint.folder': (word, given) => (savesCheckpoints(given) ? [['save', word]] : []),
  'checkpoint.interval': (word, given) => (savesCheckpoints(given) ? [['save-interval', word]] : []),
  'checkpoint.enable': () => [],
  'checkpoint.enable_checkpoint': () => [],
  'metrics.log_freq': 'log-interval',
};

function savesCheckpoints(given: (name: string) => string | undefined): boolean {
  return [given('checkpoint.enable'), given('checkpoint.enable_checkpoint')].includes('true');
}

/** Members of DeepSpeed's JSON, where it has an optimizer and a scheduler. */
const deepspeed: Readonly<Record<string, Counterpart>> = {
  'optimizer.params.lr': 'lr',
  'optimizer.params.eps': 'adam-eps',
  'optimizer.params.weight_decay': 'weight-decay',
  'optimizer.params.betas': (word) => {
    const [first, second] = word.split(' ');
    return first === undefined || second === undefined
      ? null
      : [
          ['adam-beta1', first],
          ['adam-beta2', second],
        ];
  },
  'scheduler.params.warmup_num_steps': above('lr-warmup-iters'),
  gradient_clipping: 'clip-grad',
  steps_per_print: period('log-interval'),
};

const counterparts = { trainer, torchtitan, deepspeed };

/** What a launcher takes where its file leaves a setting out and Megatron-LM, or a new script for it, would take something else. */
const usual: Readonly<Record<keyof typeof counterparts, readonly (readonly [name: string, word: string])[]>> = {
  trainer: [
    ['learning_rate', '5e-5'],
    ['lr_scheduler_type', 'linear'],
    ['weight_decay', '0.0'],
    ['seed', '42'],
  ],
  torchtitan: (
    [
      'optimizer.lr',
      'optimizer.beta2',
      'optimizer.weight_decay',
      'lr_scheduler.warmup_steps',
      'lr_scheduler.decay_type',
      'training.steps',
    ] as const
  ).map((key) => [key, titanDefaults[key]]),
  deepspeed: [],
};

/** A setting of another launcher in flags of Megatron-LM. */
export interface TranslatedSetting {
  /** Null: the file leaves it out, and these flags are the launcher's default. */
  readonly setting: WrittenSetting | null;
  /** Null: it has no counterpart. */
  readonly flags: Flags | null;
}

/** What another launcher's file sets, and what the launcher takes by default, in flags of Megatron-LM. */
export function asMegatronFlags(
  names: Exclude<RunSettings['names'], 'megatron'>,
  settings: readonly WrittenSetting[],
): readonly TranslatedSetting[] {
  const table: Readonly<Record<string, Counterpart>> = counterparts[names];
  const plainKey = (name: string): string => (names === 'trainer' ? name.replace(/^--/, '').replaceAll('-', '_') : name);
  const wordsByKey = new Map(settings.map(({ name, words }) => [plainKey(name), words?.join(' ')]));
  const translate = (key: string, word: string | undefined): Flags | null => {
    const counterpart = own(table, key);
    if (counterpart === undefined || word === undefined || word === '') return null;
    return typeof counterpart === 'string' ? [[counterpart, word]] : counterpart(word, (name) => wordsByKey.get(name));
  };
  const given = settings.map((setting) => ({ setting, flags: translate(plainKey(setting.name), wordsByKey.get(plainKey(setting.name))) }));
  const givenFlags = new Set(given.flatMap(({ flags }) => flags ?? []).map(([key]) => key));
  const silent = usual[names].flatMap(([key, word]) => {
    const flags = translate(key, word) ?? [];
    return wordsByKey.has(key) || flags.some(([flag]) => givenFlags.has(flag)) ? [] : [{ setting: null, flags }];
  });
  return [...silent, ...given];
}

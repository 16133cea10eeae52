/** Names of a YAML text's first two levels, from one scan of its beginning. */
export interface YamlHead {
  /** Keys directly under each top-level key, in block style. */
  readonly sections: ReadonlyMap<string, ReadonlySet<string>>;
}

export type YamlLauncherFormat = 'megatron-yaml' | 'nemo' | 'megatron-bridge' | 'gpt-neox';

const scanned = 2 ** 18;
const scannedKeys = 5000;
const line = /^\uFEFF?([ ]*)(?:"([\w.-]{1,80})"|'([\w.-]{1,80})'|([\w.<-][\w.-]{0,79}))[ ]*:(?=[ \t\r\n]|$)/gm;

/** Scans the first 256 KiB and 5,000 keys; works on broken files too. In a flow mapping (`{ "a": 1 }`) every key that begins a line counts as one of the top level. */
function yamlHead(text: string): YamlHead {
  const sections = new Map<string, Set<string>>();
  const isFlow = /^\uFEFF?(?:\s|#[^\n]*\n|---)*\{/.test(text.slice(0, 10_000));
  let current: Set<string> | null = null;
  let indent = 0;
  let keys = 0;
  for (const [, spaces = '', ...names] of text.slice(0, scanned).matchAll(line)) {
    keys += 1;
    if (keys > scannedKeys) break;
    const name = names.join('');
    if (isFlow || spaces === '') {
      current = sections.get(name) ?? new Set();
      sections.set(name, current);
      indent = 0;
    } else if (current !== null && (indent === 0 || spaces.length === indent)) {
      indent = spaces.length;
      current.add(name);
    }
  }
  return { sections };
}

/** Which launcher's a YAML text is, by its keys; null for anything else. No parse. */
export function recogniseYaml(text: string): YamlLauncherFormat | null {
  const head = yamlHead(text);
  if (isMegatronYaml(head)) return 'megatron-yaml';
  if (isNemo(head)) return 'nemo';
  if (isMegatronBridge(head)) return 'megatron-bridge';
  return isGptNeox(head) ? 'gpt-neox' : null;
}

/** A functional test of Megatron-LM (`MODEL_ARGS` with flags), or its `--yaml-cfg`. */
function isMegatronYaml({ sections }: YamlHead): boolean {
  if ([...(sections.get('MODEL_ARGS') ?? [])].some((name) => name.startsWith('--'))) return true;
  return sections.has('language_model') && hasAny(sections.get('model_parallel'), parallelSizes);
}

/** NeMo 1.x: a Lightning trainer, and a model with Megatron's parallel sizes. Its speech and vision configs have none. */
function isNemo({ sections }: YamlHead): boolean {
  return sections.has('trainer') && hasAny(sections.get('model'), [...parallelSizes, 'encoder_seq_length']);
}

/** Overrides of a Megatron-Bridge recipe: Megatron Core's parallel sizes under `model`, or its batch sizes under `train`; no Lightning trainer. */
function isMegatronBridge({ sections }: YamlHead): boolean {
  if (sections.has('trainer')) return false;
  const train = sections.get('train');
  const trains =
    train !== undefined &&
    train.has('micro_batch_size') &&
    train.has('global_batch_size') &&
    hasAny(train, ['train_iters', 'train_samples']);
  return trains || (hasAny(sections.get('model'), parallelSizes) && bridgeSections.some((name) => sections.has(name)));
}

/** GPT-NeoX, in either spelling: two of its keys, at least one of which no other launcher has. */
function isGptNeox({ sections }: YamlHead): boolean {
  const names = new Set([...sections.keys()].map((name) => name.replaceAll('-', '_')));
  return hasAny(names, neoxOnly) && [...neoxOnly, ...neoxToo].filter((name) => names.has(name)).length >= 3;
}

const parallelSizes = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size', 'expert_model_parallel_size'];
const bridgeSections = [
  'train',
  'ddp',
  'dist',
  'dataset',
  'optimizer',
  'scheduler',
  'checkpoint',
  'logger',
  'mixed_precision',
  'comm_overlap',
];
const neoxOnly = ['pipe_parallel_size', 'gpt_j_residual', 'no_weight_tying', 'output_layer_parallelism', 'pos_emb', 'rotary_pct'];
const neoxToo = [
  'model_parallel_size',
  'num_layers',
  'hidden_size',
  'num_attention_heads',
  'seq_length',
  'train_micro_batch_size_per_gpu',
  'train_batch_size',
  'zero_optimization',
  'pipe_partition_method',
];

function hasAny(names: ReadonlySet<string> | undefined, wanted: readonly string[]): boolean {
  return names !== undefined && wanted.some((name) => names.has(name));
}

import { setBy, silentCheckpointing } from '../../domain/capabilities';
import { familiarModel, type ModelOfLauncher } from '../../huggingface/hub-models';
import { own } from '../../records';
import type { Capabilities } from '../../run/facts';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits, type LauncherTraits } from '../traits';
import { baseLength, isMaxtext, isMaxtextScript } from './recognise';

const traits: LauncherTraits = {
  ...megatronTraits,
  runtime: 'torchtitan',
  padsVocabulary: false,
  repeatsKeyValueHeads: false,
  ignoresLoneRecompute: false,
  batchOfReplica: 'local',
  accelerator: 'TPU (MaxText)',
};

const capabilities: Capabilities = {
  name: 'MaxText',
  source: 'AI-Hypercomputer/maxtext at e591f30c, src/maxtext/configs/base.yml 23 to 970',
  setBy: setBy(['tensor', 'pipeline', 'context', 'expert', 'microBatch', 'recompute']),
  refuses: [],
  recomputes: ['none', 'core', 'full'],
  hasFixedStageLayers: true,
  ownTraining: true,
  // FSDP over all devices, weights in fp32
  silent: {
    ...silentCheckpointing(true),
    precision: 'bf16',
    sequenceLength: baseLength,
    microBatch: 12,
    zeroStage: 3,
    gradAccumulationFp32: true,
    compile: true,
  },
};

/** MaxText's own GPT-3 (src/maxtext/configs/models/gpt3-175b.yml and its smaller ones). */
const gpt3: Readonly<Record<string, readonly [layers: number, hidden: number, heads: number, vocab: number]>> = {
  'gpt3-175b': [96, 12_288, 96, 50_304],
  'gpt3-22b': [48, 6144, 24, 32_768],
  'gpt3-6b': [48, 3072, 12, 32_768],
};

function gpt3Config([layers, hidden, heads, vocab]: (typeof gpt3)[string]): string {
  const sizes = { n_layer: layers, n_embd: hidden, n_head: heads, n_inner: 4 * hidden, n_positions: 16_384, vocab_size: vocab };
  return JSON.stringify({ model_type: 'gpt2', tie_word_embeddings: true, ...sizes });
}

/** A model by MaxText's name, as those of the hub have sizes: `llama3.1-70b`, `olmo3-7b-pt`. */
function modelNamed(name: string): ModelOfLauncher {
  const hub = name
    .toLowerCase()
    .replace(/-(?:base|pt|it|thinking|instruct)$/, '')
    .replace(/^(gemma|olmo)(\d)/, '$1-$2')
    .replace(/^llama4-17b-16e$/, 'llama-4-scout-17b-16e')
    .replace(/^llama4-17b-128e$/, 'llama-4-maverick-17b-128e');
  const sizes = own(gpt3, hub);
  return { name, home: { launcher: 'MaxText' }, config: sizes === undefined ? familiarModel(hub) : gpt3Config(sizes) };
}

/** Google's MaxText: YAML of its models, and of runs over its base.yml. */
export const maxtext: Launcher = {
  file: sentence`a MaxText YAML`,
  endings: ['yml', 'yaml'],
  isIts: ({ yaml }) => isMaxtext(yaml()),
  reader: async () => (await import('./maxtext')).readMaxtext,
  traits,
  capabilities,
  modelNamed,
};

/** Scripts that start its trainer. */
export const maxtextShell: Launcher = {
  file: sentence`a script that starts MaxText`,
  endings: ['sh', 'bash'],
  isIts: ({ text }) => isMaxtextScript(text),
  reader: null,
  traits,
  capabilities,
  modelNamed,
};

import type { Runtime } from '../domain/runtime';
import { setsAll } from '../domain/capabilities';
import type { ComposingReader } from './composition';
import type { Capabilities, Facts } from '../run/facts';
import { topLevelKeys } from '../languages/json/document';
import { yamlHead, type YamlHead } from '../languages/yaml/head';
import type { ModelOfLauncher } from '../huggingface/hub-models';
import type { Sentence } from '../sentence';

/** In what launchers differ, as data that shared code and rules read. */
export interface LauncherTraits {
  /** Whose habits a run has: what is kept, sharded and gathered, and which schedules run. */
  readonly runtime: Runtime;
  /** Its settings are arguments of Megatron-LM itself, which checks them and has a default for each. */
  readonly takesMegatronArguments: boolean;
  /** The file of a model sets training, too: what a run's own file leaves out is not known without it. */
  readonly modelSetsTraining: boolean;
  /** What a file leaves out is open: a recipe in Python decides it, or the planner. Otherwise parallel sizes are 1. */
  readonly leavesOpen: boolean;
  /** Fewer key/value heads than tensor-parallel ranks are repeated, not refused. */
  readonly repeatsKeyValueHeads: boolean;
  /** Tensor parallelism divides the sequence between blocks even when nobody asks. */
  readonly alwaysDividesSequence: boolean;
  /** Embedding and head count as layers where layers are assigned to stages. */
  readonly countsEndsAsLayers: boolean;
  /** The vocabulary is padded for tensor parallelism, Megatron-LM's way. */
  readonly padsVocabulary: boolean;
  /** It stops where layers are not divisible by the stages and no setting divides them unevenly. */
  readonly refusesUnevenLayers: boolean;
  /** A method or a number of layers of recompute has no effect without a granularity. */
  readonly ignoresLoneRecompute: boolean;
  /** Its configs may list settings of full recompute with selective recompute, which ignores them. */
  readonly ignoresIdleRecompute: boolean;
  /**
   * Sequences that one replica takes in a step where no global batch is given: a local batch, or as many micro-batches as it accumulates.
   */
  readonly batchOfReplica: 'local' | 'accumulated' | null;
}

/** Of launchers that run Megatron-LM's training loop; those of others say in what they differ. */
export const megatronTraits: LauncherTraits = {
  runtime: 'megatron',
  takesMegatronArguments: false,
  modelSetsTraining: false,
  leavesOpen: false,
  repeatsKeyValueHeads: true,
  alwaysDividesSequence: false,
  countsEndsAsLayers: false,
  padsVocabulary: true,
  refusesUnevenLayers: true,
  ignoresLoneRecompute: true,
  ignoresIdleRecompute: false,
  batchOfReplica: null,
};

/** Of Megatron-LM, and of what runs its training loop. */
export const megatronCapabilities: Capabilities = {
  name: 'Megatron-LM',
  source: 'NVIDIA/Megatron-LM at d98e8a64, megatron/training/arguments.py 432 to 1477 and megatron/core/transformer/transformer_config.py',
  setBy: setsAll,
  refuses: [],
  silent: {},
};

/** A text before it is parsed: each scan runs when it is first asked for, and works on broken texts. */
export interface Glance {
  readonly text: string;
  readonly jsonKeys: () => ReadonlySet<string>;
  readonly yaml: () => YamlHead;
}

export function glanceAt(text: string): Glance {
  let [keys, head]: [ReadonlySet<string> | null, YamlHead | null] = [null, null];
  return { text, jsonKeys: () => (keys ??= topLevelKeys(text)), yaml: () => (head ??= yamlHead(text)) };
}

/** Everything that is known of one launcher's files: its folder exports one, `registry.ts` lists them. */
export interface Launcher {
  /** As a message offers it: `a TorchTitan TOML`. */
  readonly file: Sentence;
  /** Endings of its files, without a dot. */
  readonly endings: readonly string[];
  /** Endings that count where a user names a file, and that no folder is searched for. */
  readonly namedEndings?: readonly string[];
  /** Files among those with an ending that only named ones count of which are looked for, by their path. */
  readonly paths?: RegExp;
  /** Whether a text is one of its files: a scan, no parse. */
  readonly isIts: (glance: Glance) => boolean;
  /** The same of a text that a user named, where less is enough. */
  readonly isItsNamed?: (text: string) => boolean;
  /** Loads its reader, with the library that parses its files. Null: that library is WebAssembly, which the terminal or VS Code loads. */
  readonly reader: (() => Promise<ComposingReader>) | null;
  readonly traits: LauncherTraits;
  readonly capabilities: Capabilities;
  /** The model that a flavour or class of its own means. */
  readonly modelNamed?: (flavor: string, facts: Facts) => ModelOfLauncher;
}

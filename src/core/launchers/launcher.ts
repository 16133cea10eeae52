import { setsAll } from '../domain/capabilities';
import type { ComposingReader } from './composition';
import type { ConfigFormat } from '../run/config-format';
import type { Capabilities, Facts } from '../run/facts';
import { topLevelKeys } from '../languages/json/document';
import { yamlHead, type YamlHead } from '../languages/yaml/head';
import type { ModelOfLauncher } from '../huggingface/hub-models';
import type { Sentence } from '../sentence';
import type { LauncherTraits } from './traits';
import type { Editor } from './writing/editor';

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

/** A new file of a launcher, as it is offered. */
interface NewFileOffer {
  /** As `export --to` takes it. */
  readonly id: string;
  /** The program that starts it: `Megatron-LM`. */
  readonly name: string;
  /** What it is: `a launch script`. */
  readonly what: Sentence;
  /** The language of its text in VS Code. */
  readonly language: string;
  /** Other formats whose files `export --to` with this id changes (`--into`). */
  readonly into?: readonly ConfigFormat[];
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
  /** Loads how plans are written into its files; absent: they are not. */
  readonly editor?: () => Promise<Editor>;
  /** What `export` writes from nothing, with the `newFile` of the editor. */
  readonly exported?: NewFileOffer;
  readonly traits: LauncherTraits;
  readonly capabilities: Capabilities;
  /** The model that a flavour or class of its own means. */
  readonly modelNamed?: (flavor: string, facts: Facts) => ModelOfLauncher;
}

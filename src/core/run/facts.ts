import type { Finding } from '../findings';
import type { Located, Place, TextRange } from '../domain/located';
import type { Runtime } from '../domain/runtime';
import type { ReadValues } from '../domain/settings/setting';
import type { settingsByName } from '../domain/settings/table';
import type { GivenAdapters } from './adapters';
import type { RunSettings } from './run-settings';
import type { CapabilitiesWith } from '../domain/capabilities';
import type { ConfigFormat } from './config-format';

/** What any config or launcher file gives, by setting. Lengths in tokens; sizes as the file means them. */
export type FactValues = ReadValues<typeof settingsByName>;

export type FactName = keyof FactValues;

/** A value with where it is (`source.place` is exactly the value's text, so that a fix can replace it). */
export interface Fact<T> extends Located<T> {
  /**
   * What to cut out to remove the setting with its key or flag, so that the rest stays well-formed: a YAML line with its newline, ` --flag
   * value` with the space before it.
   */
  readonly whole?: TextRange;
  /** The key or flag as this file writes it: `--tensor-model-parallel-size`, `parallelism.tensor_parallel_degree`. */
  readonly name?: string;
  /** Set under a condition that is known only at run time. */
  readonly isConditional?: true;
}

/** Everything one file (or one run's files, joined) sets. */
export type Facts = { readonly [K in FactName]?: Fact<FactValues[K]> };

/** What a launcher can run and its file can express. */
export type Capabilities = CapabilitiesWith<Partial<FactValues>>;

/** Traits of a launcher in which the programs of its family differ. */
export interface ProgramTraits {
  readonly runtime?: Runtime;
  readonly refusesUnevenLayers?: boolean;
  readonly ignoresLoneRecompute?: boolean;
  /** The flag that recomputes whole layers; absent: Megatron Core's granularity. */
  readonly wholeRecomputeFlag?: string;
  /** Its linear layers have biases where a file disables none, and those of experts cannot be divided. */
  readonly hasSilentBiases?: true;
}

/** One of several programs that take the same kind of file: a fork of Megatron-LM, a trainer of Hugging Face's family. */
export interface Program {
  readonly name: string;
  /** In what it differs from the launcher of its format. */
  readonly traits: ProgramTraits;
  /** What it can run; absent: as the launcher of its format. */
  readonly capabilities?: Capabilities;
}

/** What a script's program does. Nothing but training is planned, and no rule of training applies to anything else. */
export type Purpose = 'training' | 'conversion' | 'evaluation' | 'serving' | 'data';

/** A launcher's file as one of the readers understands it. */
export interface LauncherFile {
  readonly file: string;
  readonly format: ConfigFormat;
  readonly text: string;
  /** Where to put a remark about the whole run: its first fact. */
  readonly place: Place;
  readonly facts: Facts;
  /** What the reader noticed: unresolved variables, placeholders, sizes that live elsewhere. Severity information unless it will fail. */
  readonly remarks: readonly Finding[];
  /** Paths this file names that hold the model (`--model config.json`, `hf_assets_path`), as written and located. */
  readonly modelFiles: readonly Located<string>[];
  /** The GPU that it names, by its preset. */
  readonly gpu?: Located<string>;
  /** The program of its family that it starts, where there are several. */
  readonly program?: Program;
  /** What the program does; absent: it trains. */
  readonly purpose?: Purpose;
  /** Settings that may change what is planned and that are left out: unknown ones, and those that are not planned. */
  readonly leftOut?: readonly string[];
  /** Everything that it sets, as written; absent: not listed. */
  readonly written?: Omit<RunSettings, 'file'>;
  /** The run trains only adapters: gradients and optimizer states are those of few weights. */
  readonly adapters?: GivenAdapters;
  /** Settings that another script completes and starts: what is missing here is not a mistake. */
  readonly isPart?: true;
  /** Parallel sizes that the file sets by a variable of its environment: no default is theirs. */
  readonly openSizes?: readonly FactName[];
  /** `${NAME}` placeholders of a template that stand for values; a template is not an error. */
  readonly placeholders: readonly string[];
  /** Of a shell script, where `$1` may not be its own argument: its functions, and the parts that are not understood. */
  readonly otherArguments?: readonly TextRange[];
}

/** A reader: pure, synchronous, total. @throws ExpectedError with a place for text that is not of its syntax at all. */
export type LauncherReader = (file: string, text: string) => LauncherFile;

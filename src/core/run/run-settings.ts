/** A setting of a launcher's file, as it is written: `--lr 1.5e-4`, `learning_rate: 1e-5`. */
export interface WrittenSetting {
  /** With its sections and dashes: `--lr`, `optimizer.lr`. */
  readonly name: string;
  /** Empty for a plain switch; null: known only when the run starts. */
  readonly words: readonly string[] | null;
  /** A plan has it, or follows from it. */
  readonly isPlanned: boolean;
}

/** Everything that a launcher's file sets, so that a file for another launcher can take over what no plan has. */
export interface RunSettings {
  readonly file: string;
  /** Whose names they are: arguments of Megatron-LM, `TrainingArguments` and what trainers add to them, keys of TorchTitan or DeepSpeed. */
  readonly names: 'megatron' | 'trainer' | 'torchtitan' | 'deepspeed';
  /** Null: the reader of the file does not list them. */
  readonly settings: readonly WrittenSetting[] | null;
}

/** Settings that the reader of their file lists. */
export interface ListedSettings extends RunSettings {
  readonly settings: readonly WrittenSetting[];
}

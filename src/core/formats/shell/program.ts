import type { Finding } from '../../findings';
import type { Facts, LauncherFile } from '../facts';
import type { LauncherFormat } from '../config-format';
import type { LocatedFlag } from '../megatron/located-flag';
import type { FlagRead } from './flag-reads';

/** How the words of a command become settings. */
export interface Settings {
  /** How many words a setting takes, by `flagKey`; undefined for one that planning does not use. */
  readonly words: (key: string) => FlagRead<unknown>['words'] | undefined;
  /** What its names look like, where they are not flags: `data.max_length=`, as Hydra takes them. */
  readonly override?: RegExp;
  /** Long names of short flags. */
  readonly short?: ReadonlyMap<string, string>;
}

/** A kind of program other than Megatron-LM that scripts start. */
export interface ShellProgram {
  readonly format: LauncherFormat;
  /** Whether a script starts it: a scan of its text. */
  readonly isIts: (text: string) => boolean;
  readonly settings: Settings;
  /** What the settings of its launch say, by `flagKey`. */
  readonly read: (flags: ReadonlyMap<string, LocatedFlag>) => Pick<LauncherFile, 'modelFiles' | 'adapters'> & {
    readonly facts: Facts;
    /** What is to be said of a run that trains. */
    readonly notes?: readonly Finding[];
  };
}

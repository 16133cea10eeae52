import type { Finding } from '../../findings';
import type { Base, Layer } from '../../languages/layers';
import type { Facts, LauncherFile } from '../../run/facts';
import type { LauncherFormat } from '../../run/config-format';
import type { FlagWord, LocatedFlag } from '../tables/located-flag';
import type { FlagRead } from '../../languages/reads';

/** How the words of a command become settings. */
export interface Settings {
  /** How many words a setting takes, by `flagKey`; undefined for one that planning does not use. */
  readonly words: (key: string) => FlagRead<unknown>['words'] | undefined;
  /** What its names look like, where they are not flags: `data.max_length=`, as Hydra takes them. */
  readonly override?: RegExp;
  /** Flags that may be abbreviated, as argparse allows. */
  readonly abbreviable?: readonly string[];
  /** Long names of short flags. */
  readonly short?: ReadonlyMap<string, string>;
}

/** A kind of program other than Megatron-LM that scripts start. */
export interface ShellProgram {
  readonly format: LauncherFormat;
  /** Whether a script starts it: a scan of its text. */
  readonly isIts: (text: string) => boolean;
  readonly settings: Settings;
  /** Python starts it too, as one process. */
  readonly isPlainPython?: true;
  /** Its settings are variables that the script leaves to the program. */
  readonly areVariables?: true;
  /** The script that it is started by, which takes settings as variables and as flags: of several runs the first counts. */
  readonly startedWithVariables?: RegExp;
  /** Paths of files of settings that its launch names, as it writes them. */
  readonly settingFiles?: (flags: ReadonlyMap<string, LocatedFlag>) => readonly FlagWord[];
  /** What such a file builds on. */
  readonly basesOfFile?: (layer: Layer) => readonly Base[];
  /** What the settings of its launch say, by `flagKey`, and those of the files that it names, of which `layers` were found. */
  readonly read: (
    flags: ReadonlyMap<string, LocatedFlag>,
    layers: readonly Layer[],
  ) => Pick<LauncherFile, 'modelFiles' | 'adapters' | 'program' | 'written' | 'gpu' | 'leftOut'> & {
    readonly facts: Facts;
    /** Findings on a run that trains. */
    readonly notes?: readonly Finding[];
  };
}

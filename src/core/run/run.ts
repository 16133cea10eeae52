import type { GivenAdapters } from './adapters';
import type { LocatedPartial, TrainingSettings, CalibrationSettings } from './given';
import type { ConfigFormat } from './config-format';
import type { InstanceName } from '../cluster/instances';
import type { ClusterSpec, NodeGroup } from '../domain/cluster';
import type { CostTable, CostConstants } from '../domain/slice-cost';
import type { Finding } from '../findings';
import type { Located, LocatedFields, Place } from '../domain/located';
import type { NamedProfile } from '../domain/profile';
import type { EncoderSizes } from '../model/ends';
import type { Layout } from '../domain/request';
import type { ScheduleName, ScheduleChoices } from '../domain/schedule-names';
import type { Scheme, SequenceSplit } from '../domain/scheme';
import type { GivenElastic } from './elastic';
import type { Capabilities, FactName, Facts } from './facts';
import type { ModelTraits, WrittenModel } from './written-model';
import type { Sentence } from '../sentence';

/** A model that is read but not planned: what in the config planning does not support. */
export interface Unplanned {
  readonly place: Place;
  readonly message: Sentence;
  readonly remedy: Sentence;
}

/** A model as its files describe it, located; with the defaults of its family, marked as such. */
export type RunModel = Pick<Run, 'model' | 'traits' | 'facts' | 'assumedFields' | 'unplanned' | 'encoder'>;

/** What the files of one run set, located; defaults of the model family included and marked, nothing else filled in. */
export interface Run {
  /** The file that was opened, and every file it drew from (itself first). */
  readonly file: string;
  readonly files: readonly string[];
  readonly format: ConfigFormat;
  /** What the launcher of these files can run and express; absent: no launcher reads them. */
  readonly capabilities?: Capabilities;
  /** Short display name: folder or file name. */
  readonly title: string;
  /** Where to put a remark about the whole run: its first key, or the start of the file. */
  readonly place: Place;
  readonly model: LocatedFields<WrittenModel>;
  /** What the model has beyond those sizes. */
  readonly traits?: ModelTraits;
  /** The cloud's machine type that a file names; GPU, links and GPUs of a node are its. */
  readonly instance?: Located<InstanceName>;
  /** Preset with overrides applied; absent when no file names a GPU. */
  readonly gpu?: Located<ClusterSpec['gpu']>;
  readonly links?: Located<ClusterSpec['links']>;
  readonly nodes?: Located<number>;
  readonly gpusPerNode?: Located<number>;
  readonly pricePerGpuHour?: Located<number>;
  /** Nodes of several kinds, in place of the four above. */
  readonly groups?: Located<readonly [NodeGroup, ...NodeGroup[]]>;
  readonly training: LocatedPartial<TrainingSettings>;
  /** The run trains adapters and freezes the weights. */
  readonly adapters?: GivenAdapters;
  readonly layout: LocatedPartial<Layout>;
  /** Sequences of one step on each replica, where that is what the files give instead of a global batch. */
  readonly batchPerReplica?: Located<number>;
  readonly schedule?: Located<ScheduleName>;
  /** What there is to choose the schedule from where none is given. */
  readonly schedules?: Located<ScheduleChoices>;
  /** Share of each GPU's memory that layouts of a search keep free; absent: as measured runs of the runtime ask for. */
  readonly keepFree?: Located<number>;
  readonly unit?: Located<number>;
  readonly scheme?: Located<Scheme>;
  /** How the launcher's flags have its runtime cut sequences. */
  readonly split?: Located<SequenceSplit>;
  readonly constants: LocatedPartial<CostConstants>;
  /** A step of this very run, measured. */
  readonly calibration?: LocatedPartial<CalibrationSettings>;
  readonly costTable?: Located<CostTable>;
  /** A profile the files name; null when they want none, even if one is found. */
  readonly profile?: Located<NamedProfile | null>;
  /** Everything the files set, what planning has no field for included. */
  readonly facts?: Facts;
  /** Fields of `model` that planning assumes though neither a file nor the documentation of its format gives them. */
  readonly assumedFields?: readonly (FactName & keyof WrittenModel)[];
  /** Why planning would be of another model than this one. */
  readonly unplanned?: Unplanned;
  /** Ends of an encoder, whose sequence cannot be sliced but whose layers can freeze. */
  readonly encoder?: EncoderSizes;
  /** What the files give for a run that freezes layers. */
  readonly elastic?: GivenElastic;
  /** What the readers noticed: unknown keys with a likely meaning, parts of the file that planning does not model. */
  readonly remarks?: readonly Finding[];
  /** Settings that are left out: what is planned may be off by what they change. */
  readonly leftOut?: readonly string[];
  /** Text of each of `files`, for quick fixes that insert or remove. */
  readonly texts?: ReadonlyMap<string, string>;
}

/**
 * Reads another file named by a config: path as written, relative to the file that names it. Resolves to its identity and text.
 * Rejects with an `ExpectedError` (not found, unreadable, binary, too large) whose place the caller replaces by the naming value.
 */
export type ReadReferenced = (from: string, path: string) => Promise<{ readonly file: string; readonly text: string }>;

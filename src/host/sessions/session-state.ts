import type { ConfigFormat } from '../../core/run/config-format';
import type { ElasticAnswer } from '../../features/elastic/core/answer';
import type { ExpectedError } from '../../core/errors';
import type { Finding } from '../../core/findings';
import type { LauncherFile, LauncherReader } from '../../core/run/facts';
import type { Run } from '../../core/run/run';
import type { Plan } from '../../core/planner/plan';
import type { SteppedSchedule } from '../../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../../core/slicing/solve';

/** What a session is of: a config, or a schedule in PyTorch's CSV, which is drawn as it is. */
export type SessionFormat = ConfigFormat | 'pytorch-schedule';

/** Everything known about one config or schedule file. Replaced whole on every change. */
export interface SessionState {
  /** Identity of the config: its URI. */
  readonly file: string;
  readonly format: SessionFormat;
  /** Read from `texts`; null when reading failed. */
  readonly run: Run | null;
  /** What a launcher's file sets; null for other configs. */
  readonly launcher: LauncherFile | null;
  /** Reads changed texts of it, over the files that it builds on; null where `launcher` is. */
  readonly reread: LauncherReader | null;
  /** The last good plan; of an older text while `staleEdits` is above 0. */
  readonly plan: Plan | null;
  /** Whether the launcher starts the text that `plan` is of. */
  readonly isGood: boolean;
  /** The last schedule that could run, of a schedule file; outdated as `plan` is. */
  readonly schedule: SteppedSchedule | null;
  /** As `plan`, for a run that freezes layers: of a file with an `elastic` section, and of encoders, which are planned in no other way. */
  readonly elastic: ElasticAnswer | null;
  /** 0..1 while planning, else null. */
  readonly progress: number | null;
  /** The best slices so far while they are solved for, else null. */
  readonly incumbent: IncumbentTimes | null;
  /** Edits since `plan`, `schedule` and `elastic` were made. */
  readonly staleEdits: number;
  /** Edits since the session began. */
  readonly edits: number;
  readonly error: ExpectedError | null;
  readonly findings: readonly Finding[];
  /** The texts that `run`, `error` and `findings` point into, by file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** The state of a file before anything is known. */
export function newState(file: string, format: SessionFormat): SessionState {
  return {
    file,
    format,
    run: null,
    launcher: null,
    reread: null,
    plan: null,
    isGood: false,
    schedule: null,
    elastic: null,
    progress: null,
    incumbent: null,
    staleEdits: 0,
    edits: 0,
    error: null,
    findings: [],
    texts: new Map(),
  };
}

/** Whether what is known is of an older text, and nothing newer is under way. */
export function isStale({ progress, staleEdits }: SessionState): boolean {
  return progress === null && staleEdits > 0;
}

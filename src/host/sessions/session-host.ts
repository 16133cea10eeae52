import type { ElasticAnswer } from '../../features/elastic/core/answer';
import type { ElasticRequest } from '../../features/elastic/core/request';
import type { LauncherReader } from '../../core/run/facts';
import type { Run } from '../../core/run/run';
import type { Plan } from '../../core/planner/plan';
import type { Scenario, ResolveDefaults } from '../../core/plan-request/scenario';
import type { Remedy } from '../../core/rules/plan/remedy';
import type { ScheduleFile } from '../../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../../core/slicing/solve';
import type { NamedProfile } from '../../core/domain/profile';
import type { PlanRequest } from '../../core/domain/request';

/** What sessions need of VS Code; tests give their own. */
export interface SessionHost {
  /** Text of a file as the user sees it. Rejects with an `ExpectedError`. */
  readonly readText: (file: string) => Promise<string>;
  /** Identity of the file that `path`, written in `from`, names. @throws ExpectedError when it names none. */
  readonly resolvePath: (from: string, path: string) => string;
  /** The reader of shell scripts. Loads its grammar on first use. */
  readonly shell: () => Promise<LauncherReader>;
  /** The run with its open settings filled in; off this thread, since that searches layouts. @param kept the scenario of its last plan. */
  readonly resolve: (
    run: Run,
    found: readonly NamedProfile[],
    kept: Scenario | undefined,
    options: { readonly signal: AbortSignal },
  ) => Promise<PlanRequest>;
  /** The smallest changes that make a run fit. */
  readonly remedies: (
    run: Run,
    found: readonly NamedProfile[],
    plan: Plan,
    options: { readonly signal: AbortSignal },
  ) => Promise<readonly Remedy[]>;
  readonly plan: (
    request: PlanRequest,
    options: {
      readonly signal: AbortSignal;
      readonly onProgress: (fraction: number) => void;
      readonly onIncumbent: (incumbent: IncumbentTimes) => void;
      /** Called with the plan of the schedule that is asked for, before it is compared with others. */
      readonly onFirst: (plan: Plan) => void;
    },
  ) => Promise<Plan>;
  readonly planElastic: (request: ElasticRequest, options: { readonly signal: AbortSignal }) => Promise<ElasticAnswer>;
  /** Reads and draws a schedule in PyTorch's CSV, off this thread: a million cells take seconds. */
  readonly readSchedule: (text: string, file: string, name: string, options: { readonly signal: AbortSignal }) => Promise<ScheduleFile>;
  readonly defaults: (file: string) => ResolveDefaults;
  /** Profiles that lie near a config. Never rejects. */
  readonly profiles: (file: string) => Promise<readonly NamedProfile[]>;
  /** Codes of findings that settings switch off for a file. */
  readonly switchedOff: (file: string) => ReadonlySet<string>;
  /** Pause after an edit before planning, ms; null: do not plan on edits. */
  readonly delayMs: () => number | null;
  /** Called with anything that is neither cancelled nor expected. */
  readonly reportBug: (error: unknown) => void;
}

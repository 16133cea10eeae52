import type { LauncherReader } from '../../run/facts';
import type { Run } from '../../run/run';
import type { Plan } from '../../planner/plan';
import type { Remark } from '../../launchers/writing/remarks';

/** A file that gives a runtime a plan's slices. */
export interface WrittenSlices {
  readonly text: string;
  /** What the runtime knows the file by, or what a new one may be called. */
  readonly fileName: string;
  /** Settings of the plan that the file does not have, or what was replaced. */
  readonly gaps: readonly Remark[];
  /** What the file will run, predicted: its chosen candidate is not the plan's own where the runtime cannot run that. */
  readonly runs: Plan;
}

/** A format of a runtime: a folder for each, which `registry.ts` lists. */
export interface SliceExport {
  /** As `terapipe export --to` takes it. */
  readonly id: string;
  /** As its makers call it. */
  readonly name: string;
  readonly description: string;
  /** What it runs on other than GPUs, for which no plan can be written; null: GPUs. */
  readonly hardware: string | null;
  /** VS Code's id of the language that it is in. */
  readonly language: string;
  /** Refuses a run whose plans cannot be written, before any is made; left out: what is written depends on the plan. */
  readonly requirePlannable?: (run: Run) => Promise<void>;
  /**
   * The plan's chosen candidate where the runtime can run it, else the best that it can, of the same layout.
   * @param shell the reader of scripts. @throws ExpectedError `export-slices` where the runtime runs no such plan.
   */
  readonly write: (plan: Plan, shell: () => Promise<LauncherReader>) => Promise<WrittenSlices>;
}

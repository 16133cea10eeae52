import { plannedStep } from '../launchers/launch-settings';
import type { Remark } from '../../launchers/writing/remarks';
import type { Plan } from '../../planner/plan';
import { torchPlan } from './plan-file';
import { readmeText } from './readme';
import { runScript } from './run-script';
import type { TorchPlan } from './schema';

/** A folder that trains with PyTorch, once the sources of the runtime are in it: `train.py` and `terapipe_torch/`. */
export interface WrittenRun {
  /** Texts of its other files, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** What it trains differently from the plan. */
  readonly gaps: readonly Remark[];
}

interface TorchFolder extends WrittenRun {
  readonly plan: TorchPlan;
}

/** Names of the runtime's sources. */
export const runtimeFiles = /\.py$/;

/** The folder for the chosen candidate of a plan. @throws ExpectedError as `torchPlan`. */
export function torchFolder(plan: Plan): TorchFolder {
  const { plan: written, gaps } = torchPlan(plan);
  const { plan: launch } = plannedStep(plan);
  return {
    plan: written,
    gaps,
    files: new Map([
      ['plan.json', planText(written)],
      ['run.sh', runScript({ ...launch, file: 'plan.json', examples: ['--steps 10', '--steps 1000 --data tokens.bin'] })],
      ['README.md', readmeText(written, launch, gaps)],
    ]),
  };
}

/** JSON with a line for each stage, unit and row of actions: to read, and to compare two. */
export function planText(plan: object): string {
  const members = Object.entries(plan).map(([key, value]) => {
    const rows: readonly unknown[] | null = Array.isArray(value) ? (value as unknown[]) : null;
    const lines = rows?.map((row) => JSON.stringify(row)).join(',\n    ');
    return `${JSON.stringify(key)}: ${lines === undefined ? JSON.stringify(value) : `[\n    ${lines}\n  ]`}`;
  });
  return `{\n  ${members.join(',\n  ')}\n}\n`;
}

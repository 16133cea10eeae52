import { placed, requireRun } from '../../../core/export/planned-config';
import { resolveRun } from '../../../core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../../core/plan-request/scenario';
import { makePlan } from '../../../core/planner/make-plan';
import { runFindings } from '../../../core/rules/run-findings';
import type { Run } from '../../../core/run/run';
import { applyOverrides } from '../../../core/terapipe/overrides';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { reportText } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { daysReport } from '../core/report';
import { runOfPlans, type DaysConditions } from '../core/run-of-plans';

interface WholeRunQuestion {
  readonly phases: readonly { readonly tokens: number; readonly sets: readonly string[] }[];
  readonly conditions: DaysConditions;
}

/**
 * `terapipe days`: what a whole run takes. @throws ExpectedError of the files and the planner, and `days-tokens` without tokens;
 * CancelledError.
 */
export async function daysAnswer(line: Line, asked: WholeRunQuestion, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const run = requireRun(config);
  try {
    const { found, fits } = answerFor(run, asked, line.defaults, terminal);
    return {
      json: { version: 1, title: run.title, fits, ...found },
      text: reportText(daysReport(run.title, found, fits)),
      exitCode: fits ? 0 : 1,
    };
  } catch (error) {
    throw placed(error, run, () => runFindings(run, null));
  }
}

function answerFor(run: Run, { phases, conditions }: WholeRunQuestion, defaults: ResolveDefaults, { signal }: Terminal) {
  const plan = (planned: Run) => makePlan(resolveRun(planned, defaults, [], signal), { isCompared: false, drawnOperations: 0, signal });
  const last = plan(run);
  const before = phases.map(({ tokens, sets }) => ({ tokens, plan: plan(applyOverrides(run, sets, assumedGpuName)) }));
  return runOfPlans(before, last, last.request.training.tokens ?? null, conditions);
}

import { planRun } from '../../../core/export/planned-config';
import { say } from '../../../core/sentence';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { reportText } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { writeOut } from '../../../cli/write-file';
import { profilesFolder } from '../../../profiler/folder';
import { readProfiles } from '../../../profiler/store';
import { explainOom, type OomAnswer, type OomPlan, type PlannedRun } from '../core/answer';
import { causeSentence } from '../core/fixes';
import { predictedSnapshot } from '../core/predicted-snapshot';
import { oomReport } from '../core/report';
import { readEvidence } from '../worker/read-evidence';

/**
 * `terapipe oom`: why a run ran out of memory. @param config the line of its config; null: none is named. @param out where the plan's
 * snapshot is written; null: it is not.
 * @throws ExpectedError as `readEvidence`, `predictedSnapshot` and `writeOut`, and of the config and the planner; CancelledError.
 */
export async function oomAnswer(
  log: string,
  config: Line | null,
  out: string | null,
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const evidence = await readEvidence(log, terminal.signal);
  const planned = config === null ? null : await plannedRun(config, terminal, texts);
  if (planned !== null && out !== null) await writeOut(out, predictedSnapshot(planned.plan), 'never');
  const answer = explainOom(evidence, planned);
  return { json: oomJson(answer), text: reportText(oomReport(answer)), exitCode: answer.verdict.cause === 'none' ? 0 : 1 };
}

async function plannedRun(line: Line, terminal: Terminal, texts: Map<string, string>): Promise<PlannedRun> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const { defaults } = line;
  const { signal } = terminal;
  const { found } = await readProfiles(profilesFolder(config.run.file));
  return { ...planRun(config, defaults, { found, progress: terminal.status, isCompared: false, signal }), defaults, found, signal };
}

function oomJson({ evidence, verdict, fix, plan }: OomAnswer): object {
  const { source, snapshot, lastStep } = evidence;
  const { cause, also, rank, ranks, account, growth, peak } = verdict;
  return {
    version: 1,
    source,
    cause,
    because: say(causeSentence(verdict, evidence)),
    also,
    fix: fix === null ? null : { first: say(fix.fix), cost: say(fix.cost) },
    rank,
    ranks,
    lastStep,
    account,
    peak,
    growth,
    holders: snapshot?.holders ?? [],
    parts: snapshot?.parts ?? null,
    plan: plan === null ? null : planJson(plan),
  };
}

function planJson({ priced, ...plan }: OomPlan): object {
  return { ...plan, priced: priced.map(({ text, ...price }) => ({ text: say(text), ...price })) };
}

import { planRun, type Planned } from '../../../core/export/planned-config';
import { formatBytes, formatCount } from '../../../core/format';
import { slowdownText } from '../../../core/planner/explain/slower';
import { remedyText } from '../../../core/rules/plan/remedy';
import { say, sentence } from '../../../core/sentence';
import { settingTexts } from '../../../core/terapipe/overrides';
import { orList, printable } from '../../../core/text';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { againstPlan, priceFixes, type AgainstPlan, type PricedFix } from '../core/against-plan';
import { causeNames, causeSentence, firstFix, type FirstFix } from '../core/fixes';
import type { Evidence } from '../core/evidence';
import { judge, type Verdict } from '../core/verdict';
import { readEvidence } from './read-evidence';

/** What the config of the run adds. */
interface WithPlan {
  readonly title: string;
  readonly against: AgainstPlan | null;
  readonly priced: readonly {
    readonly text: string;
    readonly sets: readonly string[];
    readonly freesBytes?: number;
    readonly slower: number;
  }[];
}

/**
 * `terapipe oom`: why a run ran out of memory. @param config the line of its config; null: none is named.
 * @throws ExpectedError as `readEvidence`, and of the config and the planner; CancelledError.
 */
export async function oomAnswer(log: string, config: Line | null, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const evidence = await readEvidence(log, terminal.signal);
  const verdict = judge(evidence);
  const fix = firstFix(verdict);
  const planned = config === null ? null : await withPlan(config, evidence, verdict, terminal, texts);
  return {
    json: oomJson(evidence, verdict, fix, planned),
    text: oomText(evidence, verdict, fix, planned),
    exitCode: verdict.cause === 'none' ? 0 : 1,
  };
}

async function withPlan(
  line: Line,
  evidence: Evidence,
  verdict: Verdict,
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<WithPlan> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const planned = planRun(config, line.defaults, { progress: terminal.status, isCompared: false, signal: terminal.signal });
  const against = againstPlan(planned.plan, evidence, verdict);
  const options = { defaults: line.defaults, signal: terminal.signal };
  const priced =
    against === null || verdict.cause === 'none'
      ? []
      : pricedChanges(planned, priceFixes(planned.run, planned.plan, against.stage, options));
  return { title: planned.plan.request.title, against, priced };
}

/** Changes with which a plan fits that does not; else the usual ones. */
function pricedChanges({ remedies = [] }: Planned, usual: readonly PricedFix[]): WithPlan['priced'] {
  if (remedies.length > 0)
    return remedies.map((remedy) => ({ text: say(remedyText(remedy)), sets: settingTexts(remedy.sets), slower: remedy.slower }));
  return usual.map(({ label, sets, freesBytes, slower }) => ({
    text: say(sentence`${label}: frees ${formatBytes(freesBytes)}, ${slowdownText(slower)}`),
    sets,
    freesBytes,
    slower,
  }));
}

function oomText(evidence: Evidence, verdict: Verdict, fix: FirstFix | null, planned: WithPlan | null): string {
  const { also, rank, ranks } = verdict;
  const where = rank === null ? '' : ` (rank ${rank}${ranks > 1 ? `, first of ${formatCount(ranks)}` : ''})`;
  return [
    printable(`${say(causeSentence(verdict, evidence))}${where}.`),
    ...(fix === null ? [] : [`First: ${say(fix.fix)}. Cost: ${say(fix.cost)}.`]),
    ...(also.length === 0 ? [] : [`It may also be ${orList(also.map((cause) => causeNames[cause]))}.`]),
    ...block('Memory', accountRows(verdict)),
    ...block('Who holds it', holderRows(evidence)),
    ...(planned === null ? [] : planText(planned)),
  ].join('\n');
}

function block(title: string, rows: readonly string[][]): string[] {
  return rows.length === 0 ? [] : ['', title, indented(table(rows, [1]))];
}

function accountRows({ account, peak }: Verdict): string[][] {
  const rows: readonly (readonly [string, number | null])[] = [
    ['GPU', account.capacityBytes],
    ['asked for', account.requestBytes],
    ['free', account.freeBytes],
    ['in tensors', account.allocatedBytes],
    ['in private pools', account.poolBytes],
    ['reserved, in no tensor', account.unallocatedBytes],
    ['outside the allocator', account.outsideBytes],
    ['other processes', account.othersBytes],
    ['most in tensors, logged', peak.allocatedBytes],
    ['most reserved, logged', peak.reservedBytes],
    ['most in use, logged', peak.inUseBytes],
  ];
  return rows.flatMap(([name, bytes]) => (bytes === null ? [] : [[name, formatBytes(bytes)]]));
}

function holderRows({ snapshot }: Evidence): string[][] {
  return (snapshot?.holders ?? []).map(({ line, part, bytes, blocks }) => [
    part,
    formatBytes(bytes),
    printable(`${line}, ${formatCount(blocks)} ${blocks === 1 ? 'block' : 'blocks'}`),
  ]);
}

function planText({ title, against, priced }: WithPlan): string[] {
  const rows = (against?.rows ?? []).map(({ name, measuredBytes, plannedBytes }) => [
    name,
    measuredBytes === null ? '' : formatBytes(measuredBytes),
    formatBytes(plannedBytes),
  ]);
  const of = against === null ? '' : `stage ${against.stage} of ${against.stages}${against.isOfRank ? '' : ', the fullest of the plan'}`;
  return [
    ...(rows.length === 0 ? [] : ['', printable(`${title}: ${of}`), indented(table([['', 'measured', 'planned'], ...rows], [1, 2]))]),
    ...(against?.plannedFits === true ? ['The plan fits: what is measured above it is not in the plan.'] : []),
    ...(priced.length === 0
      ? []
      : ['', 'Planned changes', indented(priced.map(({ text, sets }) => printable(`${text}${setsText(sets)}`)).join('\n'))]),
  ];
}

function setsText(sets: readonly string[]): string {
  return sets.length === 0 ? '' : ` (${sets.map((set) => `--set ${set}`).join(' ')})`;
}

function oomJson(evidence: Evidence, verdict: Verdict, fix: FirstFix | null, planned: WithPlan | null): object {
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
    plan: planned,
  };
}

import type { Run } from '../run/run';
import { mostSevereFirst, type Finding, type Fix, type TextEdit } from '../findings';
import { formatNumber } from '../format';
import type { Plan } from '../planner/plan';
import { issuesWithFixes, issuePlace, noteMark } from './launch-findings';
import { formatFindings } from './plan/format-findings';
import { memoryFindings } from './plan/memory-findings';
import { offloadFindings } from './plan/offload-findings';
import type { Remedy } from './plan/remedy';
import { shardFindings } from './plan/shard-findings';
import { listed, type Change, type Issue, type Rule } from './rule';
import { settingEdits } from './settings';
import { rules } from './table';
import { terapipeKey, viewOfRun, type ConfigView, type SettingName } from './view';
import { allOf, anyOf, sentence, type Sentence, upperFirst } from '../sentence';
import { append } from '../records';

/**
 * All findings on a run, most severe first: contradictions between its files, and, with a plan, whether it fits. Each is at the value it is
 * about, or at `run.place` when no file gives that value. Fixes edit its terapipe.json.
 * @param remedies of a plan that does not fit, as `findRemedies` finds them; they take plans of their own, so that they come after it.
 */
export function runFindings(run: Run, plan: Plan | null, remedies: readonly Remedy[] = []): Finding[] {
  const view = viewOfRun(run, plan?.request);
  const ofRules = rules.flatMap((rule) => issuesWithFixes(rule, view).map((issue) => toRunFinding(run, view, rule, issue)));
  return mostSevereFirst([
    ...ofRules,
    ...formatFindings(run, plan),
    ...offloadFindings(run),
    ...shardFindings(run, plan),
    ...memoryFindings(run, plan, remedies),
    ...(run.remarks ?? []),
  ]);
}

function toRunFinding(run: Run, { facts }: ConfigView, { code, ...rule }: Rule, issue: Issue): Finding {
  const { message, changes = [] } = issue;
  const severity = issue.severity ?? rule.planSeverity ?? rule.severity;
  const fixes = changes.flatMap((change, index) => terapipeFix(run, change, index === 0));
  return { code, severity, place: issuePlace(facts, issue) ?? run.place, message, remedy: remedyText(issue), fixes, ...noteMark(issue) };
}

/** `set layout.data to 4 or set cluster.nodes to 96` where numbers of settings mend it; the rule's own words otherwise. */
function remedyText({ changes = [], remedy, remedySuffix }: Issue): Sentence {
  const values = new Map<SettingName, number[]>();
  for (const [first, ...others] of changes) {
    if (first === undefined || others.length > 0 || typeof first.value !== 'number') return remedy;
    values.set(first.name, [...(values.get(first.name) ?? []), first.value]);
  }
  const sets = [...values].map(([name, numbers]) => ({ key: terapipeKey(name), numbers }));
  if (sets.length === 0 || sets.some(({ key }) => key === undefined || key.startsWith('model.'))) return remedy;
  const set = anyOf(sets.map(({ key = '', numbers }) => sentence`set ${key} to ${listed(numbers)}`));
  return sentence`${set}${remedySuffix ?? ''}`;
}

/** The fix that makes a change in the terapipe.json of the run; none where it has no such setting or cannot be edited. */
function terapipeFix(run: Run, change: Change, preferred: boolean): Fix[] {
  const edits: TextEdit[] = [];
  const titles: Sentence[] = [];
  for (const { name, value } of change) {
    const key = terapipeKey(name);
    const own = key === undefined ? null : settingEdits(run, key, value ?? null);
    if (key === undefined || own === null) return [];
    append(edits, own);
    titles.push(
      value === undefined
        ? sentence`remove ${key}`
        : sentence`set ${key} to ${typeof value === 'number' ? formatNumber(value) : String(value)}`,
    );
  }
  return [{ title: upperFirst(allOf(titles)), edits, preferred }];
}

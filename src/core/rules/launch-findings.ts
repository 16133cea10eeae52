import type { Fact, Facts, LauncherFile, FactName } from '../run/facts';
import { mostSevereFirst, type Finding, type Severity } from '../findings';
import type { Place } from '../domain/located';
import { isLauncher, launcherTraits } from '../launchers/registry';
import { rules } from './table';
import { viewOfLauncher, type ConfigView, type ViewFacts } from './view';
import { fixesFor, type TextOf } from './fixes';
import { viewAfter, type Change, type Issue, type Rule } from './rule';
import { sentence } from '../sentence';

/** Sizes and traits of a model that a launcher may leave to a name, a flavor or a config.json. */
const modelFacts = [
  'layers',
  'hidden',
  'heads',
  'kvHeads',
  'headDim',
  'ffn',
  'experts',
  'activeExperts',
  'expertFfn',
  'sharedExpertFfn',
  'denseLayers',
  'firstDenseLayers',
  'latentAttention',
  'tiedEmbeddings',
  'kvLoraRank',
  'qLoraRank',
  'qkNopeHeadDim',
  'qkRopeHeadDim',
  'vHeadDim',
] as const satisfies readonly FactName[];

/**
 * What a launcher's file sets, with the sizes of its model where the file leaves them out: known by a name of the hub, a flavor, or a
 * config.json. They count as defaults, so that findings are at values of the file itself. Models of two stacks, and of layers with a state,
 * are left unchanged: their sizes do not mean the same to a launcher.
 */
function withModelSizes(facts: Facts, model: Facts): Facts {
  if (model.encoderLayers !== undefined || model.stateKind !== undefined || facts.hybridPattern !== undefined) return facts;
  const source = { kind: 'default', reason: sentence`the model has it` } as const;
  const known = modelFacts.flatMap((name): [FactName, Fact<unknown>][] => {
    const fact: Fact<unknown> | undefined = model[name];
    return facts[name] !== undefined || fact === undefined ? [] : [[name, { value: fact.value, source }]];
  });
  return { ...(Object.fromEntries(known) as Facts), ...facts };
}

/**
 * What will fail or disappoint in the run that a launcher's file describes, most severe first. Each finding is at the value that should
 * change (never at a default); one that no value of a file causes is at `file.place` if it is worse than information, and is left out
 * otherwise. The fixes edit only `file`, and each makes its finding go away.
 * @param model what is known of the model in addition to the file: sizes of its name, or of a config.json.
 */
export function launchFindings(written: LauncherFile, model: Facts = {}): Finding[] {
  const file = { ...written, facts: withModelSizes(written.facts, model) };
  const textByFile: TextOf = (name) => (name === file.file ? file.text : undefined);
  if (!isLauncher(file.format) || (file.purpose ?? 'training') !== 'training') return [];
  const ofFile = viewOfLauncher(file);
  // a recipe in Python may cut the layers of a model that it brings unevenly
  const isCutElsewhere = launcherTraits(file.format).leavesOpen && written.facts.layers === undefined;
  const view = isCutElsewhere ? { ...ofFile, mayBeUneven: true } : ofFile;
  const held = file.adapters === undefined ? rules : rules.filter(({ ofAllWeights }) => ofAllWeights !== true);
  const findings = held.flatMap((rule) =>
    issuesWithFixes(rule, view).flatMap(
      (issue) => toLaunchFinding(judgeAsPart(file, rule), judgeAsPart(file, issue), file.facts, file.place, textByFile) ?? [],
    ),
  );
  return mostSevereFirst(findings);
}

/** Information only where a file has a part of the settings: the script that starts the run adds its own, and overrides some. */
function judgeAsPart<T extends { readonly severity?: Severity }>({ isPart }: LauncherFile, judged: T): T {
  return isPart === true && judged.severity !== undefined ? { ...judged, severity: 'information' } : judged;
}

/** The issues that a rule finds, only with those changes that mend them; none where the rule does not apply or nothing is wrong. */
export function issuesWithFixes(rule: Rule, view: ConfigView): readonly Issue[] {
  if (!rule.formats.includes(view.format)) return [];
  const issues = ruleIssues(rule, view);
  const helps = (change: Change): boolean => ruleIssues(rule, viewAfter(view, change)).length < issues.length;
  return issues.map((issue) => (issue.changes === undefined ? issue : { ...issue, changes: issue.changes.filter(helps) }));
}

function ruleIssues({ check }: Rule, view: ConfigView): readonly Issue[] {
  return [check(view) ?? []].flat();
}

/** An issue at its place, with fixes that can be written; null: information that nothing in a file causes. */
export function toLaunchFinding(
  rule: { readonly code: string; readonly severity: Severity },
  issue: Issue,
  facts: ViewFacts,
  fallback: Place,
  textByFile: TextOf,
): Finding | null {
  const given = issue.severity ?? rule.severity;
  // what depends on a run-time condition is not an error yet
  const severity = issue.at.some((name) => facts[name]?.isConditional === true) ? 'information' : given;
  const place = issuePlace(facts, issue) ?? (severity === 'information' ? null : fallback);
  if (place === null) return null;
  const { message, remedy, changes = [] } = issue;
  return { code: rule.code, severity, place, message, remedy, fixes: fixesFor(facts, changes, textByFile), ...noteMark(issue) };
}

/** The mark of what asks for nothing; absent from what does. */
export function noteMark({ isNote }: Issue): Pick<Finding, 'isNote'> {
  return isNote === true ? { isNote } : {};
}

export function issuePlace(facts: ViewFacts, { at }: Issue): Place | null {
  for (const name of at) {
    const fact: Fact<unknown> | undefined = facts[name];
    if (fact?.source.kind === 'file') return fact.source.place;
    // what the command line gives has no place in a file
    if (fact?.source.kind === 'override') return null;
  }
  return null;
}

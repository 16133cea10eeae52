import type { Run } from '../../formats/run';
import type { Finding, Fix } from '../../findings';
import { checked, placeOf } from '../launch-findings';
import { sharedRules } from '../table';
import { listed, type Change, type Issue, type Rule } from '../rule';
import { settingOf, viewOfRun } from '../view';
import { settingEdits } from '../settings';
import type { TextEdit } from '../../findings';
import { formatNumber } from '../../format';

/** What the rules that launchers share with planning say of a run; fixes edit its terapipe.json. */
export function sharedFindings(run: Run): Finding[] {
  const view = viewOfRun(run);
  return sharedRules.flatMap((rule: Rule) => {
    const issue = checked(rule, view);
    if (issue === null) return [];
    const { message, changes = [] } = issue;
    const fixes = changes.flatMap((change, index) => fixOf(run, change, index === 0));
    const place = placeOf(view.facts, issue) ?? run.place;
    const severity = issue.severity ?? rule.severity;
    return [{ code: rule.planCode ?? rule.code, severity, place, message, remedy: remedyOf(issue), fixes }];
  });
}

/** `set layout.tensor to 8 or 4` where one setting of the run mends it; the rule's own words otherwise. */
function remedyOf({ changes = [], remedy }: Issue): string {
  const settings = changes.map(([first]) => first);
  const name = settings[0]?.name;
  const key = name === undefined ? undefined : settingOf(name);
  const values = settings.flatMap((setting) => (setting?.name === name && typeof setting?.value === 'number' ? [setting.value] : []));
  if (key === undefined || key.startsWith('model.') || values.length !== changes.length) return remedy;
  return `set ${key} to ${listed(values)}`;
}

/** The fix that makes a change in the terapipe.json of the run; none where it has no such setting or cannot be edited. */
function fixOf(run: Run, change: Change, preferred: boolean): Fix[] {
  const edits: TextEdit[] = [];
  const titles: string[] = [];
  for (const { name, value } of change) {
    const key = settingOf(name);
    const own = key === undefined ? null : settingEdits(run, key, value ?? null);
    if (key === undefined || own === null) return [];
    edits.push(...own);
    titles.push(value === undefined ? `remove ${key}` : `set ${key} to ${typeof value === 'number' ? formatNumber(value) : String(value)}`);
  }
  const title = titles.join(' and ');
  return [{ title: title.charAt(0).toUpperCase() + title.slice(1), edits, preferred }];
}

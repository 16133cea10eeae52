import { loadRun } from '../core/config/load';
import { applyOverrides } from '../core/config/overrides';
import type { ReadReferenced, Run } from '../core/config/run';
import { ExpectedError } from '../core/errors';
import type { Finding } from '../core/findings';
import { findingsOf } from '../core/planner/findings';
import { makePlan } from '../core/planner/make-plan';
import type { Plan } from '../core/planner/plan';
import { resolveRun, type ResolveDefaults } from '../core/planner/resolve';
import { parseProfile } from '../core/profile/file';
import type { NamedProfile } from '../core/profile/profile';
import { readNamedFile, readReferenced, type SourceText } from './read-file';

/** A run with its plan and what there is to say about both. */
export interface Planned {
  readonly run: Run;
  readonly plan: Plan;
  readonly findings: readonly Finding[];
}

/**
 * Reads a config with what it refers to, `texts` keeping every text for messages.
 * @throws ExpectedError as `loadRun` and `applyOverrides`.
 */
export async function readRun(
  { file, text }: SourceText,
  sets: readonly string[],
  texts: Map<string, string>,
  options: { readonly withProfile?: boolean } = {},
): Promise<Run> {
  texts.set(file, text);
  const read: ReadReferenced = async (from, name) => {
    const referenced = await readReferenced(from, name);
    texts.set(referenced.file, referenced.text);
    return referenced;
  };
  const run = await loadRun(file, text, read, options);
  return applyOverrides(run, sets);
}

/** A run that is planned with the profile in `file` whatever its own files say; `none`: with none. @throws ExpectedError as `readProfile`. */
export async function withProfile(run: Run, file: string, texts: Map<string, string>): Promise<Run> {
  if (file === 'none') return { ...run, profile: { value: null, source: { kind: 'override' } } };
  const { text } = await readNamedFile(file);
  texts.set(file, text);
  return { ...run, profile: { value: { file, profile: parseProfile(text, file) }, source: { kind: 'override' } } };
}

/**
 * Plans a run.
 * @param found profiles near the config, one of which is used if it matches.
 * @throws ExpectedError of the planner, placed at the first error the files hold, or at the run.
 */
export function planRun(run: Run, defaults: ResolveDefaults, found: readonly NamedProfile[] = []): Planned {
  try {
    const plan = makePlan(resolveRun(run, defaults, found));
    return { run, plan, findings: findingsOf(run, plan) };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const cause = findingsOf(run, null).find(({ severity }) => severity === 'error');
    throw new ExpectedError(error.code, error.message, error.remedy, error.place ?? cause?.place ?? run.place);
  }
}

/** 1 when something of severity error was found or the plan does not fit. */
export function exitCodeFor(findings: readonly { readonly severity: Finding['severity'] }[], fits = true): 0 | 1 {
  return fits && findings.every(({ severity }) => severity !== 'error') ? 0 : 1;
}

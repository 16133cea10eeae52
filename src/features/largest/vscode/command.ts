import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { whatIfKeys, type WhatIfSet } from '../../../core/layout-search/what-if';
import { without } from '../../../core/records';
import type { Run } from '../../../core/run/run';
import { say, sentence } from '../../../core/sentence';
import { setInConfig, type ChangeCommands } from '../../../extension/commands/change-config';
import type { ScenarioCommands } from '../../../extension/commands/change-scenario';
import { runCommand } from '../../../extension/commands/run-command';
import { findTarget, settled } from '../../../extension/commands/target';
import { showInformationMessage, showQuickPick, withAbort } from '../../../extension/platform/ui';
import type { Profiles } from '../../../extension/sessions/profiles';
import { displayPath, uriBaseName } from '../../../extension/sessions/sources';
import type { ReportDocuments } from '../../../extension/views/report-documents';
import type { TimelinePanels } from '../../../extension/views/timeline-panels';
import type { PlannerClient } from '../../../host/planner/client';
import { overridesForNewFile, type ConfigSet } from '../../../host/sessions/written-sizes';
import type { ChosenKey } from '../../../host/sessions/scenarios';
import type { WhatIfs } from '../../../host/sessions/what-ifs';
import type { Largest } from '../core/largest';
import { largestReport, limitText, mayFitText, nextText } from '../core/report';
import { largestKinds, type LargestKind } from '../core/kinds';

export interface LargestCommands extends ChangeCommands, ScenarioCommands {
  /** The planner of searches: no plan waits for it. */
  readonly searcher: PlannerClient;
  readonly profiles: Profiles;
  readonly reports: ReportDocuments;
  readonly panels: TimelinePanels;
  readonly whatIfs: WhatIfs;
}

/** A size that was found for a run; `isSearched`: with the layout chosen again for each size. */
interface FoundSize {
  readonly file: string;
  readonly run: Run;
  readonly isSearched: boolean;
  readonly found: Largest;
}

/** What is done with a size that was found. */
type Act = 'try' | 'write';

/**
 * Finds the most that fits of a config, shows it with the stage that limits it and what the next size lacks, and offers to try it or to
 * write it into the config.
 * @param what as `terapipe max` takes it; asked for where it is left out. @param act done at once, without asking.
 * @param layout `search`: chosen again for each size, as by `terapipe max --search`; else that of the plan.
 * @returns what was found, a sentence each. @throws ExpectedError of the planner, or why there is no model; CancelledError.
 */
export async function findLargestCommand(
  commands: LargestCommands,
  argument: unknown,
  what: unknown,
  act: unknown,
  layout: unknown,
): Promise<readonly string[]> {
  const file = await findTarget(commands.shown, argument);
  const { run, error } = await settled(commands, file);
  if (run === null) throw error ?? new ExpectedError('no-plan', sentence`There is no model to plan`, sentence`fix the config first`);
  const kind = largestKinds.find((name) => name === what) ?? (await askKind(file));
  const kept = commands.scenarios.resolveDefaults(file);
  // For other GPUs the layout of the plan is chosen again.
  const defaults = kind === 'fewest-gpus' ? without(kept, 'kept') : kept;
  const isSearched = layout === 'search';
  const asked = { run, defaults, found: await commands.profiles.found(run.file), what: kind, isSearched };
  const found = await withAbort(vscode.l10n.t('Finding what fits'), (signal, report) =>
    commands.searcher.ask('largest', asked, { signal, report: (reply) => reply.type === 'progress' && report(reply.fraction) }),
  );
  if (act === 'try' || act === 'write') await apply(commands, { file, run, isSearched, found }, act);
  else offer(commands, { file, run, isSearched, found });
  return foundSentences(found);
}

async function askKind(file: string): Promise<LargestKind> {
  const { t } = vscode.l10n;
  const about: Readonly<Record<LargestKind, readonly [label: string, description: string]>> = {
    sequence: [t('Longest sequence'), t('tokens')],
    'micro-batch': [t('Largest micro-batch'), t('sequences')],
    layers: [t('Most layers'), t('of the same width')],
    'lora-rank': [t('Largest LoRA rank'), t('adapters on the layers that the files name, else on all linear ones')],
    experts: [t('Most experts'), t('of a model that has some')],
    'fewest-gpus': [t('Fewest GPUs'), t('what the files leave open is chosen again')],
  };
  const items = largestKinds.map((kind) => ({ label: about[kind][0], description: about[kind][1], what: kind }));
  const picked = await showQuickPick(items, {
    title: t('The most that fits of {0}', displayPath(file)),
    placeHolder: t('What is to be the most'),
  });
  if (picked === undefined) throw new CancelledError();
  return picked.what;
}

function foundSentences(found: Largest): string[] {
  const { t } = vscode.l10n;
  const limit = found.plan?.limit ?? found.next?.limit;
  const [next, doubtful] = [nextText(found), mayFitText(found)];
  return [
    say(largestReport(found).headline, t),
    ...(limit === undefined ? [] : [t('Limit: {0}', say(limitText(limit), t))]),
    ...(next === null ? [] : [t('Next: {0}', say(next, t))]),
    ...(doubtful === null ? [] : [t('May fit: {0}', say(doubtful, t))]),
  ];
}

/** A notification, with what can be done with the size. */
function offer(commands: LargestCommands, asked: FoundSize): void {
  const { file, isSearched, found } = asked;
  const { t } = vscode.l10n;
  const [details, attempt, search] = [t('Details'), t('Plan with it'), t('Search layouts too')];
  const write = t('Write into {0}', targetName(commands, file));
  const sets = foundSets(found);
  const isTried = sets !== null && tryable(commands, file, sets) !== null;
  const answers = [...(isTried ? [attempt] : []), ...(sets === null ? [] : [write]), details, ...(isSearched ? [] : [search])];
  void showInformationMessage(`${foundSentences(found).join('. ')}.`, ...answers).then((answer) =>
    runCommand(commands.log, 'terapipe.findLargest', async () => {
      if (answer === attempt) await apply(commands, asked, 'try');
      if (answer === write) await apply(commands, asked, 'write');
      if (answer === search) await findLargestCommand(commands, file, found.what, undefined, 'search');
      if (answer === details) await commands.reports.show(t('The most that fits'), file, largestReport(found));
    }),
  );
}

function targetName({ sessions }: LargestCommands, file: string): string {
  return sessions.get(file)?.format === 'terapipe' ? uriBaseName(vscode.Uri.parse(file)) : 'terapipe.json';
}

/** Tries a size, or writes it. @throws ExpectedError `largest-no-key` where no key sets it, or it cannot be tried. */
async function apply(commands: LargestCommands, { file, run, found }: FoundSize, act: Act): Promise<void> {
  const session = await settled(commands, file);
  const sets = foundSets(found);
  if (sets === null) throw noKey();
  if (JSON.stringify(session.run) !== JSON.stringify(run))
    throw new ExpectedError('what-if-outdated', sentence`The config changed since this size was found`, sentence`find it again`);
  if (act === 'write') {
    const { format, plan } = session;
    await setInConfig(commands, session, format === 'terapipe' || plan === null ? sets : overridesForNewFile(run, sets, plan));
    return;
  }
  const tried = tryable(commands, file, sets);
  if (tried === null) throw noKey();
  if (tried.kind === 'what-if') {
    commands.panels.open(file, { tab: 'memory', candidate: null });
    await commands.whatIfs.attempt(file, tried.sets);
    return;
  }
  for (const [key, value] of tried.chosen) await commands.scenarios.choose(file, key, value);
  await commands.sessions.replan(file, 'choose');
}

function noKey(): ExpectedError {
  return new ExpectedError(
    'largest-no-key',
    sentence`No setting that can be tried or written has this size`,
    sentence`change it in the files of the run`,
  );
}

/** The settings of a size, and of the layout that a search chose with it; null where no key has the size, or none fits. */
function foundSets({ sets }: Largest): readonly ConfigSet[] | null {
  if (sets === null || sets.length === 0) return null;
  return sets.map((set) => {
    const at = set.indexOf('=');
    return [set.slice(0, at), valueOfText(set.slice(at + 1))];
  });
}

/** Words of settings are written without quotes. */
function valueOfText(text: string): ConfigSet[1] {
  try {
    return JSON.parse(text) as ConfigSet[1];
  } catch {
    return text;
  }
}

type Attempt =
  | { readonly kind: 'what-if'; readonly sets: readonly WhatIfSet[] }
  | { readonly kind: 'scenario'; readonly chosen: readonly (readonly [ChosenKey, number])[] };

/** Whether the model has positions for a sequence: a longer one is not planned for unless a file sets it. */
function hasPositions({ model }: Run, sets: readonly ConfigSet[]): boolean {
  const most = model.maxPositions.value ?? Infinity;
  return sets.every(([key, value]) => key !== 'training.sequenceLength' || Number(value) <= most);
}

/** How a size is tried without writing it: as a what-if, or as what the config is planned for, where no file sets that. */
function tryable({ sessions }: LargestCommands, file: string, sets: readonly ConfigSet[]): Attempt | null {
  const keys: ReadonlySet<string> = new Set([...whatIfKeys, 'training.globalBatch']);
  if (sets.every(([key]) => keys.has(key))) return { kind: 'what-if', sets: sets as readonly WhatIfSet[] };
  const run = sessions.get(file)?.run ?? null;
  if (run === null || !hasPositions(run, sets)) return null;
  const given = new Map<string, unknown>([
    ['training.sequenceLength', run.training.sequenceLength],
    ['training.globalBatch', run.training.globalBatch],
    ['cluster.nodes', run.nodes],
    ['cluster.gpusPerNode', run.gpusPerNode],
  ]);
  if (!sets.every(([key]) => given.has(key) && given.get(key) === undefined)) return null;
  return { kind: 'scenario', chosen: sets as readonly (readonly [ChosenKey, number])[] };
}

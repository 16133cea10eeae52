import * as vscode from 'vscode';
import { CancelledError } from '../../core/errors';
import { formatCount } from '../../core/format';
import type { Plan } from '../../core/planner/plan';
import type { Place } from '../../core/domain/located';
import { say } from '../../core/sentence';
import { toRange } from '../language/ranges';
import { showInputBox, showQuickPick } from '../platform/ui';
import { askedAtOnce, isCount, scenarioChoices, scenarioReason, type ScenarioChoice } from '../../host/sessions/scenario-choices';
import type { Scenarios } from '../../host/sessions/scenarios';
import type { SessionState } from '../../host/sessions/session-state';
import { changeConfig } from './change-config';
import { chooseClusterCommand } from './choose-cluster';
import { settled, findTarget, type ConfigCommands } from './target';

export interface ScenarioCommands extends ConfigCommands {
  readonly scenarios: Scenarios;
}

/**
 * Changes what a config is planned for: GPU, nodes, sequence length or batch. A value that a file sets is shown there; another goes into
 * the shown `terapipe.json`, or is remembered for the config in the workspace.
 * @param wanted `nodes`, `sequence` and `batch` ask for that number at once; `gpus` asks which of GPU and counts.
 */
export async function changeScenarioCommand(commands: ScenarioCommands, argument: unknown, wanted?: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const state = await settled(commands, file);
  const { plan, run } = state;
  if (plan === null || run === null) {
    await chooseClusterCommand(commands, vscode.Uri.parse(file));
    return;
  }
  const choices = scenarioChoices(run, plan);
  const asked = askedAtOnce.get(wanted);
  const choice =
    asked === undefined
      ? await askWhat(plan, wanted === 'gpus' ? choices.filter(({ key }) => key.startsWith('cluster.')) : choices)
      : choices.find(({ key }) => key === asked);
  if (choice === undefined || choice === null) {
    await chooseClusterCommand(commands, vscode.Uri.parse(file));
    return;
  }
  if (choice.given?.source.kind === 'file') {
    await reveal(choice.given.source.place, state);
    return;
  }
  const value = await askValue(choice, commands.scenarios.chosenFor(file)[choice.key] !== undefined);
  if (state.format === 'terapipe') {
    await changeConfig(vscode.Uri.parse(file), [{ path: choice.key.split('.'), value: value ?? undefined }]);
    return;
  }
  await commands.scenarios.choose(file, choice.key, value);
  await commands.sessions.replan(file, 'choose');
}

/** @returns null for the GPU. */
async function askWhat(plan: Plan, choices: readonly ScenarioChoice[]): Promise<ScenarioChoice | null> {
  const reason = (key: string): string => say(scenarioReason(plan, key), vscode.l10n.t);
  const items = [
    { label: 'GPU', description: plan.request.cluster.gpu.name, detail: reason('cluster.gpu'), choice: null },
    ...choices.map((choice) => ({
      label: say(choice.name, vscode.l10n.t),
      description: formatCount(choice.value),
      detail: reason(choice.key),
      choice,
    })),
  ];
  const picked = await showQuickPick(items, {
    title: vscode.l10n.t('Change what is planned for'),
    placeHolder: vscode.l10n.t('What to change'),
    matchOnDescription: true,
  });
  if (picked === undefined) throw new CancelledError();
  return picked.choice;
}

/** @returns null: assumed again. */
async function askValue({ name, value, maximum }: ScenarioChoice, isChosen: boolean): Promise<number | null> {
  const range = vscode.l10n.t('A whole number from 1 to {0}', formatCount(maximum));
  const answer = await showInputBox({
    title: say(name, vscode.l10n.t),
    value: String(value),
    ignoreFocusOut: true,
    prompt: isChosen ? vscode.l10n.t('{0}; empty: assumed again', range) : range,
    validateInput: (text) => ((text.trim() === '' && isChosen) || isCount(text, maximum) ? null : range),
  });
  if (answer === undefined) throw new CancelledError();
  return answer.trim() === '' ? null : Number(answer);
}

async function reveal(place: Place, { texts }: SessionState): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.parse(place.file), { selection: toRange(place, texts) });
}

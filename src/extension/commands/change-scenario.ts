import * as vscode from 'vscode';
import { CancelledError } from '../../core/errors';
import { formatCount } from '../../core/format';
import type { Run } from '../../core/run/run';
import type { Plan } from '../../core/planner/plan';
import { scenarioNames } from '../../core/plan-request/scenario';
import type { Located, Place } from '../../core/domain/located';
import { say } from '../../core/sentence';
import { toRange } from '../language/ranges';
import { showInputBox, showQuickPick } from '../platform/ui';
import type { ChosenKey, Scenarios } from '../../host/sessions/scenarios';
import type { SessionState } from '../../host/sessions/session-state';
import { changeConfig } from './change-config';
import { chooseClusterCommand } from './choose-cluster';
import { settled, findTarget, type ConfigCommands } from './target';

export interface ScenarioCommands extends ConfigCommands {
  readonly scenarios: Scenarios;
}

interface Choice {
  readonly key: ChosenKey;
  readonly label: string;
  readonly value: number;
  readonly maximum: number;
  /** Where a file sets it; null: it is assumed. */
  readonly given: Located<number> | undefined;
}

/** What is asked for without asking what first, by the second argument of the command. */
const askedAtOnce: ReadonlyMap<unknown, ChosenKey> = new Map([
  ['nodes', 'cluster.nodes'],
  ['sequence', 'training.sequenceLength'],
  ['batch', 'training.globalBatch'],
] as const);

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

function scenarioChoices({ nodes, gpusPerNode, training }: Run, { request }: Plan): readonly Choice[] {
  const { cluster, training: planned } = request;
  const { sequenceLength, globalBatch } = planned;
  const choice = (key: ChosenKey, value: number, maximum: number, given: Located<number> | undefined): Choice => ({
    key,
    label: say(scenarioNames[key], vscode.l10n.t),
    value,
    maximum,
    given,
  });
  return [
    choice('cluster.nodes', cluster.nodes, 100_000, nodes),
    choice('cluster.gpusPerNode', cluster.gpusPerNode, 1024, gpusPerNode),
    choice('training.sequenceLength', sequenceLength, 100_000_000, training.sequenceLength),
    choice('training.globalBatch', globalBatch, 10_000_000, training.globalBatch),
  ];
}

/** @returns null for the GPU. */
async function askWhat({ request }: Plan, choices: readonly Choice[]): Promise<Choice | null> {
  const scenarioReason = (key: string): string => {
    const assumption = request.assumptions.find((one) => one.key === key);
    return assumption === undefined ? vscode.l10n.t('in the files') : vscode.l10n.t('assumed: {0}', say(assumption.reason, vscode.l10n.t));
  };
  const items = [
    { label: 'GPU', description: request.cluster.gpu.name, detail: scenarioReason('cluster.gpu'), choice: null },
    ...choices.map((choice) => ({
      label: choice.label,
      description: formatCount(choice.value),
      detail: scenarioReason(choice.key),
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
async function askValue({ label, value, maximum }: Choice, isChosen: boolean): Promise<number | null> {
  const range = vscode.l10n.t('A whole number from 1 to {0}', formatCount(maximum));
  const answer = await showInputBox({
    title: label,
    value: String(value),
    ignoreFocusOut: true,
    prompt: isChosen ? vscode.l10n.t('{0}; empty: assumed again', range) : range,
    validateInput: (text) => {
      const number = Number(text.trim());
      const isEmpty = text.trim() === '' && isChosen;
      return isEmpty || (/^\d{1,9}$/.test(text.trim()) && number >= 1 && number <= maximum) ? null : range;
    },
  });
  if (answer === undefined) throw new CancelledError();
  return answer.trim() === '' ? null : Number(answer);
}

async function reveal(place: Place, { texts }: SessionState): Promise<void> {
  await vscode.window.showTextDocument(vscode.Uri.parse(place.file), { selection: toRange(place, texts) });
}

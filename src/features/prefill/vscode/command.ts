import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { relativeRegret, type PrefillQuestion } from '../core/answer';
import { formatDuration, formatPercent } from '../../../core/format';
import { isRecord } from '../../../core/records';
import { say, sentence } from '../../../core/sentence';
import { showInputBox, withProgress } from '../../../extension/platform/ui';
import { usualPrefill, type Prefills } from '../host/prefills';
import type { TimelinePanels } from '../../../extension/views/timeline-panels';
import { settled, findTarget, type ConfigCommands } from '../../../extension/commands/target';

export interface PrefillCommands extends ConfigCommands {
  readonly prefills: Prefills;
  readonly panels: TimelinePanels;
}

const longestPrompt = 2 ** 24;
const mostStages = 1024;

/**
 * Cuts a prompt into the chunks with which its first token is ready soonest, in the Prefill tab of a config.
 * @param asked `{ tokens, stages }`; asked for where it is left out. @returns what was found, a sentence each.
 * @throws ExpectedError of the planner; CancelledError.
 */
export async function planPrefillCommand(commands: PrefillCommands, argument: unknown, asked: unknown): Promise<readonly string[]> {
  const file = await findTarget(commands.shown, argument);
  const { run, plan, error } = await settled(commands, file);
  if (run === null) throw error ?? new ExpectedError('no-plan', sentence`There is no model to serve`, sentence`fix the config first`);
  const usual = usualPrefill(run, plan?.request.layout.pipeline ?? null);
  const wanted = readAsked(asked) ?? (await askedFor(commands.prefills.state(file)?.answer?.asked ?? usual));
  commands.panels.open(file, { tab: 'prefill', candidate: null });
  const { prefill, engines } = await withProgress(vscode.l10n.t('Planning the prompt'), () => commands.prefills.plan(file, wanted));
  return [
    vscode.l10n.t('Time to first token {0} with {1} chunks', formatDuration(prefill.timeToFirstTokenMs), prefill.chunks.length),
    ...prefill.rules.map((rule) =>
      vscode.l10n.t(
        '{0}: {1} slower',
        say(rule.name, vscode.l10n.t),
        formatPercent(relativeRegret(rule.timeToFirstTokenMs, prefill.timeToFirstTokenMs)),
      ),
    ),
    ...engines.map(({ title, regret }) => vscode.l10n.t('{0}: {1} slower', title, formatPercent(regret))),
  ];
}

function readAsked(asked: unknown): PrefillQuestion | null {
  if (!isRecord(asked)) return null;
  const { tokens, stages } = asked;
  return isWhole(tokens, longestPrompt) && isWhole(stages, mostStages) ? { tokens, stages } : null;
}

function isWhole(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}

async function askedFor({ tokens, stages }: PrefillQuestion): Promise<PrefillQuestion> {
  const title = vscode.l10n.t('Plan prefill');
  const given = async (prompt: string, value: number, most: number): Promise<number> => {
    const text = await showInputBox({
      title,
      prompt,
      value: String(value),
      validateInput: (written) => (isWhole(Number(written), most) ? null : vscode.l10n.t('A whole number from 1 to {0}', most)),
    });
    if (text === undefined) throw new CancelledError();
    return Number(text);
  };
  return {
    tokens: await given(vscode.l10n.t('Tokens of the prompt'), tokens, longestPrompt),
    stages: await given(vscode.l10n.t('Stages of the pipeline'), stages ?? 1, mostStages),
  };
}

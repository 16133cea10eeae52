import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { comparedStep } from '../core/comparison';
import { formatDuration, formatPercent } from '../../../core/format';
import type { Plan } from '../../../core/planner/plan';
import type { RehearsalDesign, Scale } from '../core/design';
import { isRightGradient } from '../core/gradient-error';
import type { Rehearsal } from '../core/result';
import type { PreparedRehearsal } from '../core/prepare';
import { rehearsalRoom } from '../profiler/run';
import type { PlannerClient } from '../../../host/planner/client';
import { say, sentence } from '../../../core/sentence';
import { measuredAnswer } from '../../compare/host/answers';
import { showInformationMessage, showQuickPick, showWarningMessage, withProgress } from '../../../extension/platform/ui';
import { requireTrust } from '../../../extension/sessions/profiles';
import { rehearsedSteps, type Rehearsals } from './rehearsals';
import { displayPath } from '../../../extension/sessions/sources';
import type { CompareCommands } from '../../compare/vscode/command';
import { settled, findTarget } from '../../../extension/commands/target';

export interface RehearseCommands extends CompareCommands {
  readonly rehearsals: Rehearsals;
  readonly prepareRehearsal: PlannerClient['prepareRehearsal'];
}

/** Longer than this is asked for. */
const longMs = 60_000;
const asPlanned: Scale = { layers: null, hidden: null, sequence: null, batch: null, stages: null };

/**
 * Runs the step of a config's plan on this machine, with a notification that can cancel it, and compares it with its prediction in the
 * Compare tab.
 * @returns what the comparison found, a sentence each.
 * @throws ExpectedError `profile-untrusted`, `rehearsal-*`, or why there is no plan; CancelledError.
 */
export async function rehearseCommand(commands: RehearseCommands, argument: unknown): Promise<readonly string[]> {
  requireTrust();
  const file = await findTarget(commands.shown, argument);
  const { plan, error } = await settled(commands, file);
  if (plan === null) throw error ?? new ExpectedError('no-plan', sentence`There is no plan to rehearse`, sentence`fix the config first`);
  const design = await designFor(commands, plan);
  const rehearsal = await rehearseWithProgress(commands, file, design);
  await show(commands, file, plan, rehearsal);
  showResult(rehearsal);
  return commands.comparisons.state(file)?.answer?.sentences.map((sentence) => say(sentence, vscode.l10n.t)) ?? [];
}

interface Choice extends vscode.QuickPickItem {
  readonly design: RehearsalDesign;
}

/** What to run: what does not fit, or takes longer than a minute, is asked for. */
async function designFor({ prepareRehearsal }: RehearseCommands, plan: Plan): Promise<RehearsalDesign> {
  const prepared = (scale: Scale): Promise<PreparedRehearsal> =>
    prepareRehearsal(plan, { scale, steps: rehearsedSteps, clock: null }, rehearsalRoom());
  const { design, estimatedMs, fits } = await prepared(asPlanned);
  if (fits && estimatedMs <= longMs) return design;
  const small = await prepared(smallScale(plan));
  const choices: Choice[] = [
    {
      label: vscode.l10n.t('Smaller: {0}', sizeText(small.design)),
      description: vscode.l10n.t('about {0}', formatDuration(small.estimatedMs)),
      design: small.design,
    },
    ...(fits
      ? [
          {
            label: vscode.l10n.t('As planned: {0}', sizeText(design)),
            description: vscode.l10n.t('about {0}', formatDuration(estimatedMs)),
            design,
          },
        ]
      : []),
  ];
  const picked = await showQuickPick(choices, {
    title: vscode.l10n.t('Rehearse this plan'),
    placeHolder: fits
      ? vscode.l10n.t('As planned it takes long on this machine')
      : vscode.l10n.t('As planned it does not fit into the memory of this machine'),
  });
  if (picked === undefined) throw new CancelledError();
  return picked.design;
}

/** A layer or two of width 256 for each chunk, short sequences, as few as fill the pipeline. */
function smallScale({ request }: Plan): Scale {
  const { model, training, layout } = request;
  return {
    layers: null,
    hidden: Math.min(model.hidden, 256),
    sequence: Math.min(training.sequenceLength, 512),
    batch: Math.min(Math.max(1, Math.floor(training.globalBatch / layout.data)), 2 * layout.pipeline * training.microBatch),
    stages: null,
  };
}

function sizeText({ layers, shape, tokens, batch }: RehearsalDesign): string {
  return vscode.l10n.t('{0} layers of width {1}, {2} sequences of {3} tokens', layers, shape.hidden, batch, tokens);
}

function rehearseWithProgress({ rehearsals }: RehearseCommands, file: string, design: RehearsalDesign): Thenable<Rehearsal> {
  return withProgress(vscode.l10n.t('Rehearsing {0}', design.title), async (progress, token) => {
    const subscription = token.onCancellationRequested(rehearsals.cancel);
    let reported = 0;
    try {
      return await rehearsals.run(file, design, ({ doing, fraction }) => {
        progress.report({ message: doing, increment: 100 * Math.max(0, fraction - reported) });
        reported = Math.max(reported, fraction);
      });
    } finally {
      subscription.dispose();
    }
  });
}

/** Measured compared with predicted, in the Compare tab. */
async function show({ panels, comparisons }: RehearseCommands, file: string, plan: Plan, rehearsal: Rehearsal): Promise<void> {
  const name = vscode.l10n.t('rehearsed on this machine');
  const compared = comparedStep(rehearsal, plan, name);
  if (compared === null) return;
  panels.open(file, { tab: 'compare', candidate: null });
  const files = { config: displayPath(file), run: name };
  await comparisons.start(file, {
    kind: 'rehearsed',
    name,
    answer: (id) => {
      const answer = measuredAnswer(id, compared.comparison, compared.plan, files);
      return { ...answer, sentences: [...answer.sentences, ...compared.sentences] };
    },
  });
}

/** What was found, in a sentence. */
function showResult({ measured, predicted, gradients, error, design }: Rehearsal): void {
  if (error !== null)
    throw new ExpectedError('rehearsal-partial', sentence`The rehearsal stopped: ${error}`, sentence`the steps before it are shown`);
  if (measured === null || predicted === null) return;
  const times = [
    formatDuration(measured.makespanMs),
    formatDuration(predicted.makespanMs),
    formatPercent(measured.makespanMs / predicted.makespanMs - 1),
  ];
  const differs = design.notes.length === 0 ? '' : ` ${design.notes.join('; ')}.`;
  if (isRightGradient(gradients)) {
    const text = vscode.l10n.t('Gradients are those of the unsliced step. A step took {0}, predicted were {1} ({2}).', ...times);
    void showInformationMessage(text + differs);
  } else {
    void showWarningMessage(
      vscode.l10n.t('Gradients are not those of the unsliced step: {0} is off by {1}.', gradients?.tensor ?? '', gradients?.error ?? NaN),
    );
  }
}

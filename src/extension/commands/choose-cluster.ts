import * as vscode from 'vscode';
import { gpuNames } from '../../core/cluster/groups';
import { gpuPresets, type GpuPresetName } from '../../core/cluster/presets';
import { CancelledError } from '../../core/errors';
import { say } from '../../core/sentence';
import { plainClusterChanges } from '../../host/sessions/cluster-changes';
import { gpuChoices, isCount, mostGpusPerNode, mostNodes } from '../../host/sessions/scenario-choices';
import { planDefaults, writePlanDefaults } from '../platform/settings';
import { showInputBox, showQuickPick } from '../platform/ui';
import { changeConfig } from './change-config';
import { toUri, type ConfigCommands } from './target';

/**
 * Asks for GPU, nodes and GPUs per node, and writes them into the shown `terapipe.json` (in place of groups of nodes), or into the settings
 * when a bare model config (or nothing) is shown.
 */
export async function chooseClusterCommand(commands: ConfigCommands, argument: unknown): Promise<void> {
  const { sessions, shown, log } = commands;
  const uri = toUri(argument);
  const file = uri === null ? shown.file() : await shown.findConfig(uri);
  const session = file === null ? undefined : sessions.get(file);
  const current = session?.plan?.request.cluster;
  const defaults = planDefaults(file === null ? undefined : vscode.Uri.parse(file), log);
  const gpu = await askGpu(current === undefined ? defaults.gpu : gpuNames(current));
  const nodes = await askCount(vscode.l10n.t('Nodes'), current?.nodes ?? defaults.nodes ?? 1, mostNodes);
  const gpusPerNode = await askCount(
    vscode.l10n.t('GPUs in each node'),
    current?.gpu.name === gpu ? current.gpusPerNode : gpuPresets[gpu].gpusPerNode,
    mostGpusPerNode,
  );
  if (session?.format !== 'terapipe') {
    await writePlanDefaults({ gpu, nodes, gpusPerNode });
    return;
  }
  await changeConfig(vscode.Uri.parse(session.file), plainClusterChanges({ gpu, nodes, gpusPerNode }));
}

async function askGpu(current: string): Promise<GpuPresetName> {
  const items = gpuChoices(current).map(({ name, about, source }) => ({
    name,
    label: name,
    description: say(about, vscode.l10n.t),
    detail: source,
    picked: name === current,
  }));
  const picked = await showQuickPick(items, {
    title: vscode.l10n.t('Choose GPU'),
    placeHolder: vscode.l10n.t('GPU to plan for; now {0}', current),
    matchOnDescription: true,
    ignoreFocusOut: true,
  });
  if (picked === undefined) throw new CancelledError();
  return picked.name;
}

async function askCount(title: string, current: number, maximum: number): Promise<number> {
  const answer = await showInputBox({
    title,
    value: String(current),
    ignoreFocusOut: true,
    prompt: vscode.l10n.t('A whole number from 1 to {0}', maximum),
    validateInput: (text) => (isCount(text, maximum) ? null : vscode.l10n.t('A whole number from 1 to {0}', maximum)),
  });
  if (answer === undefined) throw new CancelledError();
  return Number(answer);
}

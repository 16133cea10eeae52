import * as vscode from 'vscode';
import { gpuNames } from '../../core/cluster/groups';
import { gpuPresetNames, gpuPresets, type GpuPresetName } from '../../core/cluster/presets';
import { CancelledError } from '../../core/errors';
import { formatBytes, formatNumber } from '../../core/format';
import { plainClusterChanges } from '../sessions/cluster-changes';
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
  const nodes = await askCount(vscode.l10n.t('Nodes'), current?.nodes ?? defaults.nodes ?? 1, 100_000);
  const gpusPerNode = await askCount(
    vscode.l10n.t('GPUs in each node'),
    current?.gpu.name === gpu ? current.gpusPerNode : gpuPresets[gpu].gpusPerNode,
    1024,
  );
  if (session?.format !== 'terapipe') {
    await writePlanDefaults({ gpu, nodes, gpusPerNode });
    return;
  }
  await changeConfig(vscode.Uri.parse(session.file), plainClusterChanges({ gpu, nodes, gpusPerNode }));
}

async function askGpu(current: string): Promise<GpuPresetName> {
  const items = gpuPresetNames.map((name) => {
    const { gpu } = gpuPresets[name];
    const half = gpu.peakTflops.fp16 > gpu.peakTflops.bf16 ? 'fp16' : 'bf16';
    return {
      name,
      label: name,
      description: vscode.l10n.t(
        '{0}, {1} TFLOP/s {2}, {3} TB/s',
        formatBytes(gpu.memoryBytes),
        formatNumber(gpu.peakTflops[half]),
        half,
        formatNumber(gpu.memoryTBps),
      ),
      detail: gpu.source,
      picked: name === current,
    };
  });
  const picked = await showQuickPick(
    [...items].sort((a, b) => Number(b.picked) - Number(a.picked)),
    {
      title: vscode.l10n.t('Choose GPU'),
      placeHolder: vscode.l10n.t('GPU to plan for; now {0}', current),
      matchOnDescription: true,
      ignoreFocusOut: true,
    },
  );
  if (picked === undefined) throw new CancelledError();
  return picked.name;
}

async function askCount(title: string, current: number, maximum: number): Promise<number> {
  const answer = await showInputBox({
    title,
    value: String(current),
    ignoreFocusOut: true,
    prompt: vscode.l10n.t('A whole number from 1 to {0}', maximum),
    validateInput: (text) =>
      /^\d{1,6}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= maximum
        ? null
        : vscode.l10n.t('A whole number from 1 to {0}', maximum),
  });
  if (answer === undefined) throw new CancelledError();
  return Number(answer);
}

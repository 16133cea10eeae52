import * as vscode from 'vscode';
import { instanceNames, instances } from '../../../core/cluster/instances';
import { gpuPresetNames, gpuPresets } from '../../../core/cluster/presets';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { formatBytes, formatCount } from '../../../core/format';
import { toSearchProblem } from '../../../core/layout-search/problem';
import { without } from '../../../core/records';
import { say, sentence } from '../../../core/sentence';
import { findTarget, settled, type ConfigCommands } from '../../../extension/commands/target';
import { machinePrices, trainingCost } from '../../../extension/platform/settings';
import { showManyPick, withAbort } from '../../../extension/platform/ui';
import type { Profiles } from '../../../extension/sessions/profiles';
import { displayPath } from '../../../extension/sessions/sources';
import type { ReportDocuments } from '../../../extension/views/report-documents';
import type { PlannerClient } from '../../../host/planner/client';
import type { Scenarios } from '../../../host/sessions/scenarios';
import { machineNamed, parseMachines, usualMachines, type Machine } from '../core/machines';
import { planMachines } from '../core/plan-machines';
import { gpuHourPrice, toPrices } from '../core/prices';
import { rankMachines } from '../core/rank';
import { whereReport } from '../core/report';

export interface WhereCommands extends ConfigCommands {
  /** The planner of searches: no plan waits for it. */
  readonly searcher: PlannerClient;
  readonly profiles: Profiles;
  readonly scenarios: Scenarios;
  readonly reports: ReportDocuments;
}

/**
 * Plans a config on several GPUs and machine types, and shows how they rank by cost or GPU hours.
 * @param on as `terapipe where --on` takes it; asked for where it is left out. @returns what is proposed.
 * @throws ExpectedError of the names and prices, or why there is no model; CancelledError.
 */
export async function whereCommand(commands: WhereCommands, argument: unknown, on: unknown): Promise<readonly string[]> {
  const { t } = vscode.l10n;
  const { searcher, profiles, reports, scenarios, shown } = commands;
  const file = await findTarget(shown, argument);
  const { run, error } = await settled(commands, file);
  if (run === null) throw error ?? new ExpectedError('no-plan', sentence`There is no model to plan`, sentence`fix the config first`);
  const uri = vscode.Uri.parse(file);
  const prices = toPrices(machinePrices(uri));
  const machines = typeof on === 'string' ? parseMachines(on) : await askMachines(file, prices);
  const defaults = without(scenarios.resolveDefaults(file), 'kept');
  const found = await profiles.found(run.file);
  const { planned, unplanned } = await withAbort(t('Planning on each machine'), (signal, report) =>
    planMachines(run, machines, {
      free: null,
      search: async (placed, free) => {
        const request = await searcher.resolve({ run: placed, defaults, found }, { signal });
        return searcher.search(toSearchProblem(placed, request, free), { signal });
      },
      onMachine: ({ name }, index) => report(index / machines.length, t('{0}, {1} of {2}', name, index + 1, machines.length)),
    }),
  );
  const tokens = run.training.tokens?.value ?? trainingCost(uri).tokens;
  const ranked = rankMachines(planned, (machine) => gpuHourPrice(prices, machine), { tokens, budget: null, days: null });
  const withoutPrices =
    prices.size > 0 ? null : sentence`Machines rank by GPU hours; with prices in the setting terapipe.cost.prices they rank by cost.`;
  const answer = whereReport({ ranked, unplanned, tokens, isAll: true, withoutPrices });
  await reports.show(t('Where to train'), file, answer);
  return [say(answer.headline, t)];
}

async function askMachines(file: string, prices: ReadonlyMap<string, number>): Promise<readonly Machine[]> {
  const { t } = vscode.l10n;
  const { currency } = trainingCost(vscode.Uri.parse(file));
  const usual = new Set<string>(usualMachines);
  const priceText = (machine: Machine): string[] => {
    const price = gpuHourPrice(prices, machine);
    return price === null ? [] : [t('{0} {1} a GPU hour', price, currency)];
  };
  const gpus = gpuPresetNames.map((name) => {
    const machine = machineNamed(name);
    const { memoryBytes } = gpuPresets[name].gpu;
    const description = [formatBytes(memoryBytes), ...priceText(machine)].join(', ');
    return { label: name, description, picked: usual.has(name), machine };
  });
  const clouds = instanceNames.map((name) => {
    const machine = machineNamed(name);
    const { gpu, gpusPerNode } = instances[name];
    return { label: name, description: [`${formatCount(gpusPerNode)} x ${gpu}`, ...priceText(machine)].join(', '), machine };
  });
  const picked = await showManyPick([...gpus, ...clouds], {
    title: t('Where to train {0}', displayPath(file)),
    placeHolder: t('GPUs and machine types to plan on'),
    matchOnDescription: true,
  });
  if (picked === undefined || picked.length === 0) throw new CancelledError();
  return picked.map(({ machine }) => machine);
}

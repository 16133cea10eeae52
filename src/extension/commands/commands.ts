import * as vscode from 'vscode';
import { pageCommandIds, type PageCommandId } from '../../protocol/page-keys';
import type { PageFocusKeeper } from '../views/page-focus';
import { acceptLayoutCommand, applyLayoutCommand, type ApplyCommands } from './apply-layout';
import { calibrateCommand, type CalibrateCommands } from '../../features/compare/vscode/calibrate';
import { changeScenarioCommand, type ScenarioCommands } from './change-scenario';
import { chooseClusterCommand } from './choose-cluster';
import { beginElasticCommand } from '../../features/elastic/vscode/begin';
import { compareWithCommand } from '../../features/compare/vscode/command';
import { createConfigCommand } from './create-config';
import { exportLayoutCommand, type ExportLayoutCommands } from './export-layout';
import { openSampleCommand, startModelCommand } from './open-sample';
import { planCommand } from './plan';
import { daysCommand, type DaysCommands } from '../../features/days/vscode/command';
import { findLargestCommand, type LargestCommands } from '../../features/largest/vscode/command';
import { explainOomCommand, type OomCommands } from '../../features/oom/vscode/command';
import { exportSnapshotCommand } from '../../features/oom/vscode/export-snapshot';
import { whereCommand, type WhereCommands } from '../../features/where/vscode/command';
import { planPrefillCommand, type PrefillCommands } from '../../features/prefill/vscode/command';
import { importProfileCommand } from './import-profile';
import { profileCommand, type ProfileCommands } from './profile';
import { rehearseCommand, type RehearseCommands } from '../../features/rehearsal/vscode/command';
import { runHereCommand } from './run-here';
import { exportPlanCommand } from './save';
import { cancelSearchCommand, openLayoutCommand, searchLayoutCommand } from './search-layout';
import { findTarget, findTimelineTarget } from './target';

/** Every command we contribute, with what it takes: a file (URI, path or tree row) where it acts on one. */
export interface Commands extends Readonly<Record<PageCommandId, () => void>> {
  readonly 'terapipe.plan': (config?: unknown) => Promise<void>;
  readonly 'terapipe.openTimeline': (config?: unknown) => Promise<void>;
  readonly 'terapipe.openElastic': (config?: unknown) => Promise<void>;
  readonly 'terapipe.beginElastic': (config?: unknown, asked?: unknown) => Promise<void>;
  readonly 'terapipe.openLayout': (config?: unknown) => Promise<void>;
  readonly 'terapipe.searchLayout': (config?: unknown) => Promise<void>;
  readonly 'terapipe.cancelSearch': (config?: unknown) => Promise<void>;
  readonly 'terapipe.applyLayout': (config?: unknown) => Promise<void>;
  readonly 'terapipe.acceptLayout': (diff?: unknown) => Promise<void>;
  readonly 'terapipe.discardLayout': (diff?: unknown) => Promise<void>;
  readonly 'terapipe.exportLayout': (config?: unknown, target?: unknown) => Promise<void>;
  readonly 'terapipe.compareWith': (config?: unknown, other?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.createConfig': (model?: unknown) => Promise<vscode.Uri>;
  readonly 'terapipe.chooseCluster': (config?: unknown) => Promise<void>;
  readonly 'terapipe.changeScenario': (config?: unknown, wanted?: unknown) => Promise<void>;
  readonly 'terapipe.calibrate': (config?: unknown, measured?: unknown) => Promise<void>;
  readonly 'terapipe.openSample': (folder?: unknown) => Promise<void>;
  readonly 'terapipe.startModel': (model?: unknown) => Promise<void>;
  readonly 'terapipe.exportPlan': (config?: unknown) => Promise<void>;
  readonly 'terapipe.profile': (config?: unknown) => Promise<void>;
  readonly 'terapipe.cancelProfile': () => void;
  readonly 'terapipe.importProfile': (config?: unknown) => Promise<void>;
  readonly 'terapipe.rehearse': (config?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.cancelRehearsal': () => void;
  readonly 'terapipe.runHere': (config?: unknown, asked?: unknown) => Promise<void>;
  readonly 'terapipe.planPrefill': (config?: unknown, asked?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.findLargest': (config?: unknown, what?: unknown, act?: unknown, layout?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.where': (config?: unknown, on?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.days': (config?: unknown, tokens?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.explainOom': (log?: unknown, config?: unknown) => Promise<readonly string[]>;
  readonly 'terapipe.exportSnapshot': (config?: unknown) => Promise<void>;
  readonly 'terapipe.refreshExplorer': () => void;
  readonly 'terapipe.showLog': () => void;
  readonly 'terapipe.changeKeys': () => Promise<void>;
}

interface CommandServices
  extends
    ProfileCommands,
    ApplyCommands,
    ExportLayoutCommands,
    RehearseCommands,
    PrefillCommands,
    ScenarioCommands,
    CalibrateCommands,
    LargestCommands,
    WhereCommands,
    DaysCommands,
    OomCommands {
  readonly context: vscode.ExtensionContext;
  readonly refreshExplorer: () => void;
  readonly focus: PageFocusKeeper;
}

/** One row a command. */
export function createCommands(services: CommandServices): Commands {
  return {
    'terapipe.plan': (config) => planCommand(services, config),
    'terapipe.openTimeline': async (config) => services.panels.open(await findTimelineTarget(services.shown, config)),
    'terapipe.openElastic': async (config) =>
      services.panels.open(await findTarget(services.shown, config), { tab: 'elastic', candidate: null }),
    'terapipe.beginElastic': (config, asked) => beginElasticCommand(services, config, asked),
    'terapipe.openLayout': (config) => openLayoutCommand(services, config),
    'terapipe.searchLayout': (config) => searchLayoutCommand(services, config),
    'terapipe.cancelSearch': (config) => cancelSearchCommand(services, config),
    'terapipe.applyLayout': (config) => applyLayoutCommand(services, config),
    'terapipe.acceptLayout': (diff) => acceptLayoutCommand(services, diff),
    'terapipe.discardLayout': (diff) => services.diffs.discard(diff),
    'terapipe.exportLayout': (config, target) => exportLayoutCommand(services, config, null, target),
    'terapipe.compareWith': (config, other) => compareWithCommand(services, config, other),
    'terapipe.createConfig': (model) => createConfigCommand(services, model),
    'terapipe.chooseCluster': (config) => chooseClusterCommand(services, config),
    'terapipe.changeScenario': (config, wanted) => changeScenarioCommand(services, config, wanted),
    'terapipe.calibrate': (config, measured) => calibrateCommand(services, config, measured),
    'terapipe.openSample': (folder) => openSampleCommand(services.context, folder),
    'terapipe.startModel': (model) => startModelCommand(services, model),
    'terapipe.exportPlan': (config) => exportPlanCommand(services, config),
    'terapipe.profile': (config) => profileCommand(services, config),
    'terapipe.cancelProfile': services.profiles.cancel,
    'terapipe.importProfile': (config) => importProfileCommand(services, config),
    'terapipe.rehearse': (config) => rehearseCommand(services, config),
    'terapipe.cancelRehearsal': services.rehearsals.cancel,
    'terapipe.runHere': (config, asked) => runHereCommand(services, config, asked),
    'terapipe.planPrefill': (config, asked) => planPrefillCommand(services, config, asked),
    'terapipe.findLargest': (config, what, act, layout) => findLargestCommand(services, config, what, act, layout),
    'terapipe.where': (config, on) => whereCommand(services, config, on),
    'terapipe.days': (config, tokens) => daysCommand(services, config, tokens),
    'terapipe.explainOom': (log, config) => explainOomCommand(services, log, config),
    'terapipe.exportSnapshot': (config) => exportSnapshotCommand(services, config),
    'terapipe.refreshExplorer': services.refreshExplorer,
    'terapipe.showLog': () => services.log.show(),
    'terapipe.changeKeys': () => changeKeysCommand(services.context),
    ...pageCommands(services.focus),
  };
}

/** Those of pages go to the page with the focus. */
function pageCommands({ act }: PageFocusKeeper): Readonly<Record<PageCommandId, () => void>> {
  return Object.fromEntries(pageCommandIds.map((id) => [id, () => act(id)])) as Record<PageCommandId, () => void>;
}

/** Opens VS Code's list of keys at ours. */
async function changeKeysCommand({ extension }: vscode.ExtensionContext): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openGlobalKeybindings', `@ext:${extension.id}`);
}

import { gpuNames } from '../core/cluster/groups';
import { gpuPresets } from '../core/cluster/presets';
import type { JsonChange } from '../core/terapipe/change-json';
import { CancelledError } from '../core/errors';
import { formatCount } from '../core/format';
import { datasetNames, datasets, mostEpochs, usualEpochs } from '../core/run/elastic';
import { say } from '../core/sentence';
import { plainClusterChanges } from '../host/sessions/cluster-changes';
import {
  askedAtOnce,
  gpuChoices,
  mostGpusPerNode,
  mostNodes,
  scenarioChoices,
  scenarioReason,
  type ScenarioChoice,
} from '../host/sessions/scenario-choices';
import type { SessionState } from '../host/sessions/session-state';
import type { ScenarioPart } from '../protocol/page';
import { askCount, choose } from './choose';
import { defaults } from './defaults';

interface ScenarioContext {
  readonly reveal: (file: string, start: number, end: number) => void;
  readonly setInConfig: (state: SessionState, changes: readonly JsonChange[]) => Promise<string>;
}

/** Changes what a config is planned for, as VS Code's command does. A value that a file sets is shown there. @throws CancelledError. */
export async function changeScenario(context: ScenarioContext, state: SessionState, about: ScenarioPart | undefined): Promise<void> {
  const choice = await scenarioChoice(state, about);
  if (choice === null) await chooseCluster(context, state);
  else if (choice.given?.source.kind === 'file') {
    const { file, range } = choice.given.source.place;
    context.reveal(file, range.start, range.end);
  } else {
    const value = await counted(say(choice.name), choice.value, choice.maximum);
    await context.setInConfig(state, [{ path: choice.key.split('.'), value }]);
  }
}

/** @returns null for GPUs of another kind. */
async function scenarioChoice({ plan, run }: SessionState, about: ScenarioPart | undefined): Promise<ScenarioChoice | null> {
  if (plan === null || run === null) return null;
  const choices = scenarioChoices(run, plan);
  const asked = askedAtOnce.get(about);
  if (asked !== undefined) return choices.find(({ key }) => key === asked) ?? null;
  const offered = about === 'gpus' ? choices.filter(({ key }) => key.startsWith('cluster.')) : choices;
  const picked = await choose<ScenarioChoice | 'gpu'>('Change what is planned for', [
    { label: 'GPU', what: `${plan.request.cluster.gpu.name}, ${say(scenarioReason(plan, 'cluster.gpu'))}`, value: 'gpu' },
    ...offered.map((choice) => ({
      label: say(choice.name),
      what: `${formatCount(choice.value)}, ${say(scenarioReason(plan, choice.key))}`,
      value: choice,
    })),
  ]);
  if (picked === null) throw new CancelledError();
  return picked === 'gpu' ? null : picked;
}

/** Asks for GPU, nodes and GPUs per node, and sets them in place of groups of nodes. @throws CancelledError. */
export async function chooseCluster({ setInConfig }: ScenarioContext, state: SessionState): Promise<void> {
  const current = state.plan?.request.cluster;
  const choices = gpuChoices(current === undefined ? defaults.gpu : gpuNames(current));
  const gpu = await choose(
    'Choose GPU',
    choices.map(({ name, about }) => ({ label: name, what: say(about), value: name })),
  );
  if (gpu === null) throw new CancelledError();
  const nodes = await counted('Nodes', current?.nodes ?? 1, mostNodes);
  const usual = current?.gpu.name === gpu ? current.gpusPerNode : gpuPresets[gpu].gpusPerNode;
  const gpusPerNode = await counted('GPUs in each node', usual, mostGpusPerNode);
  await setInConfig(state, plainClusterChanges({ gpu, nodes, gpusPerNode }));
}

/** Makes a config a run that freezes layers; one that is stays as it is. @throws CancelledError. */
export async function beginElastic({ setInConfig }: ScenarioContext, state: SessionState): Promise<void> {
  if (state.format === 'terapipe' && state.run?.elastic !== undefined) return;
  const dataset = await choose(
    'Data set',
    datasetNames.map((name) => ({ label: name, what: `${formatCount(datasets[name].training)} samples`, value: name })),
  );
  if (dataset === null) throw new CancelledError();
  const epochs = await counted('Epochs', usualEpochs, mostEpochs);
  await setInConfig(state, [
    { path: ['elastic', 'dataset'], value: dataset },
    { path: ['elastic', 'epochs'], value: epochs },
  ]);
}

async function counted(title: string, value: number, maximum: number): Promise<number> {
  const count = await askCount(title, value, maximum);
  if (count === null) throw new CancelledError();
  return count;
}

import {
  scenarioChanges,
  planScenario,
  reasonOfFace,
  type Scenario,
  type ScenarioChange,
  type ScenarioKey,
  type ResolveDefaults,
} from '../../core/plan-request/scenario';
import { sentence, type Sentence } from '../../core/sentence';
import type { PlanRequest } from '../../core/domain/request';
import type { PlanSessions } from './plan-sessions';

const memory = 'terapipe.scenarios';
/** Configs whose choices a workspace remembers, the last ones. */
const mostRemembered = 200;

/** The settings of a scenario that a person chooses in the editor, where no file sets it. */
const chosenKeys = ['cluster.nodes', 'cluster.gpusPerNode', 'training.sequenceLength', 'training.globalBatch'] as const;
export type ChosenKey = (typeof chosenKeys)[number] & ScenarioKey;
type ChosenValues = Readonly<Partial<Record<ChosenKey, number>>>;

/**
 * What configs are planned for: what was assumed for the last plan, which stays while a config is edited, and what a person chose for it,
 * which stays in the workspace.
 */
export interface Scenarios {
  /** Defaults with which a config is resolved, what is kept among them. */
  readonly resolveDefaults: (file: string) => ResolveDefaults;
  /** The same for a plan that keeps this scenario; undefined: that chooses it again. */
  readonly defaultsKeeping: (file: string, kept: Scenario | undefined) => ResolveDefaults;
  readonly chosenFor: (file: string) => ChosenValues;
  /** Remembers a value for a config; null: it is assumed again. Its scenario is to be chosen again then. */
  readonly choose: (file: string, key: ChosenKey, value: number | null) => Promise<void>;
  /** What the last edit of a config changed of its scenario although no file sets it. */
  readonly changes: (file: string) => readonly ScenarioChange[];
  readonly follow: (sessions: Pick<PlanSessions, 'onDidChange' | 'onDidDrop'>) => { dispose: () => void };
}

interface ScenarioBasis {
  /** Edits of the text that was planned, as `SessionState` counts them. */
  readonly edits: number;
  readonly scenario: Scenario;
  readonly changes: readonly ScenarioChange[];
}

/** Where a host keeps values between its starts, as `Memento` of VS Code. */
interface KeptValues {
  readonly get: (key: string) => unknown;
  readonly update: (key: string, value: unknown) => PromiseLike<void>;
}

/** @param settings defaults of the settings for a config. */
export function createScenarios(settings: (file: string) => ResolveDefaults, state: KeptValues): Scenarios {
  const known = new Map<string, ScenarioBasis>();
  const remembered = readRemembered(state);
  const chosenFor = (file: string): ChosenValues => remembered.get(file) ?? {};
  const defaultsWith = (file: string, scenario: Scenario | null): ResolveDefaults => {
    const chosen = chosenFor(file);
    const kept = withChoices(scenario, chosen);
    const defaults = withChosenCluster(settings(file), chosen);
    return kept === null ? defaults : { ...defaults, kept };
  };
  const planned = (file: string, request: PlanRequest, edits: number): void => {
    const last = known.get(file);
    const changes = last === undefined ? [] : scenarioChanges(last.scenario, request).filter(({ reason }) => reason !== null);
    // One edit is planned several times: its first plan, the same with its alternatives, and again as profiles are found.
    const isSame = last?.edits === edits && changes.length === 0;
    known.set(file, { edits, scenario: planScenario(request), changes: isSame ? last.changes : changes });
  };

  return {
    chosenFor,
    resolveDefaults: (file) => defaultsWith(file, known.get(file)?.scenario ?? null),
    defaultsKeeping: (file, kept) => {
      if (kept === undefined) known.delete(file);
      return defaultsWith(file, kept ?? null);
    },
    choose: async (file, key, value) => {
      const others = Object.fromEntries(Object.entries(chosenFor(file)).filter(([name]) => name !== key)) as ChosenValues;
      remembered.delete(file);
      const values = value === null ? others : { ...others, [key]: value };
      if (Object.keys(values).length > 0) remembered.set(file, values);
      for (const oldest of [...remembered.keys()].slice(0, Math.max(0, remembered.size - mostRemembered))) remembered.delete(oldest);
      await state.update(memory, Object.fromEntries(remembered));
    },
    changes: (file) => known.get(file)?.changes ?? [],
    follow: (sessions) => {
      const changed = sessions.onDidChange(({ file, plan, isGood, edits, staleEdits }) => {
        if (plan !== null && isGood) planned(file, plan.request, edits - staleEdits);
      });
      const dropped = sessions.onDidDrop((file) => known.delete(file));
      return {
        dispose: () => {
          changed.dispose();
          dropped.dispose();
        },
      };
    },
  };
}

const chosenReason = sentence`chosen in VS Code`;

/** The defaults of the settings with the nodes that a person chose for one config. */
function withChosenCluster(defaults: ResolveDefaults, chosen: ChosenValues): ResolveDefaults {
  const { 'cluster.nodes': nodes, 'cluster.gpusPerNode': gpusPerNode } = chosen;
  if (nodes === undefined && gpusPerNode === undefined) return defaults;
  const machineReason = (value: number | undefined, key: 'nodes' | 'gpusPerNode'): Sentence =>
    value === undefined ? reasonOfFace(defaults, key) : chosenReason;
  return {
    ...defaults,
    nodes: nodes ?? defaults.nodes,
    gpusPerNode: gpusPerNode ?? defaults.gpusPerNode,
    reasons: {
      gpu: reasonOfFace(defaults, 'gpu'),
      nodes: machineReason(nodes, 'nodes'),
      gpusPerNode: machineReason(gpusPerNode, 'gpusPerNode'),
    },
  };
}

/** A scenario with what a person chose in place of what was assumed; what follows from it is assumed again. Null: nothing is kept. */
function withChoices(scenario: Scenario | null, chosen: ChosenValues): Scenario | null {
  const keys = (['training.sequenceLength', 'training.globalBatch'] as const).filter((key) => chosen[key] !== undefined);
  if (keys.length === 0) return scenario;
  const base = scenario ?? nothingKept;
  return {
    ...base,
    sequenceLength: chosen['training.sequenceLength'] ?? base.sequenceLength,
    globalBatch: chosen['training.globalBatch'] ?? base.globalBatch,
    reasons: { ...base.reasons, ...Object.fromEntries(keys.map((key) => [key, chosenReason])) },
  };
}

/** A scenario none of whose values was assumed, so that none is kept. */
const nothingKept: Scenario = {
  gpu: '',
  nodes: 1,
  gpusPerNode: 1,
  sequenceLength: 1,
  globalBatch: 1,
  layout: { tensor: 1, pipeline: 1, data: 1, context: 1, expert: 1, virtualStages: 1 },
  reasons: {},
};

function readRemembered(state: Pick<KeptValues, 'get'>): Map<string, ChosenValues> {
  const stored = state.get(memory);
  const entries = typeof stored === 'object' && stored !== null ? Object.entries(stored) : [];
  return new Map(entries.map(([file, values]) => [file, chosenIn(values)]));
}

function chosenIn(values: unknown): ChosenValues {
  if (typeof values !== 'object' || values === null) return {};
  const given = new Map(Object.entries(values));
  return Object.fromEntries(
    chosenKeys.flatMap((key) => {
      const value: unknown = given.get(key);
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? [[key, value]] : [];
    }),
  );
}

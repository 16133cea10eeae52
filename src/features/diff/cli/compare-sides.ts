import { throwIfCancelled, type CancelSignal } from '../../../core/errors';
import { formatCount, plural } from '../../../core/format';
import type { LoadedConfig } from '../../../core/config-files/load-config';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import type { Plan } from '../../../core/planner/plan';
import { notSuppressed } from '../../../core/rules/switched-off';
import { groupedBy } from '../../../core/records';
import type { ReadReferenced } from '../../../core/run/run';
import { sentence } from '../../../core/sentence';
import { baseName } from '../../../core/text';
import { checkSource } from '../../../cli/checked';
import { readConfig, type ReadingOptions } from '../../../cli/read-config';
import type { SourceText } from '../../../cli/read-file';
import { isScheduleFile } from '../../../cli/walk';
import { compareStates, givenSizes, type ConfigChange, type ConfigState } from '../core/change';
import { type Side, openSide, revisionSide, type RevisionRange } from './sides';
import { usage } from '../../../cli/command';
import { mergeBase } from './git-tree';

/** How configs are read and planned, the same on both sides. */
interface ComparingOptions extends Omit<ReadingOptions, 'read'> {
  readonly defaults: ResolveDefaults;
  readonly signal: CancelSignal;
  /** Codes that are not looked for. */
  readonly off: ReadonlySet<string>;
  readonly progress: (line: string) => void;
}

/** What changed between two sides. */
export interface SideChanges {
  readonly changes: readonly ConfigChange[];
  /** Configs of either side. */
  readonly configs: number;
  /** Texts of both sides by file, for places of findings. */
  readonly texts: { readonly base: ReadonlyMap<string, string>; readonly head: ReadonlyMap<string, string> };
}

/** Compares the configs of two sides, path by path. Those whose text and named files are the same are not planned. */
export async function compareSides(base: Side, head: Side, options: ComparingOptions): Promise<SideChanges> {
  const texts = { base: new Map<string, string>(), head: new Map<string, string>() };
  const pairs = pairedConfigs(base, head);
  const changes: ConfigChange[] = [];
  for (const [index, pair] of pairs.entries()) {
    const { file, before, after } = pair;
    options.progress(`comparing ${file}, ${formatCount(index)} of ${plural(pairs.length, 'config')} done`);
    throwIfCancelled(options.signal);
    if (before !== undefined && after !== undefined && (await isSame(base, before, head, after, options))) continue;
    const opened = (side: Side, source: SourceText | undefined, ofSide: Map<string, string>): Opened => ({ side, source, texts: ofSide });
    changes.push(await comparePair(pair, opened(base, before, texts.base), opened(head, after, texts.head), options));
  }
  return { changes, configs: pairs.length, texts };
}

/** What changed in a config. Remedies take most of the time of a plan that does not fit: they are looked for where that is new. */
async function comparePair(pair: Pair, base: Opened, head: Opened, options: ComparingOptions): Promise<ConfigChange> {
  const compare = async (withRemedies: boolean): Promise<ConfigChange> => {
    const [old, now] = await bothStates(base, head, { ...options, withRemedies });
    return compareStates(pair, old ?? null, now ?? null);
  };
  const change = await compare(false);
  return change.added.some(({ code }) => code === 'memory-over-capacity') ? compare(true) : change;
}

interface Pair {
  readonly file: string;
  readonly renamedFrom?: string;
  readonly before: SourceText | undefined;
  readonly after: SourceText | undefined;
}

function pairedConfigs(base: Side, head: Side): Pair[] {
  const [first] = base.configs;
  const [second] = head.configs;
  if (base.isFile && head.isFile && first !== undefined && second !== undefined)
    return [{ file: second[1].file, before: first[1], after: second[1] }];
  const renamed = renamedConfigs(base, head);
  const moved = new Set(renamed.values());
  return [...new Set([...base.configs.keys(), ...head.configs.keys()])]
    .filter((file) => !moved.has(file))
    .toSorted()
    .map((file) => {
      const renamedFrom = renamed.get(file);
      const before = base.configs.get(renamedFrom ?? file);
      return { file, ...(renamedFrom === undefined ? {} : { renamedFrom }), before, after: head.configs.get(file) };
    });
}

/** Paths in HEAD whose config is at another path in BASE: the only two of that name. */
function renamedConfigs(base: Side, head: Side): ReadonlyMap<string, string> {
  const onlyIn = (one: Side, other: Side): string[] => [...one.configs.keys()].filter((file) => !other.configs.has(file));
  const [gone, come] = [groupedBy(onlyIn(base, head), baseName), groupedBy(onlyIn(head, base), baseName)];
  const renamed = new Map<string, string>();
  for (const [name, [file, ...others]] of come) {
    const [from, ...more] = gone.get(name) ?? [];
    if (file !== undefined && from !== undefined && others.length === 0 && more.length === 0) renamed.set(file, from);
  }
  return renamed;
}

/** Whether a config and all that it names are the same text on both sides. */
async function isSame(base: Side, before: SourceText, head: Side, after: SourceText, options: ComparingOptions): Promise<boolean> {
  if (before.text !== after.text) return false;
  if (isScheduleFile(before)) return true;
  const [one, other] = [await readTexts(before, base.read, options), await readTexts(after, head.read, options)];
  return one === other;
}

/** All that is read of a config, in order: names as written, and texts, or why there is none. */
async function readTexts(source: SourceText, read: ReadReferenced, options: ReadingOptions): Promise<string> {
  const found: unknown[] = [];
  const recorded: ReadReferenced = async (from, name) => {
    const index = found.push(null) - 1;
    const referenced = await read(from, name);
    found[index] = [name, referenced.text];
    return referenced;
  };
  await readConfig(source, { ...options, read: recorded }, new Map()).catch(() => undefined);
  return JSON.stringify(found);
}

/** A config on one side: where it is read from, and where its texts are kept. */
interface Opened {
  readonly source: SourceText | undefined;
  readonly side: Side;
  readonly texts: Map<string, string>;
}

interface PlanningOptions extends ComparingOptions {
  readonly withRemedies: boolean;
}

/**
 * The states of a config on both sides. Where a side leaves the number of nodes to the planner and that takes fewer, it is planned on as
 * many as the other: the change is that of the files, and not of the machine.
 */
async function bothStates(base: Opened, head: Opened, options: PlanningOptions): Promise<(ConfigState | null)[]> {
  const states = [await configState(base, options), await configState(head, options)];
  const nodes = states.map((state) => state?.plan?.request.cluster.nodes ?? null);
  const [one, other] = nodes;
  if (typeof one !== 'number' || typeof other !== 'number' || one === other) return states;
  const fewer = one < other ? 0 : 1;
  const isAssumed = states[fewer]?.plan?.request.assumptions.some(({ key }) => key === 'cluster.nodes') === true;
  if (!isAssumed) return states;
  const { defaults } = options;
  const nodesReason = sentence`as many as the other side takes`;
  const reasons = { gpu: nodesReason, gpusPerNode: nodesReason, ...defaults.reasons, nodes: nodesReason };
  const onAsMany = { ...options, defaults: { ...defaults, nodes: Math.max(one, other), reasons } };
  states[fewer] = await configState(fewer === 0 ? base : head, onAsMany);
  return states;
}

async function configState({ source, side, texts }: Opened, { defaults, off, ...reading }: PlanningOptions): Promise<ConfigState | null> {
  if (source === undefined) return null;
  const { found, plan, config } = await checkSource(source, { ...reading, read: side.read, withNearby: false }, defaults, texts);
  const given = Object.fromEntries(givenSizes.map((size) => [size, givenSize(config, plan, size)])) as ConfigState['given'];
  return { plan, findings: notSuppressed(found, source.file, texts, off), given };
}

/** A size as it is planned, if it follows from the files; where nothing is planned, as a file gives it. */
function givenSize(config: LoadedConfig | null, plan: Plan | null, name: (typeof givenSizes)[number]): number | null {
  if (plan === null) return config?.run?.training[name]?.value ?? config?.launcher?.facts[name]?.value ?? null;
  const { assumptions, training } = plan.request;
  return assumptions.some(({ key }) => key === `training.${name}`) ? null : training[name];
}

/** Two states of the same configs. */
export interface Sides {
  readonly base: Side;
  readonly head: Side;
}

/**
 * The sides that a command line names: BASE and HEAD, or each path in two revisions.
 * @throws ExpectedError as `openSide` and `mergeBase`; `usage`.
 */
export async function openSides(paths: readonly string[], range: RevisionRange | null, signal: AbortSignal): Promise<Sides[]> {
  if (range === null) {
    const [base, head] = await Promise.all(paths.map((name) => openSide(name, signal)));
    if (base === undefined || base.isFile !== head?.isFile)
      throw usage(sentence`One of the two is a file and the other a folder`, sentence`name two files or two folders`);
    return [{ base, head }];
  }
  const { base, head, sinceParted } = range;
  const from = sinceParted ? await mergeBase(base, head, signal) : base;
  return Promise.all(
    paths.map(async (inside) => {
      const [before, after] = await Promise.all([from, head].map((revision) => revisionSide(revision, inside, signal)));
      return { base: before, head: after } as Sides;
    }),
  );
}
